"""What the information exam's numbers are."""

from __future__ import annotations

from verax.exams.measures import AT_LEAST_ZERO, COUNT, HIGHER, PERCENT, Classes, Measure, Table

NAME = "information"


def _title(row: str, classes: Classes) -> str:
    return f"{row} words"


INFORMATION = Table(
    NAME,
    "mutual information of a word and the cluster of its state, in nats",
    (
        Measure("information", "information (nats)", bounds=AT_LEAST_ZERO),
        Measure("word_entropy", "entropy of words", bounds=AT_LEAST_ZERO),
        Measure("shuffled", "of shuffled labels", bounds=AT_LEAST_ZERO),
        Measure("above_shuffled", "less that (nats)"),
        Measure("retained", "kept", PERCENT, HIGHER),
        Measure("words", "words", COUNT),
        Measure("occurrences", "occurrences", COUNT),
        Measure("clusters", "clusters", COUNT),
    ),
    _title,
)
WORD_VECTORS = Table(
    f"{NAME}.word_vectors",
    "word vectors e and states h of these words, root mean squares",
    (
        Measure("norm_embedding", "‖e‖", bounds=AT_LEAST_ZERO),
        Measure("norm_state", "‖h‖", bounds=AT_LEAST_ZERO),
        Measure("distance", "‖h − e‖² / ‖e‖²", bounds=AT_LEAST_ZERO),
    ),
    _title,
)
TABLES = (INFORMATION, WORD_VECTORS)

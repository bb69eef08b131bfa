"""What the information exam's numbers are."""

from __future__ import annotations

from verax.exams.measures import AT_LEAST_ZERO, COUNT, HIGHER, PERCENT, Classes, Measure, Table
from verax.models.kinds import TRANSFORMER

NAME = "information"
FREQUENT = "frequent"
"""The words that occur most: what rows are of that do not say otherwise."""


def _title(row: str, classes: Classes) -> str:
    return f"{row} words"


def layer_row(layer: int, words: str = FREQUENT) -> str:
    """The row of a layer, 0 being the embeddings, for a choice of words.

    >>> layer_row(3), layer_row(3, "sampled")
    ('3', '3@sampled')
    """
    return str(layer) if words == FREQUENT else f"{layer}@{words}"


def layer_and_words(row: str) -> tuple[int, str]:
    """The layer and the choice of words that a row is of."""
    layer, _, words = row.partition("@")
    return int(layer), words or FREQUENT


def _layer_title(row: str, classes: Classes) -> str:
    layer, words = layer_and_words(row)
    title = "embeddings" if layer == 0 else f"layer {layer}"
    return title if words == FREQUENT else f"{title}, {_title(words, classes)}"


INFORMATION = Table(
    NAME,
    "mutual information of a word and the cluster of its state, in nats",
    (
        Measure("information", "information (nats)", bounds=AT_LEAST_ZERO),
        Measure("word_entropy", "entropy of words", bounds=AT_LEAST_ZERO),
        Measure("shuffled", "of shuffled labels", bounds=AT_LEAST_ZERO),
        Measure("above_shuffled", "less that (nats)"),
        Measure("retained", "kept", PERCENT, HIGHER),
        Measure("words", "words", COUNT, chosen=True),
        Measure("occurrences", "occurrences", COUNT, chosen=True),
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
LAYERS = Table(
    f"{NAME}.layers",
    "mutual information of a word and the cluster of its state by layer, in nats",
    (
        Measure("information", "information (nats)", bounds=AT_LEAST_ZERO),
        Measure("word_entropy", "entropy of words", bounds=AT_LEAST_ZERO),
        Measure("shuffled", "of shuffled labels", bounds=AT_LEAST_ZERO),
        Measure("above_shuffled", "less that (nats)"),
        Measure("retained", "kept", PERCENT, HIGHER),
    ),
    _layer_title,
    kinds=(TRANSFORMER,),
)
TABLES = (INFORMATION, WORD_VECTORS, LAYERS)

"""What the replacement exam's numbers are."""

from __future__ import annotations

from verax.exams.cells import ACCURACY, DOCUMENTS
from verax.exams.measures import (
    COUNT,
    HIGHER,
    LOWER,
    PERCENT,
    POINTS,
    UNIT_INTERVAL,
    Measure,
    Table,
    counts,
    titles,
)
from verax.exams.places import place_title
from verax.models.kinds import TRANSFORMER

NAME = "replacement"
TRAINED, UNIFORM, PERMUTED = "trained", "uniform", "permuted"
"""Rows: the model's own attention, and what stands in its place; permuted is a mean over draws."""

DOCUMENT_COUNTS = counts(
    NAME,
    DOCUMENTS,
    Measure("one_item", "of one item, which no attention can change", COUNT),
    Measure(
        "decision_differs", "decision differs from the model's own, in single precision", COUNT
    ),
)
REPLACEMENT = Table(
    NAME,
    "decisions when attention is replaced and all else stays; Δ in points",
    (
        Measure("f1", "F1", PERCENT),
        Measure("macro_f1", "macro F1", PERCENT),
        Measure("delta_f1", "Δ F1", POINTS, LOWER),
        Measure("delta_macro_f1", "Δ macro F1", POINTS, LOWER),
        ACCURACY,
        Measure("delta_accuracy", "Δ accuracy", POINTS),
        Measure("positive", "decided positive", PERCENT),
        Measure("survival", "decisions that survive", PERCENT, LOWER),
        Measure("tvd", "TVD", better=HIGHER, bounds=UNIT_INTERVAL),
    ),
    titles({PERMUTED: "permuted, mean over draws"}),
)
PLACES = Table(
    f"{NAME}.places",
    "decisions when the attention of one layer, or of one head, is replaced and all else stays",
    (
        Measure("uniform_survival", "uniform: decisions that survive", PERCENT, LOWER),
        Measure("uniform_tvd", "uniform: TVD", better=HIGHER, bounds=UNIT_INTERVAL),
        Measure("permuted_survival", "permuted: decisions that survive", PERCENT, LOWER),
        Measure("permuted_tvd", "permuted: TVD", better=HIGHER, bounds=UNIT_INTERVAL),
    ),
    place_title,
    kinds=(TRANSFORMER,),
)
TABLES = (REPLACEMENT, DOCUMENT_COUNTS, PLACES)


def score_id(classes: int) -> str:
    """The id of the F1 that a number of classes asks for."""
    return "f1" if classes == 2 else "macro_f1"

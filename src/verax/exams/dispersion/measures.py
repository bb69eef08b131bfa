"""What the dispersion exam's numbers are."""

from __future__ import annotations

from verax.exams.cells import (
    ACCURACY,
    DOCUMENTS,
    ITEMS,
    SD,
    SUPPORT,
    SUPPORT_SHARE,
    exclusions,
)
from verax.exams.measures import COUNT, PERCENT, UNIT_INTERVAL, Classes, Measure, Table, counts
from verax.exams.places import place_title
from verax.models.kinds import TRANSFORMER

NAME = "dispersion"
ATTENTION = "attention"
REASONS = ("defined", "one position", "all zero", "not a number")
"""Why a document has no entropy: what the codes in its tidy tables stand for."""


def influence(kind: str) -> str:
    """The row of the influence of inputs on items, by how it is measured."""
    return f"influence@{kind}"


_INFLUENCE = {
    influence("norm"): "gradient, of inputs on an item's magnitude",
    influence("frobenius"): "gradient, of inputs on an item",
}


def _title(row: str, classes: Classes) -> str:
    if row in _INFLUENCE:
        return _INFLUENCE[row]
    return "attention, over items" if row == ATTENTION else f"{row}, of inputs on the output"


DOCUMENT_COUNTS = counts(NAME, DOCUMENTS, ACCURACY, ITEMS, SUPPORT, SUPPORT_SHARE)
ENTROPY = Table(
    f"{NAME}.entropy",
    "normalised entropy: 0 where one position has all, 1 where all have the same",
    (
        Measure("mean", "mean", bounds=UNIT_INTERVAL),
        SD,
        Measure("median", "median", bounds=UNIT_INTERVAL),
        DOCUMENTS,
        Measure("boundaries", "at SOS and EOS", PERCENT),
        Measure("pooled_sd", "pooled sd", bounds=SD.bounds),
        *exclusions(REASONS),
        Measure("items_out_all_zero", "items out: all zero", COUNT, excluded=True),
        Measure("items_out_not_a_number", "items out: not a number", COUNT, excluded=True),
    ),
    _title,
)
HEADS = Table(
    f"{NAME}.heads",
    "attention over words by layer and head: normalised entropy, and what goes to no word",
    (
        Measure("entropy", "entropy", bounds=UNIT_INTERVAL),
        Measure("special", "on special tokens and sinks", PERCENT),
        DOCUMENTS,
    ),
    place_title,
    kinds=(TRANSFORMER,),
)
TABLES = (ENTROPY, DOCUMENT_COUNTS, HEADS)

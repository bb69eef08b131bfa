"""What the agreement exam's numbers are."""

from __future__ import annotations

from verax.exams.agreement.ranks import REASONS
from verax.exams.cells import ACCURACY, DOCUMENTS, ITEMS, MEDIAN, SD, SUPPORT, exclusions
from verax.exams.measures import HIGHER, PERCENT, Classes, Measure, Table, counts

NAME = "agreement"
ITSELF = "items:attention:gradient-detached"
"""With attention detached an item's gradient is its weight times a vector that all items share."""
RANKS = (-1.0, 1.0)
"""The bounds of a rank correlation."""


def pair(on: str, first: str, second: str) -> str:
    """The row of two importances of inputs, or of items.

    >>> pair("inputs", "attention", "leave-one-out")
    'inputs:attention:leave-one-out'
    """
    return f"{on}:{first}:{second}"


def pair_of(row: str) -> tuple[str, str, str]:
    """Inputs or items, and the two importances, of a row that `pair` made.

    >>> pair_of("inputs:attention:leave-one-out")
    ('inputs', 'attention', 'leave-one-out')
    """
    on, first, second = row.split(":")
    return on, first, second


def importances_of(row: str) -> tuple[str, str]:
    """The two importances of a row that `pair` made.

    >>> importances_of("inputs:attention:leave-one-out")
    ('attention', 'leave-one-out')
    """
    return pair_of(row)[1:]


def _title(row: str, classes: Classes) -> str:
    on, first, second = pair_of(row)
    return f"{on}: {first} : {second}{' (attention itself)' if row == ITSELF else ''}"


_MEASURES = (
    Measure("tau", "τ-b", better=HIGHER, bounds=RANKS),
    SD,
    Measure(MEDIAN.id, MEDIAN.title, bounds=RANKS),
    Measure("significant", "p ≤ 0.05", PERCENT),
    Measure("spearman", "spearman", bounds=RANKS),
    Measure("overlap", "overlap", bounds=(0.0, 1.0)),
    DOCUMENTS,
    *exclusions(REASONS),
)
DOCUMENT_COUNTS = counts(NAME, DOCUMENTS, ACCURACY, ITEMS, SUPPORT)
AGREEMENT = Table(
    NAME, "Kendall's τ-b between two importances, a document at a time", _MEASURES, _title
)
ON_SUPPORT = Table(
    f"{NAME}.on_support",
    "the same among the items that attention gives weight",
    _MEASURES,
    _title,
)
TABLES = (AGREEMENT, DOCUMENT_COUNTS, ON_SUPPORT)

"""What the adversary exam's numbers are."""

from __future__ import annotations

from verax.exams.cells import ACCURACY, DOCUMENTS, SD
from verax.exams.measures import (
    COUNT,
    HIGHER,
    JSD,
    PERCENT,
    POINTS,
    UNIT_INTERVAL,
    Classes,
    Measure,
    Table,
    counts,
)

NAME = "adversary"
ANY_OUTPUT = "any_output"
"""The row of the attention that need not keep the output at all."""
BEST, SEARCHED = "best", "search"
"""How an attention was come by, in the tidy table: the best known, or Jain & Wallace's search."""
ALL = "all"
"""The group of all documents."""
FAR = 0.5
"""Nats of at most ln 2 = 0.693: beyond it two attentions have little in common."""
UNMOVED = 0.05
"""An output that random orders of the weights move by less, in the median, hardly notices."""
_EPSILON, _CLASS, _WEIGHT = "epsilon=", "class=", "max_weight="
_AT = "@"


def written(epsilon: float) -> str:
    """How an ε is written in a table: no two alike."""
    return repr(epsilon).removesuffix(".0")


def epsilon_row(epsilon: float) -> str:
    """The row of an ε; at 1 the output is free.

    >>> epsilon_row(0.05), epsilon_row(1.0)
    ('epsilon=0.05', 'any_output')
    """
    return ANY_OUTPUT if epsilon >= 1 else f"{_EPSILON}{written(epsilon)}"


def epsilon_of(row: str) -> float:
    """The ε of a row that `epsilon_row` made.

    >>> epsilon_of("epsilon=0.05"), epsilon_of("any_output")
    (0.05, 1.0)
    """
    return 1.0 if row == ANY_OUTPUT else float(row.removeprefix(_EPSILON))


def group_row(decided: int | None, weights: tuple[float, float] | None) -> str:
    """The row of documents decided for a class, with a largest weight in a bin, or both.

    >>> group_row(1, (0.25, 0.5)), group_row(None, None)
    ('class=1,max_weight=0.25-0.5', 'all')
    """
    parts = [] if decided is None else [f"{_CLASS}{decided}"]
    if weights is not None:
        parts.append(f"{_WEIGHT}{weights[0]:g}-{weights[1]:g}")
    return ",".join(parts) or ALL


def group_of(row: str) -> tuple[int | None, tuple[float, float] | None]:
    """The class and the bin of a row that `group_row` made.

    >>> group_of("class=1,max_weight=0.25-0.5"), group_of("all")
    ((1, (0.25, 0.5)), (None, None))
    """
    decided, weights = None, None
    for part in row.split(","):
        if part.startswith(_CLASS):
            decided = int(part.removeprefix(_CLASS))
        elif part.startswith(_WEIGHT):
            low, high = part.removeprefix(_WEIGHT).split("-")
            weights = (float(low), float(high))
    return decided, weights


def at_epsilon(column: str, epsilon: float) -> str:
    """A column of a group's numbers for one ε.

    >>> at_epsilon("jsd", 0.05)
    'jsd@epsilon=0.05'
    """
    return f"{column}{_AT}{epsilon_row(epsilon)}"


def _epsilon(row: str, classes: Classes = ()) -> str:
    return "any output" if row == ANY_OUTPUT else f"ε = {row.removeprefix(_EPSILON)}"


def _group(row: str, classes: Classes) -> str:
    decided, weights = group_of(row)
    parts = []
    if decided is not None:
        parts.append(str(classes[decided]) if decided < len(classes) else f"class {decided}")
    if weights is not None:
        parts.append(f"max α {weights[0]:g}–{weights[1]:g}")
    return ", ".join(parts) or "all"


def _in_group(column: str) -> Measure | None:
    name, _, row = column.partition(_AT)
    if name == "jsd" and row:
        return Measure(column, f"JSD, {_epsilon(row)}", bounds=JSD)
    if name == "far" and row:
        return Measure(column, f"> {FAR:g}, {_epsilon(row)}", PERCENT)
    return None


_DISTANCE = (
    Measure("jsd", "JSD", bounds=JSD),
    SD,
    Measure("median", "median", bounds=JSD),
    Measure("far", f"JSD > {FAR:g}", PERCENT),
)
CONFIDENCE = Measure("confidence", "confidence in the decision", bounds=UNIT_INTERVAL)
DOCUMENT_COUNTS = counts(
    NAME,
    DOCUMENTS,
    ACCURACY,
    CONFIDENCE,
    Measure("one_item", "left out: of one item, which no attention can change", COUNT),
)
ADVERSARY = Table(
    NAME,
    "the most divergent attention that moves the decision's probability by ε at most",
    (
        *_DISTANCE,
        Measure("constraint_cost", "constraint cost", better=HIGHER, bounds=JSD),
        Measure("change", "|Δp|", bounds=UNIT_INTERVAL),
        Measure("decisions_kept", "decisions kept", PERCENT),
        ACCURACY,
        Measure("delta_accuracy", "Δ accuracy", POINTS),
        Measure("certified", "certified", PERCENT),
        Measure("upper_bound", "at most", bounds=JSD),
    ),
    _epsilon,
)
SEARCH = Table(
    f"{NAME}.search",
    "the same by Jain & Wallace's search, which penalises |Δp| beyond 0.01",
    (
        *_DISTANCE,
        Measure("gap", "short of the bound", bounds=JSD),
        Measure("smallest_gap", "at best", bounds=JSD),
        Measure("largest_gap", "at worst", bounds=JSD),
        Measure("nothing_found", "nothing found", PERCENT),
    ),
    _epsilon,
)
GROUPS = Table(
    f"{NAME}.groups",
    "by decided class and largest weight; permuted: median over random orders",
    (
        DOCUMENTS,
        Measure("permuted_change", "permuted |Δŷ|", better=HIGHER, bounds=UNIT_INTERVAL),
        Measure("permuted_unmoved", f"permuted < {UNMOVED:g}", PERCENT),
    ),
    _group,
    variants=_in_group,
)
TABLES = (ADVERSARY, DOCUMENT_COUNTS, SEARCH, GROUPS)

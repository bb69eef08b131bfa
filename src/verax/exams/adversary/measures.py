"""What the adversary exam's numbers are."""

from __future__ import annotations

NAME = "adversary"
ANY_OUTPUT = "any_output"
"""The row of the attention that need not keep the output at all."""
ALL = "all"
"""The group of all documents."""
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

"""Words for the rows and columns of summaries, by the ids of table, row and column."""

from __future__ import annotations

from functools import cache

from verax.exams.adversary import measures as adversary
from verax.exams.agreement import measures as agreement
from verax.exams.dispersion import measures as dispersion
from verax.exams.erasure import measures as erasure
from verax.exams.information import measures as information
from verax.exams.measures import Classes, Table
from verax.exams.replacement import measures as replacement
from verax.exams.single_token import measures as single_token

_EXAMS = (erasure, agreement, dispersion, replacement, information, single_token, adversary)


def row_title(table: str, row: str, classes: Classes = ()) -> str:
    """A row in words; its id where no table declares it.

    >>> row_title("adversary", "epsilon=0.05")
    'ε = 0.05'
    """
    declared = _tables().get(table)
    return row if declared is None else declared.title_of_row(row, classes)


def column_title(table: str, column: str) -> str:
    """A column in words; its id where no table declares it.

    >>> column_title("replacement", "survival")
    'decisions that survive'
    """
    declared = _tables().get(table)
    return column if declared is None else declared.title_of_column(column)


@cache
def _tables() -> dict[str, Table]:
    return {table.id: table for exam in _EXAMS for table in exam.TABLES}

"""Words for ids: what tables, rows, columns and measures are called where people read them."""

from __future__ import annotations

from verax.exams.measures import Classes
from verax.exams.registry import EXAMS, STAGES, find_place, find_table


def exam_title(exam: str) -> str:
    """An exam's heading."""
    known = EXAMS.get(exam) or STAGES.get(exam)
    title = "" if known is None else known.title
    return title or exam.replace("_", " ").capitalize()


def question(exam: str) -> str:
    """What an exam asks; empty for one that is not known here."""
    known = EXAMS.get(exam) or STAGES.get(exam)
    return "" if known is None else known.question


def table_title(table: str) -> str:
    """A line over a table of a summary."""
    known = find_table(table)
    return table if known is None else known.title


def row_title(table: str, row: str, classes: Classes = ()) -> str:
    """A row of a summary's table; `classes` are the model's, by whose names classes go.

    >>> row_title("adversary.groups", "class=1", ["negative", "positive"])
    'positive'
    """
    known = find_table(table)
    return row if known is None else known.title_of_row(row, classes)


def column_title(table: str, column: str) -> str:
    """A column of a summary's table.

    >>> column_title("replacement", "survival")
    'decisions that survive'
    """
    known = find_table(table)
    return column if known is None else known.title_of_column(column)


def measure_title(id: str, classes: Classes = ()) -> str:
    """A number by its row and column, without its exam.

    >>> measure_title("replacement.uniform.survival")
    'uniform: decisions that survive'
    """
    place = find_place(id)
    if place is None:
        return id
    exam = EXAMS.get(place.exam)
    if exam is None:
        return place.table.title_of_row(place.row, classes)
    return exam.label(place, classes)


def comparison_title(exam: str) -> str:
    """A line over the numbers of an exam where models are compared."""
    known = EXAMS.get(exam)
    about = "" if known is None else known.comparison
    return f"{exam_title(exam)}: {about}" if about else exam_title(exam)

"""Summaries as tables of HTML: the same table of several models, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from markupsafe import Markup

from verax.exams.judgement.model_summary import ModelSummary, Number
from verax.exams.measures import COUNT, Measure, Table, measure_id
from verax.exams.registry import find_place, find_table, tables_of
from verax.exams.titles import column_title, row_title, table_title
from verax.report.templating import fill

Cell = Number | str | None
"""A number, shown with its interval; a text; markup that a template made; or nothing."""
Rows = Sequence[tuple[Sequence[str], Sequence[Cell]]]


def html_table(heads: Sequence[str], rows: Rows, labels: int = 1, title: str = "") -> Markup:
    """A table in a box of its own, which scrolls sideways where it must.

    Args:
        heads: the first `labels` of them are over labels, the others over numbers.
        rows: labels, then cells. A first label that repeats the one above is shown once.
        labels: how many columns are labels.
        title: the caption.
    """
    groups = groupby(rows, key=lambda row: row[0][0] if labels > 1 else id(row))
    listed = [list(group) for _, group in groups]
    return fill("elements", "table", heads=heads, groups=listed, labels=labels, title=title)


def summary_table(name: str, models: Sequence[ModelSummary]) -> Markup:
    """A summary's table; with several models a line each under every row."""
    several = len(models) > 1
    rows = _together([model.rows(name) for model in models])
    columns = [
        column
        for column in _together([model.columns(name) for model in models])
        if not (_is_exclusion(name, column) and not _counted(name, column, models))
    ]
    lines: list[tuple[list[str], list[Cell]]] = []
    for row in rows:
        for model in models:
            cells: list[Cell] = [model.cell(name, row, column) for column in columns]
            if any(cell is not None for cell in cells):
                title = row_title(name, row, model.classes)
                labels = [title, model.name] if several else [title]
                lines.append((labels, cells))
    heads = ["", *(["model"] if several else []), *(column_title(name, c) for c in columns)]
    return html_table(heads, lines, len(heads) - len(columns), table_title(name))


def excluded(exam: str, model: ModelSummary) -> Mapping[str, Number]:
    """Counts of what is left out of an exam's numbers by their ids, where there are any.

    Counts of documents that are set aside, and of values that are not defined. Where nothing counts
    what was not examined, the count is of what was.
    """
    counted: dict[str, Number] = {}
    for table in tables_of(exam):
        for row in model.rows(table.id):
            for column in model.columns(table.id):
                measure = table.measure(row, column)
                number = model.number(table.id, row, column)
                if measure is None or number is None or not number.value > 0:
                    continue
                if measure.chosen or _tells_exclusion(table, measure):
                    counted[measure_id(table.id, row, column)] = number
    return counted


def exclusion_words(id: str, classes: Sequence[str] = ()) -> str:
    """What a count of `excluded` is of, in words."""
    place = find_place(id)
    if place is None:
        return id
    row = place.table.title_of_row(place.row, classes)
    if place.table.counts:
        return row
    if place.measure.chosen:
        return f"{row}, {place.measure.title} looked at; all others are left out"
    # a table beside the exam's first may have the same rows and columns
    first = place.table == tables_of(place.exam)[0]
    return f"{'' if first else f'{place.table.title}; '}{row}: {place.measure.title}"


def counts_exclusions(exam: str, model: ModelSummary) -> bool:
    """Whether an exam counts what it leaves out, so that none means that there was nothing."""
    return any(
        table.counts or any(measure.excluded for measure in table.measures)
        for table in tables_of(exam)
        if model.rows(table.id)
    )


def _tells_exclusion(table: Table, measure: Measure) -> bool:
    if table.counts:
        return measure.unit == COUNT and not measure.whole
    return measure.excluded


def _is_exclusion(table: str, column: str) -> bool:
    known = find_table(table)
    measure = None if known is None else known.measure("", column)
    return measure is not None and measure.excluded


def _counted(table: str, column: str, models: Sequence[ModelSummary]) -> bool:
    numbers = (m.number(table, row, column) for m in models for row in m.rows(table))
    return any(number is not None and number.value > 0 for number in numbers)


def _together(lists: Sequence[Sequence[str]]) -> list[str]:
    return list(dict.fromkeys(name for names in lists for name in names))

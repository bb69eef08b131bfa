"""Summaries as tables of HTML: the same table of several models, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

from verax.exams.judgement.model_summary import ModelSummary, Number
from verax.exams.judgement.phrasing import interval, numeral
from verax.exams.measures import COUNT, Measure, Table, measure_id
from verax.exams.registry import find_place, find_table, tables_of
from verax.exams.titles import column_title, row_title, table_title
from verax.report.markup import element, named, text

Cells = Sequence[tuple[Sequence[str], Sequence[str]]]


def html_table(heads: Sequence[str], rows: Cells, labels: int = 1, title: str = "") -> str:
    """A table in a box of its own, which scrolls sideways where it must.

    heads   text; the first `labels` of them are over labels, the others over numbers
    rows    labels as text, then cells as markup. Labels that repeat those above are shown once
    """
    above = "".join(
        element("th", text(head), {"scope": "col", "class": None if k < labels else "number"})
        for k, head in enumerate(heads)
    )
    body = []
    for _, group in groupby(rows, key=lambda row: row[0][0] if labels > 1 else id(row)):
        own = list(group)
        for place, (names, cells) in enumerate(own):
            told = ""
            for k, name in enumerate(names):
                if labels > 1 and k == 0:
                    if place:
                        continue
                    span = {"rowspan": len(own) if len(own) > 1 else None, "scope": "rowgroup"}
                    told += element("th", named(name), span)
                else:
                    told += element("th", named(name), {"scope": "row"})
            told += "".join(element("td", cell) for cell in cells)
            body.append(element("tr", told, {"class": "begins" if place == 0 else None}))
    caption = element("caption", text(title)) if title else ""
    inner = f"{caption}<thead><tr>{above}</tr></thead><tbody>{''.join(body)}</tbody>"
    # a box that scrolls must be reached by the keyboard to be scrolled by it
    box = {"class": "scroll", "tabindex": "0", "role": "region", "aria-label": title or "table"}
    return element("div", element("table", inner), box)


def summary_table(name: str, models: Sequence[ModelSummary]) -> str:
    """A summary's table; with several models a line each under every row."""
    several = len(models) > 1
    rows = _together([model.rows(name) for model in models])
    columns = [
        column
        for column in _together([model.columns(name) for model in models])
        if not (_is_exclusion(name, column) and not _counted(name, column, models))
    ]
    made: list[tuple[list[str], list[str]]] = []
    for row in rows:
        for model in models:
            cells = [model.cell(name, row, column) for column in columns]
            if any(cell is not None for cell in cells):
                title = row_title(name, row, model.classes)
                labels = [title, model.name] if several else [title]
                made.append((labels, [shown(cell) for cell in cells]))
    heads = ["", *(["model"] if several else []), *(column_title(name, c) for c in columns)]
    return html_table(heads, made, len(heads) - len(columns), table_title(name))


def shown(number: Number | None) -> str:
    """A number with its interval below it, as markup."""
    if number is None:
        return ""
    within = interval(number)
    below = f' <span class="interval">{text(within)}</span>' if within else ""
    return f"{text(numeral(number))}{below}"


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

"""A comparison as parts of a page: what is better, and every difference with its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from verax.drawing.chart import Chart
from verax.exams.judgement.model_summary import Number
from verax.exams.judgement.phrasing import numeral
from verax.exams.measures import PERCENT, POINTS
from verax.exams.registry import EXAMS
from verax.exams.titles import comparison_title, exam_title, measure_title
from verax.report.compared import (
    COMMON,
    CURVES,
    direction,
    interval_words,
    is_of_common_documents,
    left_out,
    mark,
    marks_words,
    shown_rows,
)
from verax.report.facts import facts
from verax.report.page import Part
from verax.report.sections import ABOUT, figures
from verax.report.tables import Cell, html_table
from verax.report.templating import fill, fold
from verax.studies import Comparison
from verax.studies.comparison.differences import BETTER, UNCLEAR, WORSE
from verax.studies.comparison.phrasing import headlines, only_lines

_LEAST = 0.001
"""Of a p-value no more is shown than that it is below."""


def comparison_parts(
    comparison: Comparison, charts: Sequence[Chart] = (), note: str = ""
) -> list[Part]:
    """Counts first, then a part an exam, the text that was given, and what was compared."""
    table = comparison.table()
    parts = [_first(comparison, table, note)]
    for exam in dict.fromkeys(table["exam"]):
        drawn = [chart for chart in charts if chart.exam == exam]
        parts.append(_exam(str(exam), table[table["exam"] == exam], comparison, drawn))
    if comparison.curves is not None and len(comparison.curves):
        drawn = [chart for chart in charts if chart.exam == CURVES]
        parts.append(_text(comparison.curves, drawn))
    return [*parts, _about(comparison)]


def difference(row: Any) -> Number:
    """The difference of a row with its interval; of percents in points."""
    unit = POINTS if row.unit in (PERCENT, POINTS) else "number"
    return Number(row.difference, row.low, row.high, 0, unit)


def p_value(value: float) -> str:
    """A p-value in three decimals; empty where there is none."""
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if value >= _LEAST else f"<\u00a0{_LEAST}"


def _first(comparison: Comparison, table: pd.DataFrame, note: str) -> Part:
    tallies, rows = [], []
    for group in comparison.groups[1:]:
        judged = comparison.tally(group)
        counts = Counter(judged["judged"])
        numbers = {kind: counts[kind] for kind in (BETTER, WORSE, UNCLEAR)}
        tallies.append({"group": group, "all": len(judged), **numbers})
        by = judged.groupby("exam", sort=False)["judged"].agg(list)
        for exam, kinds in by.items():
            cells = [str(kinds.count(kind)) for kind in (BETTER, WORSE, UNCLEAR)]
            rows.append(([group, exam_title(str(exam))], cells))
    reference = comparison.reference
    heads = ["model", "exam", BETTER, WORSE, UNCLEAR]
    intervals = [
        f"Differences have 95% intervals {words}." for words in interval_words(table).values()
    ]
    marks = f"{marks_words()}. † The {COMMON}."
    groups = comparison.groups
    answers = [(group, *one) for group in groups for one in headlines(comparison, group)]
    inner = fill(
        "studies",
        "comparison",
        answers=answers,
        tallies=tallies,
        reference=reference,
        table=html_table(heads, rows, 2, f"measures, against {reference}"),
        caveats=[*intervals, marks, *(f"{line}." for line in only_lines(comparison)), note],
    )
    return Part("verdict", "Side by side", inner)


def _exam(exam: str, table: pd.DataFrame, comparison: Comparison, charts: Sequence[Chart]) -> Part:
    known = EXAMS.get(exam)
    title = comparison_title(exam)
    first = shown_rows(table)
    rest = table[~table["measure"].isin(set(first["measure"]))]
    names = {name: name for name in comparison.groups}
    inner = fill(
        "studies",
        "part",
        question="How often is the decision right?" if known is None else known.question,
        figures=figures(charts),
        table=_table(first, comparison, title),
        folded=[("Other measures", _table(rest, comparison, title))],
    )
    lines = list(left_out(comparison, set(table["measure"]), names))
    inner += fill("studies", "left_out", lines=lines)
    return Part(f"exam-{exam}", exam_title(exam), inner, exam)


def _table(table: pd.DataFrame, comparison: Comparison, title: str) -> Markup:
    """A table with a line a model under every measure, and why some measures are not judged."""
    if table.empty:
        return Markup()
    lines: list[tuple[list[str], list[Cell]]] = []
    unjudged: dict[str, list[str]] = {}
    for measure, of_measure in table.groupby("measure", sort=False):
        rows: list[Any] = list(of_measure.itertuples())
        name = measure_title(str(measure))
        label = direction(rows) + name + " †" * any(map(is_of_common_documents, rows))
        value = numeral(Number(rows[0].reference_value, unit=rows[0].unit))
        lines.append(([label, comparison.reference], [value, "", "", ""]))
        for row in rows:
            value = numeral(Number(row.value, unit=row.unit))
            cells: list[Cell] = [value, difference(row), mark(row), p_value(row.holm)]
            lines.append(([label, str(row.group)], cells))
        for note in dict.fromkeys(row.note for row in rows if row.note):
            unjudged.setdefault(note, []).append(name)
    heads = ["", "model", "value", "difference", "", "p, Holm"]
    reasons = [f"{'; '.join(names)}: {note}." for note, names in unjudged.items()]
    return html_table(heads, lines, 2, title) + fill("studies", "unjudged", lines=reasons)


def _text(curves: pd.DataFrame, charts: Sequence[Chart]) -> Part:
    """The part of one text: what each token says alone, and all of them together."""
    models = list(dict.fromkeys(curves["model"]))
    by = {name: curves[curves["model"] == name] for name in models}
    first = by[models[0]]
    title = f"probability of {first['class'].iloc[0]}"
    alike = all(list(curve["text"]) == list(first["text"]) for curve in by.values())
    tables = Markup()
    for names in [models] if alike else [[name] for name in models]:
        rows = [
            ([word], [f"{by[name]['p'].iloc[place]:.3f}" for name in names])
            for place, word in enumerate(by[names[0]]["text"])
        ]
        whole = [f"{by[name]['confidence'].iloc[0]:.3f}" for name in names]
        tables += html_table(["", *names], [*rows, (["whole text"], whole)], title=title)
    question = "What would each model decide from each token of this text alone?"
    values = {"question": question, "figures": figures(charts), "table": tables}
    return Part(CURVES, "One text", fill("studies", "part", **values))


def _about(comparison: Comparison) -> Part:
    rest = {name: value for name, value in comparison.manifest.items() if name != "groups"}
    inner = facts(rest, "what was compared")
    for group, models in comparison.manifest["groups"].items():
        tables = (facts(model, str(model["model"])) for model in models)
        inner += fold(group, Markup().join(tables))
    return Part("about", ABOUT, inner)

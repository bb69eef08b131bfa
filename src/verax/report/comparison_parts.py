"""A comparison as parts of a page: what is better, and every difference with its interval."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from verax.exams.judgement.model_summary import Number
from verax.exams.judgement.phrasing import numeral
from verax.exams.measures import PERCENT, POINTS
from verax.exams.registry import EXAMS
from verax.exams.titles import comparison_title, exam_title, measure_title
from verax.report.compared import (
    CURVES,
    direction,
    is_of_common_documents,
    left_out,
    mark,
    shown_rows,
)
from verax.report.facts import closed, facts
from verax.report.markup import element, named, text
from verax.report.page import Part
from verax.report.sections import ABOUT, Chart, figures
from verax.report.tables import html_table, shown
from verax.studies import Comparison
from verax.studies.comparison.differences import BETTER, DOCUMENTS, SEEDS, UNCLEAR, WORSE

_ASKED = {"class": "question"}
_OVER = {
    SEEDS: "over seeds (Welch's)",
    DOCUMENTS: "over documents, paired: they say nothing of what other seeds would give",
}
_LEAST = 0.001
"""Of a p-value no more is told than that it is below."""
_READING = (
    "↑ ↓ which way attention is more truthful, or decisions more accurate: ✓ better, ✗ worse, "
    "· unclear, after Holm's correction; (✓) (✗) by its own interval alone. † The difference is "
    "of the documents that have a value on both sides."
)


def comparison_parts(found: Comparison, charts: Sequence[Chart] = (), note: str = "") -> list[Part]:
    """Counts first, then a part an exam, the text that was asked about, and what was compared."""
    table = found.table()
    parts = [_first(found, table, note)]
    for exam in dict.fromkeys(table["exam"]):
        own = table[table["exam"] == exam]
        drawn = [chart for chart in charts if chart.exam == exam]
        parts.append(_exam(str(exam), own, found, drawn))
    if found.curves is not None and len(found.curves):
        drawn = [chart for chart in charts if chart.exam == CURVES]
        parts.append(_text(found.curves, drawn))
    return [*parts, _about(found)]


def _first(found: Comparison, table: pd.DataFrame, note: str) -> Part:
    lines, rows = "", []
    for group in found.groups[1:]:
        own = found.tally(group)
        counts = Counter(own["judged"])
        told = (
            f"is better than <b>{named(found.reference)}</b> in {counts[BETTER]}, worse in "
            f"{counts[WORSE]} and neither for sure in {counts[UNCLEAR]} of the "
            f"{len(own)} measures that say how truthful attention is, or how accurate decisions."
        )
        lines += element("p", f"<b>{named(group)}</b> {told}", {"class": "headline small"})
        by = own.groupby("exam", sort=False)["judged"].agg(list)
        for exam, judged in by.items():
            cells = [str(judged.count(kind)) for kind in (BETTER, WORSE, UNCLEAR)]
            rows.append(([group, exam_title(str(exam))], cells))
    heads = ["model", "exam", BETTER, WORSE, UNCLEAR]
    inner = lines + html_table(heads, rows, 2, f"measures, against {found.reference}")
    caveats = [
        f"Differences have 95% intervals {text_}."
        for kind, text_ in _OVER.items()
        if (table["over"] == kind).any()
    ]
    caveats += [_READING, note]
    notes = "".join(element("li", text(line)) for line in caveats if line)
    return Part("verdict", "Side by side", inner + element("ul", notes, {"class": "caveat"}))


def _exam(exam: str, table: pd.DataFrame, found: Comparison, charts: Sequence[Chart]) -> Part:
    inner = element("p", text(_question(exam)), _ASKED)
    inner += figures(charts)
    first = shown_rows(table)
    title = comparison_title(exam)
    if len(first):
        inner += _table(first, found, title)
    rest = table[~table["measure"].isin(set(first["measure"]))]
    if len(rest):
        inner += closed("Other measures", _table(rest, found, title))
    names = {name: name for name in found.groups}
    lines = list(left_out(found, set(table["measure"]), names))
    if lines:
        listed = "".join(element("li", text(line)) for line in lines)
        inner += closed("What was left out, and why", element("ul", listed))
    else:
        inner += element("p", "Nothing was left out.", {"class": "note"})
    return Part(f"exam-{exam}", exam_title(exam), inner, exam)


def _question(exam: str) -> str:
    known = EXAMS.get(exam)
    return "How often is the decision right?" if known is None else known.question


def _table(table: pd.DataFrame, found: Comparison, title: str) -> str:
    """Under every measure a line a model, the reference first; below, why some is not judged."""
    made: list[tuple[list[str], list[str]]] = []
    why: dict[str, list[str]] = {}
    for measure, own in table.groupby("measure", sort=False):
        rows: list[Any] = list(own.itertuples())
        name = measure_title(str(measure))
        label = direction(rows) + name + " †" * any(map(is_of_common_documents, rows))
        value = numeral(Number(rows[0].reference_value, unit=rows[0].unit))
        made.append(([label, found.reference], [text(value), "", "", ""]))
        for row in rows:
            made.append(([label, str(row.group)], _cells(row)))
        for note in dict.fromkeys(row.note for row in rows if row.note):
            why.setdefault(note, []).append(name)
    heads = ["", "model", "value", "difference", "", "p, Holm"]
    told = html_table(heads, made, 2, title)
    for note, names in why.items():
        line = f"{'; '.join(names)}: {note}."
        told += element("p", text(line), {"class": "note"})
    return told


def _cells(row: Any) -> list[str]:
    unit = POINTS if row.unit in (PERCENT, POINTS) else "number"
    return [
        text(numeral(Number(row.value, unit=row.unit))),
        shown(Number(row.difference, row.low, row.high, 0, unit)),
        text(mark(row)),
        text(_p(row.holm)),
    ]


def _p(value: float) -> str:
    if math.isnan(value):
        return ""
    return f"{value:.3f}" if value >= _LEAST else f"<\u00a0{_LEAST}"


def _text(curves: pd.DataFrame, charts: Sequence[Chart]) -> Part:
    """What each token of the text says alone, and all of them together."""
    models = list(dict.fromkeys(curves["model"]))
    by = {name: curves[curves["model"] == name] for name in models}
    first = by[models[0]]
    of = str(first["class"].iloc[0])
    inner = element("p", "What would each token of this text say on its own?", _ASKED)
    inner += figures(charts)
    alike = all(list(own["text"]) == list(first["text"]) for own in by.values())
    for names in [models] if alike else [[name] for name in models]:
        rows = [
            ([word], [text(f"{by[name]['p'].iloc[place]:.3f}") for name in names])
            for place, word in enumerate(by[names[0]]["text"])
        ]
        last = [text(f"{by[name]['confidence'].iloc[0]:.3f}") for name in names]
        rows.append((["whole text"], last))
        inner += html_table(["", *names], rows, title=f"probability of {of}")
    return Part(CURVES, "One text", inner)


def _about(found: Comparison) -> Part:
    told = {name: value for name, value in found.manifest.items() if name != "groups"}
    inner = facts(told, "what was compared")
    for group, models in found.manifest["groups"].items():
        inner += closed(
            group, "".join(facts(_flat(model), str(model["model"])) for model in models)
        )
    return Part("about", ABOUT, inner)


def _flat(model: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in model.items() if value is not None}

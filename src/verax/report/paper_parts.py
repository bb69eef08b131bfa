"""A paper's page: what holds, published beside measured. It shows no document."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any

import pandas as pd

from verax.papers import Checked
from verax.papers.claims import Finding
from verax.papers.comparing import FAILS, HOLDS, UNDECIDED
from verax.papers.exhibits import MEASURED, SETTING, Exhibit, has_published
from verax.papers.page import MOST_ROWS, SHORT, as_published, as_set, is_chart_data, label
from verax.papers.page import shown as numeral
from verax.papers.phrasing import (
    HOW_PROBED,
    IN_WORDS,
    TRIAL,
    alone,
    differences,
    how_to_read,
    lacking,
    not_there,
    sentences,
    signed,
)
from verax.papers.probing import PROBES
from verax.papers.results import TABLES
from verax.report.charts.paper_frames import called
from verax.report.facts import closed
from verax.report.markdown import markdown
from verax.report.markup import element, text
from verax.report.page import Part
from verax.report.sections import Chart, figures
from verax.report.tables import html_table

_STYLES = {HOLDS: "for", FAILS: "against", UNDECIDED: "undecided"}
NOT_MEASURED = "Published, not measured here"
_OPEN = 40
"""Rows of a table that is shown open below its charts."""


def paper_parts(checked: Checked, charts: Sequence[Chart] = (), note: str = "") -> list[Part]:
    """Claims, what differs, what was done otherwise, every table and figure.

    charts  of the exhibits: the `exam` of each is the exhibit's name
    note    stands before the first exhibit
    """
    parts = [_claims(checked)]
    for name, title, words in (
        ("differences", "What differs from the published numbers", differences(checked)),
        ("deviations", "What was done otherwise", checked.paper.words("deviations")),
    ):
        if words:
            parts.append(Part(name, title, markdown(words)))
        if name == "differences":
            parts += _probes(checked)
    notes = [line for line in (how_to_read(checked, "Bold"), note) if line]
    for exhibit in checked.paper.exhibits:
        own = [chart for chart in charts if chart.exam == exhibit.name]
        parts.append(_exhibit(exhibit, checked.tables[exhibit.name], own, notes))
        notes = []
    return parts


def _claims(checked: Checked) -> Part:
    cells = checked.results.cells
    corpora = ", ".join(dict.fromkeys(str(name) for name in cells["corpus"]))
    first, *others = sentences(checked)
    inner = element("p", text(TRIAL), {"class": "headline"}) if checked.is_trial else ""
    inner += element("p", text(first), {"class": "headline"})
    inner += "".join(element("p", text(sentence)) for sentence in others)
    made = f"{cells['cell'].nunique():,} models were trained and examined, on {corpora}."
    if checked.paper.url:
        made += f" The paper: {checked.paper.url}"
    inner += element("p", text(made), {"class": "note"}) + markdown(lacking(checked))
    items = ""
    for claim, finding, own in checked.judged:
        mark = _mark(finding)
        if own is not None:
            mark += f" ({text(alone(checked))}: {_mark(own)})"
        body = element("p", f"{mark} <b>{claim.id}.</b> {text(claim.text)} ({text(claim.where)})")
        body += _behind(finding)
        if own is not None and own.said != finding.said:
            body += _behind(own, f"O{alone(checked)[1:]}: ")
        if finding.cells:
            keys = element("code", text(" ".join(key[:SHORT] for key in finding.cells)))
            body += closed(f"{len(finding.cells):,} cells", element("p", keys, {"class": "test"}))
        items += element("li", body, {"data-claim": claim.id, "data-verdict": finding.verdict})
    inner += element("ul", items, {"class": "said"}) + markdown(IN_WORDS)
    return Part("verdict", "Claims", inner)


def _mark(finding: Finding) -> str:
    return element("span", text(signed(finding)), {"class": f"mark {_STYLES[finding.verdict]}"})


def _behind(finding: Finding, before: str = "") -> str:
    """Why the verdict is so, and the test."""
    body = element("p", text(before + finding.why), {"class": "note"}) if finding.why else ""
    return body + (element("p", text(finding.test), {"class": "test"}) if finding.test else "")


def _probes(checked: Checked) -> list[Part]:
    """Short runs that test what might explain differences: each one's question, and its numbers."""
    if checked.probes is None or checked.probed.empty:
        return []
    inner = markdown(HOW_PROBED) + markdown(
        not_there(checked.probes, checked.paper.studies(PROBES))
    )
    labels = ["corpus", "model", "measure"]
    heads = ["measured", "95% interval", "seeds"]
    for (probe, question), own in checked.probed.groupby(["probe", "question"], sort=False):
        rows = [
            ([label(row[name]) for name in labels], _measured(row)[1:])
            for row in own.to_dict("records")
        ]
        table = html_table([*labels, *heads], rows, len(labels), str(probe))
        inner += closed(f"{probe}: {question}" if question else str(probe), table)
    return [Part(PROBES, "Probes", inner)]


def _exhibit(
    exhibit: Exhibit, table: pd.DataFrame, charts: Sequence[Chart], notes: Sequence[str]
) -> Part:
    lines = [line for line in (*notes, exhibit.note) if line]
    inner = "".join(element("p", _coded(line), {"class": "note"}) for line in lines)
    inner += figures(charts)
    there = table["value"].notna()
    if table.empty:
        inner += element("p", "Nothing of it is in these results.")
    elif is_chart_data(table):
        told = f"{len(table):,} rows, beside the results in {TABLES}/{exhibit.name}.csv."
        inner += element("p", text(told))
    else:
        if there.any():
            shown = _table(exhibit, table[there])
            long = int(there.sum()) > (_OPEN if charts else MOST_ROWS)
            inner += closed("The numbers", shown) if long else shown
        if not there.all():
            inner += closed(NOT_MEASURED, _table(exhibit, table[~there]))
    name = called(exhibit.name)
    return Part(exhibit.name, f"{name}: {exhibit.title}", inner, short=name)


def _table(exhibit: Exhibit, table: pd.DataFrame) -> str:
    """Published beside measured, or published alone where nothing is measured."""
    labels = [str(name) for name in table if name not in MEASURED]
    unmeasured = bool(table["value"].isna().all())
    heads = ["published"] if unmeasured else ["published", "measured", "95% interval", "seeds"]
    first = 0 if has_published(table) else 1
    heads = heads[first:]
    rows = [
        ([label(row[name]) for name in labels], _measured(row)[first : first + len(heads)])
        for row in table.to_dict("records")
    ]
    return html_table([*labels, *heads], rows, len(labels), exhibit.title)


def _measured(row: dict[Any, Any]) -> list[str]:
    published = text(numeral(row["published"]))
    if math.isnan(row["value"]):
        return [published]
    if row["over"] == SETTING:
        return [text(as_published(row["published"])), text(as_set(row["value"])), "", ""]
    value = numeral(row["value"])
    if not math.isnan(row["sd"]):
        value += f" ± {numeral(row['sd'], like=row['value'])}"
    shown = text(value)
    if not pd.isna(row["beyond"]) and row["beyond"]:
        shown = element("b", shown)
    ends = [numeral(row[end], like=row["value"]) for end in ("low", "high")]
    within = "" if math.isnan(row["low"]) else " to ".join(ends)
    return [published, shown, text(within), text(row["seeds"])]


def _coded(line: str) -> str:
    """What stands between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", text(line))

"""A paper's page: what holds, published beside measured. It shows no document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from verax.drawing.chart import Chart
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
from verax.report.markdown import markdown, spans
from verax.report.page import Part
from verax.report.sections import figures
from verax.report.tables import html_table
from verax.report.templating import fill, fold

_STYLES = {HOLDS: "for", FAILS: "against", UNDECIDED: "undecided"}
NOT_MEASURED = "Published, not measured here"
_OPEN = 40
"""Rows of a table that is shown open below its charts."""


def paper_parts(checked: Checked, charts: Sequence[Chart] = (), note: str = "") -> list[Part]:
    """The parts of a page: claims, what differs, what was done otherwise, tables and figures.

    Args:
        checked: the paper, its results and its claims.
        charts: of the exhibits: the `exam` of each is the exhibit's name.
        note: stands before the first exhibit.
    """
    parts = [_claims(checked)]
    if words := differences(checked):
        title = "What differs from the published numbers"
        parts.append(Part("differences", title, markdown(words)))
    parts += _probes(checked)
    if words := checked.paper.words("deviations"):
        parts.append(Part("deviations", "What was done otherwise", markdown(words)))
    notes = [how_to_read(checked, "Bold"), note]
    for exhibit in checked.paper.exhibits:
        drawn = [chart for chart in charts if chart.exam == exhibit.name]
        parts.append(_exhibit(exhibit, checked.tables[exhibit.name], drawn, notes))
        notes = []
    return parts


def _claims(checked: Checked) -> Part:
    cells = checked.results.cells
    corpora = ", ".join(dict.fromkeys(str(name) for name in cells["corpus"]))
    first, *others = sentences(checked)
    made = f"{cells['cell'].nunique():,} models were trained and examined, on {corpora}."
    if checked.paper.url:
        made += f" The paper: {checked.paper.url}"
    claims = [
        {
            "claim": claim,
            "all": _judged(finding),
            "paper": None if on_paper is None else _judged(on_paper),
            "cells": [key[:SHORT] for key in finding.cells],
        }
        for claim, finding, on_paper in checked.judged
    ]
    inner = fill(
        "paper",
        "claims",
        trial=TRIAL if checked.is_trial else "",
        first=first,
        others=others,
        made=made,
        lacking=markdown(lacking(checked)),
        claims=claims,
        corpora=alone(checked),
        in_words=markdown(IN_WORDS),
    )
    return Part("verdict", "Claims", inner)


def _judged(finding: Finding) -> dict[str, str]:
    """What the page shows of a finding: its sign, why the verdict is so, and the test."""
    return {
        "verdict": finding.verdict,
        "style": _STYLES[finding.verdict],
        "sign": signed(finding),
        "words": finding.verdict_words,
        "why": finding.why,
        "test": finding.test,
    }


def _probes(checked: Checked) -> list[Part]:
    """Short runs that test what might explain differences: each one's question, and its numbers."""
    if checked.probes is None or checked.probed.empty:
        return []
    missing = not_there(checked.probes, checked.paper.studies(PROBES))
    inner = markdown(HOW_PROBED) + markdown(missing)
    labels = ["corpus", "model", "measure"]
    heads = ["measured", "95% interval", "seeds"]
    for (probe, question), numbers in checked.probed.groupby(["probe", "question"], sort=False):
        rows = [
            ([label(row[name]) for name in labels], _measured(row)[1:])
            for row in numbers.to_dict("records")
        ]
        table = html_table([*labels, *heads], rows, len(labels), str(probe))
        inner += fold(f"{probe}: {question}" if question else str(probe), table)
    return [Part(PROBES, "Probes", inner)]


def _exhibit(
    exhibit: Exhibit, table: pd.DataFrame, charts: Sequence[Chart], notes: Sequence[str]
) -> Part:
    measured = table["value"].notna()
    text, shown, folded = "", Markup(), []
    if table.empty:
        text = "Nothing of it is in these results."
    elif is_chart_data(table):
        text = f"{len(table):,} rows, beside the results in {TABLES}/{exhibit.name}.csv."
    else:
        if measured.any():
            numbers = _table(exhibit, table[measured])
            if int(measured.sum()) > (_OPEN if charts else MOST_ROWS):
                folded.append(("The numbers", numbers))
            else:
                shown = numbers
        if not measured.all():
            folded.append((NOT_MEASURED, _table(exhibit, table[~measured])))
    inner = fill(
        "paper",
        "exhibit",
        notes=[spans(line) for line in (*notes, exhibit.note) if line],
        figures=figures(charts),
        text=text,
        table=shown,
        folded=folded,
    )
    name = called(exhibit.name)
    return Part(exhibit.name, f"{name}: {exhibit.title}", inner, short=name)


def _table(exhibit: Exhibit, table: pd.DataFrame) -> Markup:
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
    """Published, measured, interval and seeds of a row; bold where it is beyond the interval."""
    published = numeral(row["published"])
    if math.isnan(row["value"]):
        return [published]
    if row["over"] == SETTING:
        return [as_published(row["published"]), as_set(row["value"]), "", ""]
    value = numeral(row["value"])
    if not math.isnan(row["sd"]):
        value += f" ± {numeral(row['sd'], like=row['value'])}"
    if not pd.isna(row["beyond"]) and row["beyond"]:
        value = fill("elements", "bold", value=value)
    ends = [numeral(row[end], like=row["value"]) for end in ("low", "high")]
    within = "" if math.isnan(row["low"]) else " to ".join(ends)
    return [published, value, within, str(row["seeds"])]

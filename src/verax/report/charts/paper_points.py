"""Measured numbers with their intervals beside the published ones; contingency tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart
from verax.drawing.forms import data, intervals
from verax.drawing.names import shortened
from verax.drawing.rendering import INK
from verax.drawing.series import Series
from verax.exams.erasure.charts.contingency import PLACE, heat
from verax.report.charts.paper_frames import CORPUS, Shown, around, drawn

CELLS = {
    "both": ("flips", "flips"),
    "only top": ("flips", "stays"),
    "only random": ("stays", "flips"),
    "neither": ("stays", "stays"),
}
"""Measure of an exhibit → what becomes of the decision with the top item, and a random one."""
_MOST = 3
"""Charts of one exhibit."""
_BESIDE = ("sd", "pooled sd", "documents", "above ½")
"""Measures that say something of another one."""
_FEW = 4
_ROWS = 90
"""Rows in one chart; the table has the others."""


def points(shown: Shown) -> Iterator[Chart]:
    """A chart a measure, those with published numbers first; none where nothing could vary."""
    shown = shown.where(measure=[m for m in shown.measures if m not in _BESIDE])
    if _alike(shown):
        yield from _points(shown, "", several=False)
        return
    measures = [m for m in shown.measures if _varies(shown.where(measure=m))]
    measures.sort(key=lambda m: not shown.where(measure=m).rows["published"].notna().any())
    for measure in measures[:_MOST]:
        yield from _points(shown.where(measure=measure), measure, len(measures) > 1)


def contingency(shown: Shown) -> Iterator[Chart]:
    """Tables of two by two, one a model; of each rule for the random item."""
    rules = list(dict.fromkeys(shown.rows["rule"])) if "rule" in shown.rows else [None]
    for rule in rules:
        part = shown.where(measure=list(CELLS), **({} if rule is None else {"rule": rule}))
        rows = part.rows
        cells = pd.DataFrame(
            {
                "panel": part.labels([*part.corpus, *part.varying("top")]),
                "top": [CELLS[measure][0] for measure in rows["measure"]],
                "random": [CELLS[measure][1] for measure in rows["measure"]],
                "value": rows["value"],
                "printed": [f"({v:g})" if v == v else "" for v in rows["published"]],
            }
        )
        picture = _tables(cells)
        reading = (
            "Documents by whether the decision flips when the top item is erased (upper row) and "
            "when a random one is (left column), in percent."
        )
        if rows["published"].notna().any():
            reading += " In brackets: published."
        about = (
            "" if rule is None else f"the random item by the rule of the {_RULES.get(rule, rule)}"
        )
        yield drawn(part, about, reading, picture, several=len(rules) > 1)


_RULES = {"paper": "paper", "authors": "authors' code"}


def _tables(cells: pd.DataFrame) -> Any:
    layers = heat(dy=-8 if cells["printed"].any() else 0)
    text = alt.Chart().encode(
        x=alt.X("random:N", sort=PLACE), y=alt.Y("top:N", sort=PLACE), text="printed:N"
    )
    layered = layers + text.mark_text(color=INK, dy=12)
    header = alt.Header(title=None, labelOrient="top", labelFontWeight="normal")
    names = list(dict.fromkeys(cells["panel"]))
    facet = alt.Facet("panel:N", sort=names, header=header)
    return layered.properties(width=130, height=90).facet(
        facet, data=data(cells), columns=3, spacing=28
    )


def _points(shown: Shown, measure: str, several: bool) -> Iterator[Chart]:
    columns = shown.varying() + ([] if measure else ["measure"])
    rows = shown.rows
    corpus = shown.corpus
    by_colour: list[str] = []
    if not columns:
        corpus, columns = [], [CORPUS] if CORPUS in rows else ["measure"]
    if len(columns) > 1:
        # of the fewest values, the last: it is told by colour, the others by name
        fewest = min(reversed(columns), key=lambda c: rows[c].nunique())
        if rows[fewest].nunique() <= _FEW:
            by_colour = [fewest]
    by_name = [c for c in columns if c not in by_colour]
    frame = rows.assign(
        row=shown.labels(by_name), line=shown.labels(by_colour), panel=shown.labels(corpus)
    )
    if len(frame) < 2 or len(frame) > _ROWS:
        return
    order, lines = shortened(shown.order(by_name)), shortened(shown.order(by_colour))
    frame["row"], frame["line"] = frame["row"].map(order), frame["line"].map(lines)
    kept = ["panel", "row", "line", "published", "value", "low", "high"]
    series = Series("line", list(lines.values()))
    axis = measure or "value"
    picture = intervals(frame[kept], series, axis, list(order.values()), around(frame))
    reading = "Points are measured."
    if frame["low"].notna().any():
        reading = "Points are measured, lines their 95% intervals: over seeds where there are "
        reading += "several, else over documents. Of two seeds they end at both values."
    if frame["published"].notna().any():
        reading += " Hollow diamonds are the published numbers."
    yield drawn(shown, measure, reading, picture, several)


def _varies(shown: Shown) -> bool:
    """Whether some number has an interval: sizes of corpora and settings of training have none."""
    rows = shown.rows
    return bool((rows["high"] - rows["low"] > 1e-9 * rows["value"].abs()).any())


def _alike(shown: Shown) -> bool:
    """Whether these are several measures, of a few numbers each, that one scale can hold."""
    counts = shown.rows["measure"].value_counts()
    small = bool(shown.rows["value"].abs().max() <= 1)
    return len(counts) > 1 and int(counts.max()) < _FEW and small

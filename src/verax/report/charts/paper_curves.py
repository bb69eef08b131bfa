"""Curves of a paper: along λ, strength, weight or place in a text; outputs against attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart
from verax.drawing.forms import lines, panels, points_along, quantity
from verax.drawing.names import shortened
from verax.drawing.series import Series
from verax.report.charts.paper_frames import Shown, around, drawn

ALONG = {
    "lam": "λ",
    "strength": "the strength of grounding",
    "item": "the place in the text",
    "max α": "the largest weight of the document",
}
"""Columns that numbers lie along → what the axis is called."""
STEPS = ("lam", "at", "other attention", "seed")
"""Columns whose values are points of one curve."""
_BESIDE = ("sd", "median", "documents")
_ALL = "all"
_MOST = 3
_NAMES = {"p": "probability of the decision, by each token alone", "weight": "attention"}
_AXES = {"p": "probability"}
_LETTERS = 46
_NO_LAM = "softmax"
_APART = 0.6
"""How far left of the smallest λ the point without one stands."""


def along(shown: Shown, column: str) -> Iterator[Chart]:
    """A chart a measure, of documents of any class."""
    for name in ("class", column):
        # a number of all is no point of the curve, and all classes are what is drawn
        if name in shown.rows and (shown.rows[name] == _ALL).any():
            values = {v for v in shown.rows[name] if (v == _ALL) == (name == "class")}
            shown = shown.where(**{name: values})
    split = "by" if "by" in shown.varying() else None
    drawn_of = [
        (measure, by)
        for by in (dict.fromkeys(shown.rows["by"]) if split else [None])
        for measure in shown.measures
        if measure not in _BESIDE
    ][:_MOST]
    for measure, by in drawn_of:
        part = shown.where(measure=measure, **({} if by is None else {"by": by}))
        title = _NAMES.get(measure, measure)
        about = title if by is None else f"{title}, {by}"
        axis = _AXES.get(measure, title)
        yield _along(part, column, axis, about, len(drawn_of) > 1)


def _along(shown: Shown, column: str, title: str, about: str, several: bool) -> Chart:
    same = ("projection",) if column == "lam" else ()
    points, order = shown.lines(shown.varying(column, "document", *same))
    name = ALONG[column].removeprefix("the ")
    x: alt.X
    if column == "lam":
        points, x = _lam(points)
    elif column == "item":
        points["x"] = points["item"] + 1
        x = alt.X("x:Q", title=name, axis=alt.Axis(tickMinStep=1, grid=False))
    elif column == "strength":
        points["x"] = points["strength"]
        values = sorted(set(points["x"]))
        scale = alt.Scale(type="symlog", constant=0.03, domain=[0, values[-1]], nice=False)
        axis = alt.Axis(values=values, format="~g", labelOverlap="greedy")
        x = alt.X("x:Q", title=name, scale=scale, axis=axis)
    else:
        points["x"] = points[column].astype(str)
        places = list(dict.fromkeys(points["x"]))
        axis = alt.Axis(labelAngle=0)
        x = alt.X("x:O", sort=places, title=name, axis=axis, scale=alt.Scale(padding=0.2))
    points, series = _named(points, order)
    kept = ["panel", "line", "x", "value", "low", "high", *({"joined"} & {*points})]
    number = points["panel"].nunique()
    height = 160 if number <= 3 else 120
    picture = lines(points[kept], series, x, title, around(points), height)
    reading = f"From left to right: {ALONG[column]}."
    if points["low"].notna().any():
        reading += " Bands are 95% intervals; of two seeds they end at both values."
    if column == "lam":
        reading += " Larger λ is sparser attention; sparsemax is λ = 0"
        reading += ", and softmax, which has none, stands apart." if _apart(points) else "."
    return drawn(shown, about, reading, picture, several)


def against(shown: Shown, step: str) -> Iterator[Chart]:
    """Charts of how outputs move, or how well a model decides, against how far attention is."""
    measures = [m for m in ("TVD", "accuracy", "F1") if m in shown.measures][:2]
    if step == "other attention":
        kinds = shown.rows[step].astype(str).str.rpartition(", ")[0]
        rows = shown.rows.assign(kind=kinds.where(kinds != "", shown.rows[step]))
        shown = Shown(shown.name, shown.title, rows)
    for measure in measures:
        pair = shown.where(measure=["JSD", measure])
        points, order = pair.lines(pair.varying(step))
        keys = [c for c in (*pair.varying(), "panel", "line", "corpus") if c in points]
        wide = points[points["measure"] == measure].merge(
            points.loc[points["measure"] == "JSD", [*keys, "value"]],
            on=keys,
            suffixes=("", "_x"),
        )
        if wide.empty:
            continue
        wide = wide.rename(columns={"value_x": "jsd"})
        wide["place"] = range(len(wide))
        wide, series = _named(wide, order)
        picture = _against(wide, series, measure, join=step != "seed")
        reading = f"{measure} against the Jensen–Shannon divergence of attentions, in nats."
        reading += " A line that stays where it is as it goes right shows attentions that differ"
        reading += (
            " much and say the same. Bars are 95% intervals; of two seeds they end at both values."
        )
        yield drawn(shown, f"{measure} against JSD", reading, picture, several=True)


def _against(wide: pd.DataFrame, series: Series, measure: str, join: bool) -> Any:
    right = min(0.7, float(wide["jsd"].max()) * 1.1 or 0.1)
    x = quantity("jsd", "JSD of attention, nats", (0, round(right, 3)))
    base, rules = points_along(x, measure, around(wide), series, clip=True)
    base = base.encode(color=series.colour())
    layers = [
        rules,
        base.mark_point(filled=True, size=50, opacity=1).encode(shape=series.shape()),
    ]
    if join:
        line = base.mark_line(strokeWidth=2)
        layers.insert(1, line.encode(strokeDash=series.dash(), order="place:Q"))
    kept = ["panel", "line", "jsd", "place", "value", "low", "high"]
    return panels(alt.layer(*layers).properties(width=460, height=200), wide[kept])


def _lam(points: pd.DataFrame) -> tuple[pd.DataFrame, alt.X]:
    """Points with their places by symlog, and the axis; one without λ stands apart."""
    has_lam = points["lam"].notna()
    points = points.assign(x=points["symlog"] if "symlog" in points else points["lam"])
    names = {
        round(float(x), 4): f"{lam:g}".replace("-", "−")
        for x, lam in zip(points.loc[has_lam, "x"], points.loc[has_lam, "lam"], strict=True)
    }
    left = min(names) - _APART
    points["x"] = points["x"].astype(float).where(has_lam, left).round(4)
    points["joined"] = ["yes" if has else "no" for has in has_lam]
    if not has_lam.all():
        names[round(left, 4)] = _NO_LAM
    ticks = sorted(names)
    shown = ", ".join(f"'{names[tick]}'" for tick in ticks)
    label = f"[{shown}][indexof([{', '.join(map(str, ticks))}], datum.value)]"
    edges = (ticks[0] - 0.25, ticks[-1] + 0.2)
    axis = alt.Axis(values=ticks, labelExpr=label, labelOverlap="greedy")
    return points, quantity("x", "λ", edges, axis=axis)


def _apart(points: pd.DataFrame) -> bool:
    return bool((points["joined"] == "no").any())


def _named(points: pd.DataFrame, order: Sequence[str]) -> tuple[pd.DataFrame, Series]:
    present = set(points["line"])
    names = shortened([name for name in order if name in present], _LETTERS)
    return points.assign(line=points["line"].map(names)), Series("line", list(names.values()))

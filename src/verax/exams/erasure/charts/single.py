"""One item erased: ΔJS against Δα, and where it is negative (Serrano & Smith 2019, §4)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import quantity, reach, side_by_side
from verax.drawing.rendering import CATEGORIES, GRID, INK
from verax.drawing.series import Models, Series, of_column
from verax.exams.erasure.measures import NAME, NEGATIVE, tenth_of
from verax.exams.tables import wide

POINTS = 800
"""Of all models together; a file of more is slow to show."""
_NEGATIVE = CATEGORIES[1]
_FORM = "datum.value == 0 || abs(datum.value) >= 0.001 ? '~g' : '~e'"
_LABEL = f"replace(format(datum.value, {_FORM}), /-/g, '−')"
"""Small numbers by exponents, so that labels are short, with a true minus in these, too."""


def charts(models: Models) -> Iterator[Chart]:
    """ΔJS against Δα, and how many documents have a negative one in each tenth of Δα."""
    points = _points(models)
    if len(points):
        yield _scatter(models, points)
    negatives = models.numbers(NAME, NEGATIVE.id)
    if len(of_column(negatives, "documents")):
        yield _negatives(models, negatives)


def _points(models: Models) -> pd.DataFrame:
    """model, delta_alpha, delta_js of the top item by attention, thinned."""
    table = models.table("erasure_single")
    if table.empty:
        return table
    table = table[(table["top"] == "attention") & (table["rule"] == "paper")]
    points = wide(table, "model").reset_index()[["model", "delta_alpha", "delta_js"]].dropna()
    parts = []
    for _, part in points.groupby("model", sort=False):
        most = POINTS // len(models.names)
        if len(part) > most:
            part = part.iloc[np.sort(np.random.default_rng(0).permutation(len(part))[:most])]
        parts.append(part)
    return pd.concat(parts, ignore_index=True) if parts else points


def _scatter(models: Models, points: pd.DataFrame) -> Chart:
    return made(
        "erasure-delta-js",
        NAME,
        "ΔJS against Δα: erasing the top item by attention, and a random other",
        "A point a document: how much more the output moves when the item with most weight is "
        "erased than when a random other is (ΔJS), against how much more weight it had (Δα). "
        "Points below the line are documents where erasing the other item moved the output more. "
        "If weights told importance, there would be few, and only at the left. At most "
        f"{POINTS:,} points are drawn, picked at random.",
        scatter(models, points),
    )


def scatter(series: Series, points: pd.DataFrame) -> Any:
    """`delta_js` against `delta_alpha`, a picture a model, what is negative told apart."""
    sign = np.where(points["delta_js"] < 0, "negative", "not negative")
    points = points.assign(sign=sign)
    signs = ["not negative", "negative"]
    most = min(1.0, reach(points["delta_alpha"].max()))
    title = "Δα, difference of the two weights"
    x = quantity("delta_alpha", title, (0, most), axis=alt.Axis(tickCount=5))
    y = alt.Y("delta_js:Q", title="ΔJS, nats", axis=alt.Axis(labelExpr=_LABEL, tickCount=6))
    colour = alt.Color(
        "sign:N",
        scale=alt.Scale(domain=signs, range=[CATEGORIES[0], _NEGATIVE]),
        legend=alt.Legend(title="ΔJS", columns=2),
    )
    shape = alt.Shape(
        "sign:N",
        scale=alt.Scale(domain=signs, range=["circle", "triangle-down"]),
        legend=alt.Legend(title="ΔJS", columns=2),
    )
    # one line, not one for each point
    once = alt.Chart().transform_aggregate(points="count()")
    zero = once.mark_rule(color=INK, strokeWidth=1).encode(y=alt.datum(0))
    marks = (
        alt.Chart()
        .mark_point(filled=True, size=18, opacity=0.55)
        .encode(x=x, y=y, color=colour, shape=shape)
    )
    layered = alt.layer(zero, marks)
    return side_by_side(layered, points, series, 170 if series.several else 260)


def _negatives(models: Models, numbers: pd.DataFrame) -> Chart:
    parts = []
    for column, kind in (("documents", "all"), ("negative", "with ΔJS < 0")):
        part = of_column(numbers, column)[["model", "row", "value"]]
        ends = [tenth_of(row) for row in part["row"]]
        part = part.assign(kind=kind, low=[low for low, _ in ends], high=[high for _, high in ends])
        parts.append(part.drop(columns="row"))
    bars = pd.concat(parts, ignore_index=True)
    return made(
        "erasure-negative",
        NAME,
        "Negative ΔJS by Δα",
        "For each tenth of Δα, all documents (grey) and those where a random item mattered more "
        "than the top one (coloured). Coloured bars far to the right are documents where attention "
        "put much more weight on the item that mattered less.",
        negative_bars(models, bars),
    )


def negative_bars(series: Series, bars: pd.DataFrame) -> Any:
    """`value` documents from `low` to `high` of Δα, by `kind`, a picture a model."""
    kinds = ["all", "with ΔJS < 0"]
    colour = alt.Color(
        "kind:N",
        scale=alt.Scale(domain=kinds, range=[GRID, _NEGATIVE]),
        legend=alt.Legend(title="documents", columns=2, symbolType="square"),
    )
    ticks = alt.Axis(values=[0, 0.2, 0.4, 0.6, 0.8, 1], grid=False, format=".1f")
    marks = (
        alt.Chart()
        .mark_bar(stroke=INK, strokeWidth=0.5, binSpacing=1)
        .encode(
            x=alt.X("low:Q", bin="binned", title="Δα", axis=ticks, scale=alt.Scale(domain=[0, 1])),
            x2="high:Q",
            y=alt.Y("value:Q", title="documents", stack=None, axis=alt.Axis(tickMinStep=1)),
            color=colour,
        )
    )
    return side_by_side(alt.layer(marks), bars, series, 140)

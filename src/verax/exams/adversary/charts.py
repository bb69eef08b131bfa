"""The most divergent attention that keeps the prediction (Jain & Wallace 2019, figures 6–8)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import data, histograms, lines
from verax.drawing.placing import sides, texts
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.adversary.measures import (
    ADVERSARY,
    ANY_OUTPUT,
    BEST,
    DOCUMENT_COUNTS,
    NAME,
    epsilon_of,
    epsilon_row,
    written,
)
from verax.exams.adversary.summary import CLOSE
from verax.exams.measures import VALUE

_JSD = "JSD of the two attentions, nats"
_MOST = 0.7
"""ln 2 = 0.693 is the largest there is."""
_SIZE = (460, 230)
_OWN = "own"
"""The point of the model's own attention, which is no row of the summary."""


def charts(models: Models) -> Iterator[Chart]:
    """How far attention can go, over documents, by ε, and against what becomes of accuracy."""
    yield from _histogram(models)
    numbers = models.numbers(NAME, ADVERSARY.id)
    jsd = of_column(numbers, "jsd")
    if len(jsd):
        yield _by_epsilon(models, jsd)
    yield from _accuracy(models, jsd, of_column(numbers, "accuracy"))


def _histogram(models: Models) -> Iterator[Chart]:
    table, instances = models.table("adversary"), models.table("adversary_instances")
    if table.empty or instances.empty:
        return
    items = instances[instances["measure"] == "items"]
    several = items.loc[items["value"] > 1, ["model", "id"]]
    values = table[(table["measure"] == "jsd") & (table["by"] == BEST)].merge(several)
    epsilons = sorted({float(e) for e in values["epsilon"] if float(e) <= CLOSE})
    panels = {epsilon: _row_title(epsilon_row(epsilon)) for epsilon in epsilons}
    values = values.assign(panel=values["epsilon"].astype(float).map(panels))
    parts = [values[values["panel"] == name] for name in panels.values()]
    if not any(len(part) for part in parts):
        return
    yield made(
        "adversary-jsd",
        NAME,
        "How far another attention can be that keeps the probability",
        "For each document the Jensen–Shannon divergence from the model's attention to the "
        "farthest one that moves the probability of the decision by no more than ε; how it is "
        "spread over documents. Two attentions with nothing in common are ln 2 = 0.693 apart. "
        "Mass at the right means that the output does not single this attention out.",
        histograms(
            pd.concat(parts, ignore_index=True),
            models,
            _JSD,
            np.linspace(0, _MOST, 15).round(6).tolist(),
            height=80,
        ),
    )


def _by_epsilon(models: Models, jsd: pd.DataFrame) -> Chart:
    rows = dict.fromkeys(jsd["row"])
    names = {
        row: _row_title(row) if row == ANY_OUTPUT else written(epsilon_of(row)) for row in rows
    }
    drawn = jsd[["model", "row", "value", "low", "high", "n"]].assign(panel="")
    drawn["row"] = drawn["row"].map(names)
    x = alt.X(
        "row:O",
        sort=list(names.values()),
        title="ε, how far the probability may move",
        axis=alt.Axis(labelAngle=0),
    )
    return made(
        "adversary-epsilon",
        NAME,
        "Divergence of the farthest attention, by how far the output may move",
        "The mean over documents, with a 95% band. Where the line is nearly flat, holding the "
        "output fixed costs attention little of its freedom; at the right end the output is free.",
        lines(drawn, models, x, "mean JSD, nats", (0, _MOST)),
    )


def _accuracy(models: Models, jsd: pd.DataFrame, accuracy: pd.DataFrame) -> Iterator[Chart]:
    """One point an ε, in its order, from the model's own attention on."""
    accuracies = of_column(models.numbers(NAME, DOCUMENT_COUNTS.id), VALUE)
    accuracies = accuracies[accuracies["row"] == "accuracy"]
    both = accuracy.merge(jsd[["model", "row", "value"]], on=["model", "row"], suffixes=("", "_x"))
    if both.empty:
        return
    start = accuracies.assign(row=_OWN, value_x=0.0)
    drawn = pd.concat([start, both], ignore_index=True)
    drawn["place"] = drawn.groupby("model", sort=False).cumcount()
    drawn = drawn.rename(columns={"value_x": "jsd", "value": "accuracy"})
    drawn = drawn[["model", "row", "place", "jsd", "accuracy", "low", "high", "n"]]
    colour, shape, dash = models.colour(), models.shape(), models.dash()
    x = alt.X(
        "jsd:Q",
        title=_JSD,
        scale=alt.Scale(domain=[0, _MOST], nice=False),
        axis=alt.Axis(tickCount=7),
    )
    title = "accuracy, %"
    least = 10 * (float(np.nanmin(drawn[["low", "accuracy"]].to_numpy(dtype=float))) // 10)
    scale = alt.Scale(domain=[least, 100], nice=False)
    y = alt.Y("accuracy:Q", title=title, scale=scale)
    base = alt.Chart().encode(x=x, y=y)
    rules = (
        alt.Chart()
        .mark_rule(strokeWidth=1, opacity=0.7)
        .encode(x=x, y=alt.Y("low:Q", title=title, scale=scale), y2="high:Q", color=colour)
    )
    line = base.mark_line(strokeWidth=2).encode(color=colour, strokeDash=dash, order="place:Q")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(color=colour, shape=shape)
    layers = [rules, line, points]
    if not models.several:
        labels = {_OWN: "own attention", ANY_OUTPUT: _row_title(ANY_OUTPUT)}
        drawn["label"] = drawn["row"].map(labels).fillna("")
        drawn["side"] = _sides(drawn, least)
        layers += texts(base, "label")
    width, height = _SIZE
    picture = alt.layer(*layers).properties(data=data(drawn), width=width, height=height)
    rows = ", ".join(_row_title(row) for row in dict.fromkeys(both["row"]))
    yield made(
        "adversary-accuracy",
        NAME,
        "Accuracy against divergence of attention",
        "From the left: the model's own attention, then the farthest attention for each bound on "
        f"the output ({rows}). Bars are 95% intervals. A line that stays high to the right shows "
        "attentions that have little in common with the model's own and decide as well.",
        picture,
    )


def _sides(drawn: pd.DataFrame, least: float) -> list[str]:
    """On which side of its point each label stands, of points that one line joins in order."""
    x = _SIZE[0] * drawn["jsd"].to_numpy(dtype=float) / _MOST
    values = drawn[["accuracy", "low", "high"]].to_numpy(dtype=float)
    y, low, high = _SIZE[1] * (100 - values).T / (100 - least)
    places = list(zip(x.tolist(), y.tolist(), strict=True))
    strokes = list(itertools.pairwise(places))
    strokes += [((x[k], low[k]), (x[k], high[k])) for k in np.flatnonzero(~np.isnan(low))]
    labels = {k: label for k, label in enumerate(drawn["label"]) if label}
    chosen = sides(labels, places, strokes, _SIZE, needed=list(labels))
    return [chosen.get(place, "") for place in range(len(drawn))]


def _row_title(row: str) -> str:
    return titles.row_title(ADVERSARY.id, row)

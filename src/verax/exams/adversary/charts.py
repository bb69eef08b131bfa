"""The most divergent attention that keeps the prediction (Jain & Wallace 2019, figures 6–8)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import data, histograms, lines, points_along, quantity
from verax.drawing.placing import label_sides, texts
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
            (0, _MOST),
            height=80,
            bins=14,
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
    x = quantity("jsd", _JSD, (0, _MOST), axis=alt.Axis(tickCount=7))
    least = 10 * (float(np.nanmin(drawn[["low", "accuracy"]].to_numpy(dtype=float))) // 10)
    fields = ("accuracy", "low", "high")
    base, rules = points_along(x, "accuracy, %", (least, 100), models, fields, strokeWidth=1)
    line = base.mark_line(strokeWidth=2).encode(color=colour, strokeDash=dash, order="place:Q")
    points = base.mark_point(filled=True, size=55, opacity=1).encode(color=colour, shape=shape)
    layers = [rules, line, points]
    if not models.several:
        labels = {_OWN: "own attention", ANY_OUTPUT: _row_title(ANY_OUTPUT)}
        drawn["label"] = drawn["row"].map(labels).fillna("")
        named = {place: label for place, label in enumerate(drawn["label"]) if label}
        drawn["side"] = label_sides(
            drawn[["jsd", *fields]].to_numpy(dtype=float),
            ((0, _MOST), (least, 100)),
            _SIZE,
            named,
            joined=range(len(drawn)),
            needed=list(named),
        )
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


def _row_title(row: str) -> str:
    return titles.row_title(ADVERSARY.id, row)

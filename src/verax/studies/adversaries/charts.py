"""Charts of adversaries that a study's cells have trained, a line a model.

Drawn from summaries (`verax.studies.adversaries.measures`), so over seeds where these are.
"""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import data, points_along, quantity, reach
from verax.drawing.series import Models, of_column
from verax.studies.adversaries.measures import CONTROLS, CURVE, MEAN, NAME, SEEDS, lambda_of
from verax.studies.adversaries.scores import BASE

_MOST = 0.7
"""ln 2 = 0.693 is the largest JSD there is."""
_ACCURACY = "accuracy"
_CURVE, _OTHERS, _BASE = "curve", "other seeds", "base"
_READING = (
    " Points are joined in order of λ, the weight on attending elsewhere ({lams}). Hollow diamonds "
    "are models that differ from the base only by seed, where there are any: the yardstick. "
    "Vertical lines are 95% intervals."
)


def charts(models: Models) -> Iterator[Chart]:
    """TVD and accuracy against JSD."""
    jsd = of_column(models.numbers(NAME, CURVE.id), "jsd")
    if jsd.empty:
        return
    lams = ", ".join(f"{lambda_of(row):g}" for row in dict.fromkeys(jsd["row"]))
    beside = _READING.format(lams=lams)
    yield from _chart(
        models,
        "tvd",
        "TVD of outputs from the base",
        "TVD of outputs against JSD of attentions",
        "How far the attention of each adversary is from the base's (JSD, right is farther) and "
        "how far its outputs are (TVD, down is nearer). A line that stays low as it goes right "
        f"shows attentions that differ much and say the same.{beside}",
    )
    yield from _chart(
        models,
        _ACCURACY,
        "accuracy, %",
        "Accuracy against JSD of attentions",
        "How far the attention of each adversary is from the base's, and how often it is right. "
        f"The base, where it was kept as a control, is at the left end.{beside}",
    )


def _chart(models: Models, column: str, axis: str, title: str, reading: str) -> Iterator[Chart]:
    points = _points(models, column)
    if points.empty:
        return
    most = 100.0 if column == _ACCURACY else reach(float(points["value"].max()))
    right = min(_MOST, reach(float(points["jsd"].max())))
    x = quantity("jsd", "JSD of attention from the base, nats", (0, right))
    base, rules = points_along(x, axis, (0, most), models, clip=True)
    along = alt.FieldOneOfPredicate(field="kind", oneOf=[_CURVE, _BASE])
    beside = alt.FieldEqualPredicate(field="kind", equal=_OTHERS)
    line = (
        base.transform_filter(along)
        .mark_line(strokeWidth=2)
        .encode(color=models.colour(), strokeDash=models.dash(), order="place:Q")
    )
    marks = base.transform_filter(along).mark_point(filled=True, size=60, opacity=1)
    others = base.transform_filter(beside).mark_point(
        filled=False, shape="diamond", size=110, strokeWidth=2, opacity=1
    )
    picture = alt.layer(
        rules,
        line,
        marks.encode(color=models.colour(), shape=models.shape()),
        others.encode(color=models.colour()),
    )
    picture = picture.properties(data=data(points), width=460, height=260)
    yield made(f"adversaries-{column}", NAME, title, reading, picture)


def _points(models: Models, column: str) -> pd.DataFrame:
    """model, kind, row, place, jsd, and value with its interval."""
    curve, seeds = models.numbers(NAME, CURVE.id), models.numbers(NAME, SEEDS.id)
    seeds = seeds[seeds["row"] == MEAN]
    parts = [
        _joined(curve, column).assign(kind=_CURVE),
        _joined(seeds, column).assign(kind=_OTHERS),
    ]
    if column == _ACCURACY:
        controls = of_column(models.numbers(NAME, CONTROLS.id), column)
        base = controls[controls["row"] == BASE]
        parts.insert(0, base.assign(kind=_BASE, jsd=0.0))
    points = pd.concat([part for part in parts if len(part)], ignore_index=True)
    points["place"] = points.groupby("model", sort=False).cumcount()
    return points[["model", "kind", "row", "place", "jsd", "value", "low", "high"]]


def _joined(numbers: pd.DataFrame, column: str) -> pd.DataFrame:
    jsd = of_column(numbers, "jsd").rename(columns={"value": "jsd"})
    values = of_column(numbers, column)
    return values.merge(jsd[["model", "row", "jsd"]], on=["model", "row"])

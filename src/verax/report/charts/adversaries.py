"""Trained adversaries: their outputs against their attention (Wiegreffe & Pinter 2019)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import data, points_along, quantity, reach
from verax.drawing.names import shortened
from verax.drawing.placing import label_sides, texts
from verax.drawing.series import Models, Series, of_column
from verax.exams import titles
from verax.studies.adversaries import (
    CONTROLS_TABLE,
    CURVE,
    MEAN,
    NAME,
    SEEDS_TABLE,
    Adversaries,
    lambda_of,
)
from verax.studies.adversary_scores import BASE

_ADVERSARIES = "adversaries, one a λ"
_SEEDS = "other seeds of the base"
_MOST = 0.7
"""ln 2 = 0.693 is the largest JSD there is."""
_LINE, _OTHERS, _BASE = "curve", "other seeds", "base"
_SIZE = (460, 260)
_MEASURES = {
    "tvd": (
        "TVD of outputs against JSD of attentions",
        "TVD of outputs from the base",
        "A point an adversary: how far its attention is from the base's (JSD, right is farther) "
        "and how far its outputs are (TVD, down is nearer). A line that stays low as it goes right "
        "shows attentions that differ much and say the same.",
    ),
    "accuracy": (
        "Accuracy against JSD of attentions",
        "accuracy",
        "A point an adversary: how far its attention is from the base's, and how often it is "
        "right. The base is at the left end.",
    ),
}

_READING = (
    " Points are joined in order of λ, the weight on attending elsewhere ({lams}). Hollow diamonds "
    "are models that differ from the base only by seed, where there are any: the yardstick. "
    "Vertical lines are 95% intervals."
)


def charts(adversaries: Adversaries) -> Iterator[Chart]:
    """The curve over λ, with the yardstick and the controls on the same axes."""
    points = _points(adversaries)
    for measure, (title, axis, reading) in _MEASURES.items():
        measured = points[points[measure].notna() & points["jsd"].notna()]
        if (measured["kind"] == _ADVERSARIES).any():
            reading += (
                " Adversaries are joined in order of λ, the weight on attending elsewhere; the "
                "one chosen on validation is labelled, and others where there is room. Beside them "
                "stand models that differ from the base only by seed, the yardstick, and controls. "
                "Lines are 95% intervals."
            )
            yield _curve(measured, measure, title, axis, reading)


def _points(adversaries: Adversaries) -> pd.DataFrame:
    """kind, label, place, and of jsd, tvd, accuracy each value with its interval."""
    curve = adversaries.points()
    curve = curve.assign(kind=_ADVERSARIES, place=range(len(curve)))
    curve["label"] = [
        f"λ {lam:g}{', chosen' if chosen else ''}"
        for lam, chosen in curve[["lam", "chosen"]].itertuples(index=False)
    ]
    curve["first"] = [0 if chosen else 1 for chosen in curve["chosen"]]
    yard = adversaries.yardstick().set_index("measure")
    other = {"kind": _SEEDS, "place": 0, "label": "", "first": 1}
    for name in ("jsd", "tvd", "accuracy"):
        ends_of = dict(
            zip((name, f"{name}_low", f"{name}_high"), ("mean", "low", "high"), strict=True)
        )
        other |= {column: yard.loc[name, source] for column, source in ends_of.items()}
    controls = (
        adversaries.controls().rename(columns={"name": "kind"}).assign(place=0, label="", first=1)
    )
    base = controls["kind"] == BASE
    controls.loc[base, ["jsd", "tvd"]] = 0.0
    controls["kind"] = [titles.row_title(CONTROLS_TABLE.id, str(name)) for name in controls["kind"]]
    points = pd.concat([curve, pd.DataFrame([other]), controls], ignore_index=True)
    columns = [f"{n}{end}" for n in ("jsd", "tvd", "accuracy") for end in ("", "_low", "_high")]
    points = points[["kind", "place", "label", "first", *columns]]
    names = shortened(list(dict.fromkeys(points["kind"])))
    return points.assign(kind=points["kind"].map(names))


def _curve(points: pd.DataFrame, measure: str, title: str, axis: str, reading: str) -> Chart:
    series = Series("kind", list(dict.fromkeys(points["kind"])))
    most = reach(points[measure].max()) if measure == "tvd" else 1.0
    right = min(_MOST, reach(points["jsd"].max()))
    x = quantity("jsd", "JSD of attention from the base, nats", (0, right))
    fields = (measure, f"{measure}_low", f"{measure}_high")
    base, rules = points_along(x, axis, (0, most), series, fields, clip=True)
    along = alt.FieldEqualPredicate(field="kind", equal=_ADVERSARIES)
    line = (
        base.transform_filter(along)
        .mark_line(strokeWidth=2)
        .encode(color=series.colour(), order="place:Q")
    )
    marks = base.mark_point(filled=True, size=60, opacity=1).encode(
        color=series.colour(), shape=series.shape()
    )
    drawn = points.assign(side=_sides(points, measure, right, most)).drop(columns="first")
    layered = alt.layer(rules, line, marks, *texts(base, "label"))
    picture = layered.properties(data=data(drawn), width=_SIZE[0], height=_SIZE[1])
    return made(f"adversaries-{measure}", "adversaries", title, reading, picture)


def _sides(points: pd.DataFrame, measure: str, right: float, top: float) -> list[str]:
    """On which side of its point each label stands; none where it would stand on something.

    The chosen λ comes first, then the last, which is farthest from the base.
    """
    curve = points.assign(at=range(len(points)))
    curve = curve[curve["kind"] == _ADVERSARIES].sort_values("place")
    joined = curve["at"].tolist()
    curve = curve.sort_values(["first", "place"], ascending=[True, False])
    return label_sides(
        points[["jsd", measure, f"{measure}_low", f"{measure}_high"]].to_numpy(dtype=float),
        ((0, right), (0, top)),
        _SIZE,
        dict(zip(curve["at"].tolist(), curve["label"].astype(str), strict=True)),
        joined,
        needed=curve.loc[curve["first"] == 0, "at"].tolist(),
    )


def charts_of_cells(models: Models) -> Iterator[Chart]:
    """TVD and accuracy against JSD, a line for each model of a study, over its seeds."""
    jsd = of_column(models.numbers(NAME, CURVE.id), "jsd")
    if jsd.empty:
        return
    lams = ", ".join(f"{lambda_of(row):g}" for row in dict.fromkeys(jsd["row"]))
    beside = _READING.format(lams=lams)
    yield from _chart_of_cells(
        models,
        "tvd",
        "TVD of outputs from the base",
        "TVD of outputs against JSD of attentions",
        "How far the attention of each adversary is from the base's (JSD, right is farther) and "
        "how far its outputs are (TVD, down is nearer). A line that stays low as it goes right "
        f"shows attentions that differ much and say the same.{beside}",
    )
    yield from _chart_of_cells(
        models,
        "accuracy",
        "accuracy, %",
        "Accuracy against JSD of attentions",
        "How far the attention of each adversary is from the base's, and how often it is right. "
        f"The base, where it was kept as a control, is at the left end.{beside}",
    )


def _chart_of_cells(
    models: Models, column: str, axis: str, title: str, reading: str
) -> Iterator[Chart]:
    points = _points_of_cells(models, column)
    if points.empty:
        return
    most = 100.0 if column == "accuracy" else reach(float(points["value"].max()))
    right = min(_MOST, reach(float(points["jsd"].max())))
    x = quantity("jsd", "JSD of attention from the base, nats", (0, right))
    base, rules = points_along(x, axis, (0, most), models, clip=True)
    along = alt.FieldOneOfPredicate(field="kind", oneOf=[_LINE, _BASE])
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


def _points_of_cells(models: Models, column: str) -> pd.DataFrame:
    """model, kind, row, place, jsd, and value with its interval."""
    curve, seeds = models.numbers(NAME, CURVE.id), models.numbers(NAME, SEEDS_TABLE.id)
    seeds = seeds[seeds["row"] == MEAN]
    parts = [
        _joined(curve, column).assign(kind=_LINE),
        _joined(seeds, column).assign(kind=_OTHERS),
    ]
    if column == "accuracy":
        controls = of_column(models.numbers(NAME, CONTROLS_TABLE.id), column)
        base = controls[controls["row"] == BASE]
        parts.insert(0, base.assign(kind=_BASE, jsd=0.0))
    points = pd.concat([part for part in parts if len(part)], ignore_index=True)
    points["place"] = points.groupby("model", sort=False).cumcount()
    return points[["model", "kind", "row", "place", "jsd", "value", "low", "high"]]


def _joined(numbers: pd.DataFrame, column: str) -> pd.DataFrame:
    jsd = of_column(numbers, "jsd").rename(columns={"value": "jsd"})
    values = of_column(numbers, column)
    return values.merge(jsd[["model", "row", "jsd"]], on=["model", "row"])

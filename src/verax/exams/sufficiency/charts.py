"""Probability without the words that rank first, and with these alone, beside chance and best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, means, panels
from verax.drawing.rendering import CATEGORIES, INK
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.sufficiency.measures import (
    AT,
    BEST,
    COMPREHENSIVENESS,
    GAIN,
    NAME,
    NORMALISED,
    RANDOM,
    RANKED,
    SUFFICIENCY,
    percentage_of,
)

_PANELS = {
    COMPREHENSIVENESS: "comprehensiveness: lost without them, higher is better",
    SUFFICIENCY: "sufficiency: lost with them alone, lower is better",
}
_COLOURS = CATEGORIES[:-1]
"""Without the last, which looks like ink."""
_DASHES = ([1, 0], [4, 3], [1, 2])


def charts(models: Models) -> Iterator[Chart]:
    """Curves over percentages, their means on the scale of all words, and gains over chance."""
    numbers = models.numbers(NAME, RANKED.id)
    if numbers.empty:
        return
    names = {row: titles.row_title(RANKED.id, row) for row in dict.fromkeys(numbers["row"])}
    yield _curves(models, names)
    drawn = _by_measure(numbers, NORMALISED, names)
    if len(drawn):
        yield made(
            "sufficiency-normalised",
            NAME,
            "How much of all words' effect the words have that rank first",
            "What the decision loses without the words that a score ranks first, and what it keeps "
            "with these alone, divided by what it loses without any words; further right is better "
            f"in both. Means over percentages of the words. {INTERVALS}",
            means(drawn, models, "share of all words' effect", (0, 1)),
        )
    gains = _by_measure(numbers[~numbers["row"].isin((RANDOM, BEST))], GAIN, names)
    if len(gains):
        low = min(0.0, float(gains[["value", "low"]].min().min()))
        yield made(
            "sufficiency-gain",
            NAME,
            "How far each ranking goes from random order to the best sets of words found",
            "0 is random order, 100 the best sets found; a ranking left of 0 is worse than chance. "
            f"{INTERVALS}",
            means(gains, models, "% of the way", (low, 100), zero=True),
        )


def _by_measure(
    numbers: pd.DataFrame, columns: dict[str, str], names: dict[str, str]
) -> pd.DataFrame:
    """A panel for each of the two measures, rankings by the mean of both, the best first."""
    parts = [
        of_column(numbers, column).assign(panel=measure) for measure, column in columns.items()
    ]
    both = pd.concat(parts, ignore_index=True)
    order = both.groupby("row")["value"].mean().sort_values(ascending=False, kind="stable")
    place = {row: k for k, row in enumerate(order.index)}
    ordered = both.sort_values("row", key=lambda rows: rows.map(place), kind="stable")
    return ordered.sort_values("panel", kind="stable").replace({"row": names})


def _curves(models: Models, names: dict[str, str]) -> Chart:
    parts = []
    for measure, panel in _PANELS.items():
        part = models.numbers(NAME, AT[measure].id)
        several = part["model"] + ", " if models.several else ""
        parts.append(part.assign(panel=several + panel))
    drawn = pd.concat(parts, ignore_index=True)
    drawn["percentage"] = [float(percentage_of(str(c)) or "nan") for c in drawn["column"]]
    drawn = drawn.replace({"row": names})
    kept = drawn[["model", "panel", "row", "percentage", "value"]]
    order = list(dict.fromkeys(kept["row"]))
    x = alt.X("percentage:O", title="% of the words, the most important first", axis=_upright())
    y = alt.Y("value:Q", title="probability lost", axis=alt.Axis(tickCount=5))
    chart = (
        alt.Chart()
        .mark_line(strokeWidth=1.8)
        .encode(x=x, y=y, **_told_apart(order, [names[BEST], names[RANDOM]]))
        .properties(width=440, height=200)
    )
    return made(
        "sufficiency-curves",
        NAME,
        "Probability lost without the words that rank first, and with these alone",
        "The words that a score ranks first are taken out of the text, and then left alone in it. "
        "A score that finds the words that decide is far from random order and near the best sets "
        "found, both in the colour of the text; a better set than these may exist.",
        panels(chart, kept, y="independent"),
    )


def _upright() -> alt.Axis:
    return alt.Axis(labelAngle=0)


def _told_apart(order: Sequence[str], in_ink: Sequence[str]) -> dict[str, Any]:
    """Colour and dash of each ranking; where colours begin again, lines are dashed.

    Args:
        order: the rankings.
        in_ink: those to hold the others against.
    """
    colours, dashes = {}, {}
    for k, name in enumerate([name for name in order if name not in in_ink]):
        colours[name] = _COLOURS[k % len(_COLOURS)]
        dashes[name] = _DASHES[k // len(_COLOURS) % len(_DASHES)]
    for k, name in enumerate(in_ink):
        colours[name], dashes[name] = INK, _DASHES[k]
    names = list(colours)
    legend = alt.Legend(
        title=None,
        columns=2,
        orient="bottom",
        labelLimit=230,
        symbolType="stroke",
        symbolSize=500,
        symbolStrokeWidth=2,
    )
    return {
        "color": alt.Color(
            "row:N", legend=legend, scale=alt.Scale(domain=names, range=list(colours.values()))
        ),
        "strokeDash": alt.StrokeDash(
            "row:N", legend=legend, scale=alt.Scale(domain=names, range=list(dashes.values()))
        ),
    }

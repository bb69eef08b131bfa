"""Words taken out before a decision changes, by each ranking, beside chance and the smallest."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, intervals, means, panels, reach
from verax.drawing.rendering import CATEGORIES
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.deletion.measures import BEST, DELETION, EXACT, KEPT, NAME, RANDOM

_SMALLEST = "smallest found"
_GRID = [k / 20 for k in range(21)]


def charts(models: Models) -> Iterator[Chart]:
    """Shares of words by ranking, the best first, and how far each goes from chance to the best."""
    numbers = models.numbers(NAME, DELETION.id)
    shares = of_column(numbers, "share")
    if shares.empty:
        return
    least = of_column(models.numbers(NAME, BEST.id), "upper_share").assign(row=_SMALLEST)
    names = {row: titles.row_title(DELETION.id, row) for row in dict.fromkeys(shares["row"])}
    drawn = pd.concat([least, _by_mean(shares).replace({"row": names})], ignore_index=True)
    yield made(
        "deletion-share",
        NAME,
        "Share of the words taken out before the decision changes",
        "Words go in the order of a ranking, most important first, and what is left is read again, "
        "until the decision changes; further left is better. A decision that a ranking never "
        "changes counts as all words. Smallest found is the upper bound of the smallest set: where "
        f"the bounds do not meet, the true one may be smaller still. {INTERVALS}",
        means(drawn.assign(panel=""), models, "share of words", (0, 1)),
    )
    yield from _curves(models, names)
    yield from _bounds(models)
    yield from _exact(models)
    gains = of_column(numbers, "gain")
    gains = _by_mean(gains[gains["row"] != RANDOM], rising=False)
    if len(gains):
        low = min(0.0, float(gains[["value", "low"]].min().min()))
        yield made(
            "deletion-gain",
            NAME,
            "How far each ranking goes from random order to the smallest sets",
            "0 is random order, 100 the smallest sets of words found to change decisions; a "
            f"ranking left of 0 is worse than chance. {INTERVALS}",
            means(gains.assign(panel=""), models, "% of the way", (low, 100), zero=True),
        )


def _curves(models: Models, names: dict[str, str]) -> Iterator[Chart]:
    """How many decisions have changed by the time that a share of the words is gone."""
    table = models.table(NAME)
    if table.empty:
        return
    taken = table[table["measure"] == "share"]
    curves = [
        pd.DataFrame(
            {
                "model": model,
                "ranking": names.get(str(ranking), str(ranking)),
                "gone": _GRID,
                "changed": [100 * float((rows["value"] <= share).mean()) for share in _GRID],
            }
        )
        for (model, ranking), rows in taken.groupby(["model", "ranking"], sort=False, observed=True)
    ]
    drawn = pd.concat(curves, ignore_index=True).assign(panel=lambda f: f["model"])
    if not models.several:
        drawn["panel"] = ""
    order = list(dict.fromkeys(drawn.sort_values("changed", ascending=False)["ranking"]))
    chart = (
        alt.Chart()
        .mark_line(strokeWidth=1.8, interpolate="step-after")
        .encode(
            x=alt.X("gone:Q", title="share of the words taken out", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("changed:Q", title="decisions changed, %", scale=alt.Scale(domain=[0, 100])),
            color=alt.Color(
                "ranking:N",
                sort=order,
                scale=alt.Scale(domain=order, range=[*CATEGORIES, *CATEGORIES][: len(order)]),
                legend=alt.Legend(title=None, columns=2, orient="bottom", labelLimit=230),
            ),
            strokeDash=alt.StrokeDash(
                "ranking:N",
                scale=alt.Scale(
                    domain=order,
                    range=[[4, 3] if k >= len(CATEGORIES) else [1, 0] for k in range(len(order))],
                ),
                legend=None,
            ),
        )
        .properties(width=440, height=240)
    )
    yield made(
        "deletion-curves",
        NAME,
        "Decisions changed by the time that a share of the words is gone",
        "Words go in the order of a ranking. A curve that rises early finds the words that decide; "
        "one below that of random order is worse than chance. A curve that stays below 100 has "
        "documents whose decision the ranking never changes.",
        panels(chart, drawn),
    )


def _bounds(models: Models) -> Iterator[Chart]:
    """From the lower to the upper bound of the smallest sets, on average over documents."""
    parts = []
    for table, title in ((BEST, "set that changes it"), (KEPT, "set that alone keeps it")):
        numbers = models.numbers(NAME, table.id)
        lower, upper = (of_column(numbers, name) for name in ("lower", "upper"))
        if lower.empty:
            continue
        ends = upper.merge(lower[["model", "row", "value"]], on=["model", "row"], how="inner")
        parts.append(
            ends.assign(row=title, value=ends["value_x"], low=ends["value_y"], high=ends["value_x"])
        )
    if not parts:
        return
    drawn = pd.concat(parts, ignore_index=True).assign(panel="")
    yield made(
        "deletion-bounds",
        NAME,
        "Words of the smallest sets: between the two bounds",
        "For each question a line from the mean of the lower bounds to that of the upper bounds, "
        "where the point is. The mean over the true smallest sets is on the line. A point alone is "
        "exact. The first is over documents that change when part of their words is gone.",
        intervals(
            drawn[["model", "panel", "row", "value", "low", "high", "n"]],
            models,
            "words",
            list(dict.fromkeys(drawn["row"])),
            (0, reach(float(drawn["value"].max()))),
        ),
    )


def _exact(models: Models) -> Iterator[Chart]:
    """The share of documents whose bounds meet, by length."""
    numbers = models.numbers(NAME, EXACT.id)
    panels_of = {"exact": "set that changes it", "sufficient_exact": "set that alone keeps it"}
    parts = [of_column(numbers, name).assign(panel=title) for name, title in panels_of.items()]
    drawn = pd.concat(parts, ignore_index=True)
    if drawn.empty:
        return
    names = {row: titles.row_title(EXACT.id, row) for row in dict.fromkeys(drawn["row"])}
    yield made(
        "deletion-exact",
        NAME,
        "Documents whose smallest set is known exactly",
        "The lower and the upper bound meet, or it is proven that no set will do. Longer documents "
        f"have more sets than a budget of passes can ask about. {INTERVALS}",
        means(drawn.replace({"row": names}), models, "% of documents", (0, 100), bars=True),
    )


def _by_mean(numbers: pd.DataFrame, rising: bool = True) -> pd.DataFrame:
    """Rows in the order of their mean over models."""
    order = numbers.groupby("row")["value"].mean().sort_values(ascending=rising, kind="stable")
    place = {row: k for k, row in enumerate(order.index)}
    return numbers.sort_values("row", key=lambda rows: rows.map(place), kind="stable")

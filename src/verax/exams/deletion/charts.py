"""Words taken out before a decision changes, by each ranking, beside chance and the smallest."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, means, panels
from verax.drawing.rendering import CATEGORIES
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.deletion.measures import BEST, DELETION, NAME, RANDOM

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
        "changes counts as all words. Smallest found is the smallest set by any ranking, pruned: "
        f"the true one may be smaller still. {INTERVALS}",
        means(drawn.assign(panel=""), models, "share of words", (0, 1)),
    )
    yield from _curves(models, names)
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


def _by_mean(numbers: pd.DataFrame, rising: bool = True) -> pd.DataFrame:
    """Rows in the order of their mean over models."""
    order = numbers.groupby("row")["value"].mean().sort_values(ascending=rising, kind="stable")
    place = {row: k for k, row in enumerate(order.index)}
    return numbers.sort_values("row", key=lambda rows: rows.map(place), kind="stable")

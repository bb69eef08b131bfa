"""ΔJS against Δα, its negatives, and box plots of what is erased (Serrano & Smith 2019)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.drawing.chart import Chart
from verax.drawing.forms import boxes
from verax.drawing.series import Series
from verax.exams.erasure.charts.many import in_order
from verax.exams.erasure.charts.single import POINTS, negative_bars, scatter
from verax.report.charts.paper_frames import Shown, around, drawn

BOX = {
    "whisker low": "whisker_low",
    "q1": "q1",
    "median": "median",
    "q3": "q3",
    "whisker high": "whisker_high",
    "mean": "mean",
}
"""Measures that a box is drawn from → columns of the form."""
DELTA_ALPHA, DELTA_JS = "delta_alpha", "ΔJS"
_RANDOM = "random"
_TENTH = 0.05


def delta_js(shown: Shown) -> Iterator[Chart]:
    """A scatter plot of ΔJS against Δα, a point a document."""
    shown = shown.where(measure=DELTA_JS)
    rows = shown.rows.assign(model=shown.labels(_names(shown)))
    rows = rows.rename(columns={"value": "delta_js"})[["model", DELTA_ALPHA, "delta_js"]]
    reading = (
        "A point a document: how much more the output moves when the item with most weight is "
        "erased than when a random other is (ΔJS), against how much more weight it had (Δα)."
    )
    if len(rows) > POINTS:
        chosen = np.sort(np.random.default_rng(0).permutation(len(rows))[:POINTS])
        rows = rows.iloc[chosen].reset_index(drop=True)
        reading += f" {POINTS:,} points are drawn, picked at random."
    rows["model"] = rows["model"].astype(str)
    series = Series("model", list(dict.fromkeys(rows["model"])))
    yield drawn(shown, "", reading, scatter(series, rows), several=False)


def negatives(shown: Shown) -> Iterator[Chart]:
    """Bars of the documents of each tenth of Δα, and of those with a negative ΔJS."""
    shown = shown.where(measure=["documents", "negative"])
    rows = shown.rows.assign(model=shown.labels(_names(shown)))
    rows = rows[rows[DELTA_ALPHA].notna()]
    kinds = {"documents": "all", "negative": "with ΔJS < 0"}
    bars = rows[["model", "value"]].assign(
        kind=rows["measure"].map(kinds),
        low=(rows[DELTA_ALPHA] - _TENTH).round(3),
        high=(rows[DELTA_ALPHA] + _TENTH).round(3),
    )
    bars["order"] = (rows["measure"] == "negative").astype(int)
    bars = bars.sort_values("order", kind="stable").drop(columns="order")
    series = Series("model", list(dict.fromkeys(bars["model"])))
    reading = (
        "For each tenth of Δα, all documents (grey) and those where a random item mattered more "
        "than the top one (coloured); means over seeds."
    )
    yield drawn(shown, "", reading, negative_bars(series, bars), several=False)


def box_plots(shown: Shown) -> Iterator[Chart]:
    """Box plots of what is erased; quartiles and whiskers are means over seeds."""
    shown = shown.where(measure=list(BOX))
    by = "ranking" if "ranking" in shown.rows else shown.varying()[-1]
    panel = shown.labels([*shown.corpus, *shown.varying(by)])
    rows = shown.rows.assign(row=shown.labels([by]), panel=panel)
    wide = rows.pivot_table(
        index=["panel", "row"], columns="measure", values="value", sort=False
    ).reset_index()
    wide = _without_first_draw(wide.rename(columns=BOX)).assign(line="")
    ends = wide[["whisker_low", "whisker_high"]].set_axis(["value", "published"], axis=1)
    reading = (
        "A box is from the first quartile to the third, with the median in it and the mean as a "
        "point; whiskers are as far as 1.5 times that. Farther left is better: fewer go before "
        "the decision flips. No order can do better than optimum."
    )
    low, high = around(ends)
    axis, domain = "erased when the decision flips", (min(0.0, low), high)
    picture = boxes(wide, Series("line", [""]), axis, in_order(wide), domain)
    yield drawn(shown, "", reading, picture, several=False)


def _without_first_draw(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without the first random draw, where there is also the mean over all draws."""
    averaged = rows["row"].astype(str).str.startswith(f"{_RANDOM} (").any()
    return rows[rows["row"] != _RANDOM] if averaged else rows


def _names(shown: Shown) -> list[str]:
    return [*shown.corpus, *shown.varying(DELTA_ALPHA, "document")]

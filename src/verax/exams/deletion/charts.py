"""Words taken out before a decision changes, by each ranking, beside chance and the smallest."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, means
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.deletion.measures import BEST, DELETION, NAME, RANDOM

_SMALLEST = "smallest found"


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


def _by_mean(numbers: pd.DataFrame, rising: bool = True) -> pd.DataFrame:
    """Rows in the order of their mean over models."""
    order = numbers.groupby("row")["value"].mean().sort_values(ascending=rising, kind="stable")
    place = {row: k for k, row in enumerate(order.index)}
    return numbers.sort_values("row", key=lambda rows: rows.map(place), kind="stable")

"""AUPRC and F1 of each ranking against people's marks, beside the baselines."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, means
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.plausibility.measures import NAME, PLAUSIBILITY

_PANELS = ("token_f1", "iou_f1")


def charts(models: Models) -> Iterator[Chart]:
    """AUPRC by ranking, the best first; token-F1 and IOU-F1, a panel each."""
    numbers = models.numbers(NAME, PLAUSIBILITY.id)
    auprc = of_column(numbers, "auprc")
    if auprc.empty:
        return
    order = auprc.groupby("row")["value"].mean().sort_values(ascending=False, kind="stable").index
    place = {row: k for k, row in enumerate(order)}
    rows = {row: titles.row_title(PLAUSIBILITY.id, str(row)) for row in order}

    def drawn(frame: pd.DataFrame) -> pd.DataFrame:
        ordered = frame.sort_values("row", key=lambda r: r.map(place), kind="stable")
        return ordered.assign(row=ordered["row"].map(rows))

    yield made(
        "plausibility-auprc",
        NAME,
        "How well each ranking finds the words that people marked",
        "The area under the precision–recall curve of each document, on average; 1 is a ranking "
        "that has every marked word before all others. A score no better than a baseline knows "
        "nothing of people's reasons. Plausible is not faithful: this says nothing of what the "
        f"model used. {INTERVALS}",
        means(drawn(auprc).assign(panel=""), models, "AUPRC", (0, 1)),
    )
    panels = {column: titles.column_title(PLAUSIBILITY.id, column) for column in _PANELS}
    scores = pd.concat([drawn(of_column(numbers, column)) for column in _PANELS], ignore_index=True)
    yield made(
        "plausibility-f1",
        NAME,
        "The first words of each ranking against the words that people marked",
        "As many words as people marked. Token-F1 counts words; IOU-F1 counts runs of words that "
        f"overlap with a marked run by at least half of their union. {INTERVALS}",
        means(scores.assign(panel=scores["column"].map(panels)), models, "F1", (0, 1)),
    )

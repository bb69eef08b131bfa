"""F1, accuracy and survival under other attentions (Tutek & Šnajder 2020, tables 1 and 6)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import means
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.replacement.measures import NAME, REPLACEMENT, TRAINED

_SURVIVAL = "survival"
_PANELS = ("f1", "macro_f1", "accuracy", _SURVIVAL)


def charts(models: Models) -> Iterator[Chart]:
    """Bars under each attention, a panel a score."""
    numbers = models.numbers(NAME, REPLACEMENT.id)
    # a decision survives its own attention by definition
    numbers = numbers[(numbers["column"] != _SURVIVAL) | (numbers["row"] != TRAINED)]
    drawn = pd.concat([of_column(numbers, column) for column in _PANELS], ignore_index=True)
    if drawn.empty:
        return
    panels = {column: titles.column_title(REPLACEMENT.id, column) for column in _PANELS}
    rows = {row: titles.row_title(REPLACEMENT.id, row) for row in dict.fromkeys(drawn["row"])}
    drawn = drawn.assign(panel=drawn["column"].map(panels), row=drawn["row"].map(rows))
    yield made(
        "replacement-scores",
        NAME,
        "What becomes of decisions when attention is made uniform, or permuted",
        "The items stay as they are, the weights are replaced. Bars that are as long as under "
        "trained attention, and decisions that nearly all survive, mean that the model does not "
        "notice what it attends to. Lines are 95% intervals; permuted is the mean over random "
        "orders.",
        means(drawn, models, "percent", (0, 100), bars=True),
    )

"""F1, accuracy and survival under other attentions (Tutek & Šnajder 2020, tables 1 and 6).

Of a Transformer also a map: what becomes of decisions when one layer, or one head, is uniform."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import means
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.place_maps import place_map
from verax.exams.replacement.measures import NAME, PLACES, REPLACEMENT, TRAINED

_SURVIVAL = "survival"
_PANELS = ("f1", "macro_f1", "accuracy", _SURVIVAL)


def charts(models: Models) -> Iterator[Chart]:
    """Bars under each attention, a panel a score; of a Transformer a map of its places."""
    yield from _scores(models)
    yield from _map(models)


def _scores(models: Models) -> Iterator[Chart]:
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
        "The weights are replaced, and all else stays. Bars that are as long as under "
        "trained attention, and decisions that nearly all survive, mean that the model does not "
        "notice what it attends to. Lines are 95% intervals; permuted is the mean over random "
        "orders.",
        means(drawn, models, "percent", (0, 100), bars=True),
    )


def _map(models: Models) -> Iterator[Chart]:
    drawn = of_column(models.numbers(NAME, PLACES.id), "uniform_survival")
    if drawn.empty:
        return
    least = min(90.0, 10 * (float(drawn["value"].min()) // 10))
    yield made(
        "replacement-places",
        NAME,
        "Decisions that survive where one layer, or one head, attends uniformly",
        "A cell is a head, the first of its row the whole layer: the percentage of decisions that "
        "stay the same when its attention, and no other, is made uniform. Where nearly all stay, "
        "the model does not notice what is attended to there; the stronger the colour, the fewer.",
        place_map(drawn, models, "percent that stay", (100, least), 0),
    )

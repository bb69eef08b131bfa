"""F1, accuracy and survival under other attentions (Tutek & Šnajder 2020, tables 1 and 6)."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.report.charts.chart import Chart, made
from verax.report.charts.forms import intervals
from verax.report.charts.series import Models

_PANELS = ("F1", "macro F1", "accuracy", "decisions that survive")


def charts(models: Models) -> Iterator[Chart]:
    numbers = models.numbers("replacement", "replacement")
    numbers = numbers[numbers["column"].isin(_PANELS) & numbers["value"].notna()]
    if numbers.empty:
        return
    # a decision survives its own attention by definition
    own = (numbers["column"] == "decisions that survive") & (numbers["row"] == "trained")
    numbers = numbers[~own]
    kinds = numbers["row"].str.replace(r" \(\d+ draws\)", "", regex=True)
    numbers = numbers.assign(panel=numbers["column"], row=kinds)
    parts = [numbers[numbers["panel"] == name] for name in _PANELS]
    found = pd.concat(parts, ignore_index=True)
    found = found[["model", "panel", "row", "value", "low", "high", "n"]]
    yield made(
        "replacement-scores",
        "replacement",
        "What becomes of decisions when attention is made uniform, or permuted",
        "The items stay as they are, the weights are replaced. Bars that are as long as under "
        "trained attention, and decisions that nearly all survive, mean that the model does not "
        "notice what it attends to. Lines are 95% intervals; permuted is the mean over random "
        "orders.",
        intervals(found, models, "percent", list(dict.fromkeys(found["row"])), (0, 100), bars=True),
    )

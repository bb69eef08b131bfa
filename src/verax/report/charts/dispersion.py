"""How spread attention and influence are: normalised entropies (Meister et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.report.charts.chart import Chart, made
from verax.report.charts.forms import box_numbers, boxes, histograms
from verax.report.charts.series import Models, of_column

_TITLE = "normalised entropy"
_NAMES = {
    "attention": ("attention", "attention, over items"),
    "norm": ("gradient on an item's magnitude", "gradient, of inputs on an item's magnitude"),
    "frobenius": ("gradient on an item", "gradient, of inputs on an item"),
}
"""What a table calls it → what a chart does, and what a summary does."""


def charts(models: Models) -> Iterator[Chart]:
    parts = [
        table[table["measure"] == "entropy"].rename(columns={column: "of"})
        for name, column in (("dispersion", "of"), ("dispersion_influence", "kind"))
        if len(table := models.table(name))
    ]
    if not parts:
        return
    values = pd.concat(parts, ignore_index=True)
    values = values[values["value"].notna()].assign(of=values["of"].astype(str))
    if values.empty:
        return
    names = {of: _named(of) for of in dict.fromkeys(values["of"])}
    drawn = values.assign(panel=values["of"].map(lambda of: names[of][0]))
    yield made(
        "dispersion-histogram",
        "dispersion",
        "How spread attention is, and how spread the influence of words",
        "How normalised entropy is spread over documents: 0 where one position has everything, 1 "
        "where all have the same. Attention on few items (its mass at the left) says little of few "
        "words if the influence of words on an item, or on the output, is spread over all (its "
        "mass at the right).",
        histograms(drawn, models, _TITLE, np.linspace(0, 1, 21).round(6).tolist(), height=80),
    )
    yield _boxes(models, values, names)


def _boxes(models: Models, values: pd.DataFrame, names: dict[str, tuple[str, str]]) -> Chart:
    rows = [
        {"model": model, "of": of} | box_numbers(part["value"])
        for (model, of), part in values.groupby(["model", "of"], sort=False)
    ]
    found = pd.DataFrame(rows)
    numbers = of_column(models.numbers("dispersion", "entropy"), "mean")
    means = {(m, r): v for m, r, v in numbers[["model", "row", "value"]].itertuples(index=False)}
    found["mean"] = [
        means.get((model, names[of][1]))
        for model, of in zip(found["model"], found["of"], strict=True)
    ]
    found = found.assign(row=found["of"].map(lambda of: names[of][0]), panel="")
    order = list(dict.fromkeys(found["row"]))
    return made(
        "dispersion-entropy",
        "dispersion",
        "Normalised entropy of attention and of influence",
        "A box holds the middle half of the documents, its line is the median, the point the mean; "
        "whiskers reach 1.5 times the box's length. Of an item, a document's value is the mean "
        "over its items.",
        boxes(found.drop(columns="of"), models, _TITLE, order, (0, 1)),
    )


def _named(of: str) -> tuple[str, str]:
    return _NAMES.get(of, (f"{of} on the output", f"{of}, of inputs on the output"))

"""Means with their intervals, for exams whose charts show documents, where there are none.

As of a study that was packed without its tables by document.
"""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from verax.exams.agreement.exam import ATTENTION, DELETION
from verax.report.charts.chart import Chart, made
from verax.report.charts.forms import intervals
from verax.report.charts.series import Models, of_column

_INTERVALS = "A point is a mean, a line its 95% interval."


def charts(models: Models) -> Iterator[Chart]:
    """Of each exam that has numbers and no table."""
    if models.table("agreement").empty:
        yield from _agreement(models)
    if models.table("dispersion").empty and models.table("dispersion_influence").empty:
        yield from _dispersion(models)
    if models.table("single_token").empty:
        yield from _single_token(models)


def _agreement(models: Models) -> Iterator[Chart]:
    """Rows of the summary are called "inputs: attention : gradient"."""
    numbers = of_column(models.numbers("agreement", "agreement"), "τ-b")
    pairs = numbers["row"].astype(str).str.extract(r"^(?P<on>\w+): (?P<one>.+) : (?P<other>.+)$")
    found = pd.concat([numbers.drop(columns="row"), pairs], axis=1)
    same = (found["on"] == "items") & found["other"].str.startswith("gradient-detached", na=False)
    found = found[(found["one"] == ATTENTION) & ~same]  # which is attention itself
    if found.empty:
        return
    found = found.assign(row=found["other"], panel=ATTENTION + " and importances of " + found["on"])
    yield made(
        "agreement-means",
        "agreement",
        "How far attention ranks as other importances do",
        "Kendall's τ-b, the mean over documents: 1 where attention and the other importance put "
        "everything in the same order, 0 where the orders have nothing to do with each other. "
        f"What deletion does ({DELETION}) is what the others are to be measured by. {_INTERVALS}",
        _drawn(found, models, "Kendall's τ-b", (-1, 1), zero=True),
    )


def _dispersion(models: Models) -> Iterator[Chart]:
    found = of_column(models.numbers("dispersion", "entropy"), "mean")
    if found.empty:
        return
    names = found["row"].astype(str).str.replace(", over items|, of inputs", "", regex=True)
    found = found.assign(panel="", row=names)
    yield made(
        "dispersion-means",
        "dispersion",
        "Normalised entropy of attention and of influence",
        "0 where one position has everything, 1 where all have the same. Attention on few items "
        "says little of few words if the influence of words on an item, or on the output, is "
        f"spread over all. {_INTERVALS}",
        _drawn(found, models, "normalised entropy", (0, 1)),
    )


def _single_token(models: Models) -> Iterator[Chart]:
    numbers = models.numbers("single_token", "single_token")
    numbers = numbers[numbers["row"] == "correct decisions"]
    names = {"a token alone": "a token alone", "confidence": "the whole text"}
    parts = [of_column(numbers, column).assign(row=row) for column, row in names.items()]
    found = pd.concat(parts, ignore_index=True)
    if found.empty:
        return
    yield made(
        "single_token-means",
        "single_token",
        "How sure of the decision a single token is",
        "The probability of the class decided for, had attention been on one token alone, and for "
        "the whole text; of correct decisions. Where the two are alike, any token tells the "
        "decision: the encoder has spread the evidence, and attention need not find it. "
        f"{_INTERVALS}",
        _drawn(found.assign(panel=""), models, "probability of the class decided for", (0, 1)),
    )


def _drawn(
    found: pd.DataFrame,
    models: Models,
    title: str,
    domain: tuple[float, float],
    zero: bool = False,
) -> object:
    kept = found[["model", "panel", "row", "value", "low", "high", "n"]]
    order = list(dict.fromkeys(kept["row"]))
    return intervals(kept, models, title, order, domain, zero=zero)

"""τ-b of attention and other importances, document by document (Jain & Wallace 2019, figure 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.exams.agreement.exam import ATTENTION, DELETION
from verax.report.charts.chart import Chart, made
from verax.report.charts.forms import box_numbers, boxes, histograms
from verax.report.charts.series import Models, of_column

_HISTOGRAM = ("gradient", DELETION)
"""What Jain & Wallace compare attention with."""
_OVER = {"all": "agreement", "support": "agreement_on_support"}
_TAUTOLOGY = ("items", ATTENTION, "gradient-detached")
"""One by arithmetic: nothing to see."""
_TITLE = "Kendall's τ-b"


def charts(models: Models) -> Iterator[Chart]:
    table = models.table("agreement")
    if table.empty:
        return
    values = table[(table["measure"] == "kendall") & table["value"].notna()].copy()
    for name in ("on", "first", "second", "over", "model"):
        values[name] = values[name].astype(str)
    values = values[values["on"] + values["first"] + values["second"] != "".join(_TAUTOLOGY)]
    yield from _histogram(models, values)
    yield from _boxes(models, values, "all")
    if _sparse(models):
        yield from _boxes(models, values, "support")


def _histogram(models: Models, values: pd.DataFrame) -> Iterator[Chart]:
    chosen = values[
        (values["over"] == "all")
        & (values["on"] == "inputs")
        & (values["first"] == ATTENTION)
        & values["second"].isin(_HISTOGRAM)
    ]
    if chosen.empty:
        return
    drawn = chosen.assign(panel="attention and " + chosen["second"])
    yield made(
        "agreement-histogram",
        "agreement",
        "How far attention ranks words as gradients and deletion do",
        "How τ-b is spread over documents: 1 where attention and the other importance put all "
        "words in the same order, 0 where the orders have nothing to do with each other, −1 where "
        "they are opposite. Of short texts τ-b varies much by chance.",
        histograms(drawn, models, _TITLE, np.linspace(-1, 1, 21).round(6).tolist()),
    )


def _boxes(models: Models, values: pd.DataFrame, over: str) -> Iterator[Chart]:
    chosen = values[values["over"] == over]
    if chosen.empty:
        return
    keys = ["model", "on", "first", "second"]
    rows = [
        dict(zip(keys, key, strict=True)) | box_numbers(part["value"])
        for key, part in chosen.groupby(keys, sort=False)
    ]
    found = pd.DataFrame(rows)
    numbers = of_column(models.numbers("agreement", _OVER[over]), "τ-b")
    means = {(m, r): v for m, r, v in numbers[["model", "row", "value"]].itertuples(index=False)}
    pairs = found["on"] + ": " + found["first"] + " : " + found["second"]
    found["mean"] = [
        means.get((model, pair)) for model, pair in zip(found["model"], pairs, strict=True)
    ]
    with_attention = found["first"] == ATTENTION
    found["row"] = np.where(with_attention, found["second"], found["first"])
    found["panel"] = (
        np.where(with_attention, ATTENTION, DELETION) + " and importances of " + found["on"]
    )
    found = found.loc[np.argsort(~with_attention, kind="stable")]
    found = found.drop(columns=["on", "first", "second"])
    where = "" if over == "all" else ", among items with weight"
    note = (
        ""
        if over == "all"
        else " Zeros of sparse attention tie with every other importance; here they are left out."
    )
    yield made(
        "agreement-tau" if over == "all" else "agreement-tau-support",
        "agreement",
        f"Rank agreement by pair of importances{where}",
        "A box holds τ-b of the middle half of the documents, its line is the median, the point "
        "the mean; whiskers reach 1.5 times the box's length. Below attention's own pairs stand "
        "those of leave-one-out: how far other importances agree with deletion is what attention's "
        f"agreement should be measured by.{note}",
        boxes(found, models, _TITLE, list(dict.fromkeys(found["row"])), (-1, 1)),
    )


def _sparse(models: Models) -> bool:
    """Whether any document has an item without weight: else both charts are one."""
    table = models.table("agreement_instances")
    if table.empty:
        return False
    shares = table.loc[table["measure"] == "support_share", "value"]
    return bool((shares < 1).any())

"""τ-b of attention and other importances, document by document (Jain & Wallace 2019, figure 2)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, boxes, histograms, means
from verax.drawing.series import Models, of_column
from verax.exams.agreement.exam import ATTENTION, DELETION
from verax.exams.agreement.measures import AGREEMENT, ITSELF, NAME, ON_SUPPORT, pair, pair_of
from verax.statistics.intervals import box_numbers

_HISTOGRAM = ("gradient", DELETION)
"""What Jain & Wallace compare attention with."""
_OVER = {"all": AGREEMENT.id, "support": ON_SUPPORT.id}
_PAIR = ["on", "first", "second"]
_AXIS = "Kendall's τ-b"


def charts(models: Models) -> Iterator[Chart]:
    """How τ-b is spread over documents; its means where there are no documents."""
    table = models.table("agreement")
    if table.empty:
        yield from _means(models)
        return
    values = table[(table["measure"] == "kendall") & table["value"].notna()].copy()
    for name in (*_PAIR, "over", "model"):
        values[name] = values[name].astype(str)
    # one by arithmetic: nothing to see
    values = values[_rows(values) != ITSELF]
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
        NAME,
        "How far attention ranks words as gradients and deletion do",
        "How τ-b is spread over documents: 1 where attention and the other importance put all "
        "words in the same order, 0 where the orders have nothing to do with each other, −1 where "
        "they are opposite. Of short texts τ-b varies much by chance.",
        histograms(drawn, models, _AXIS, (-1, 1)),
    )


def _boxes(models: Models, values: pd.DataFrame, over: str) -> Iterator[Chart]:
    chosen = values[values["over"] == over]
    if chosen.empty:
        return
    keys = ["model", *_PAIR]
    rows = [
        dict(zip(keys, key, strict=True)) | box_numbers(part["value"])
        for key, part in chosen.groupby(keys, sort=False)
    ]
    drawn = pd.DataFrame(rows)
    numbers = of_column(models.numbers(NAME, _OVER[over]), "tau")
    averages = numbers.set_index(["model", "row"])["value"].to_dict()
    places = zip(drawn["model"], _rows(drawn), strict=True)
    drawn["mean"] = [averages.get(place) for place in places]
    with_attention = drawn["first"] == ATTENTION
    drawn["row"] = np.where(with_attention, drawn["second"], drawn["first"])
    drawn["panel"] = (
        np.where(with_attention, ATTENTION, drawn["second"]) + " and importances of " + drawn["on"]
    )
    drawn = drawn.loc[np.argsort(~with_attention, kind="stable")].drop(columns=_PAIR)
    where = "" if over == "all" else ", among items with weight"
    note = (
        ""
        if over == "all"
        else " Zeros of sparse attention tie with every other importance; here they are left out."
    )
    yield made(
        "agreement-tau" if over == "all" else "agreement-tau-support",
        NAME,
        f"Rank agreement by pair of importances{where}",
        "A box holds τ-b of the middle half of the documents, its line is the median, the point "
        "the mean; whiskers reach 1.5 times the box's length. Below attention's own pairs stand "
        "those of leave-one-out: how far other importances agree with deletion is what attention's "
        f"agreement should be measured by.{note}",
        boxes(drawn, models, _AXIS, list(dict.fromkeys(drawn["row"])), (-1, 1)),
    )


def _means(models: Models) -> Iterator[Chart]:
    """Means of attention's pairs, for a study packed without its tables by document."""
    numbers = of_column(models.numbers(NAME, AGREEMENT.id), "tau")
    numbers = numbers[numbers["row"] != ITSELF]
    pairs = pd.DataFrame([pair_of(row) for row in numbers["row"]], numbers.index, columns=_PAIR)
    drawn = numbers.assign(
        row=pairs["second"], panel=ATTENTION + " and importances of " + pairs["on"].astype(str)
    )
    drawn = drawn[pairs["first"] == ATTENTION]
    if drawn.empty:
        return
    yield made(
        "agreement-means",
        NAME,
        "How far attention ranks as other importances do",
        "Kendall's τ-b, the mean over documents: 1 where attention and the other importance put "
        "everything in the same order, 0 where the orders have nothing to do with each other. "
        f"What deletion does ({DELETION}) is what the others are to be measured by. {INTERVALS}",
        means(drawn, models, _AXIS, (-1, 1), zero=True),
    )


def _rows(values: pd.DataFrame) -> pd.Series:
    """The summary's row of each pair of importances."""
    pairs = values[_PAIR].itertuples(index=False)
    return pd.Series([pair(*names) for names in pairs], values.index, dtype=object)


def _sparse(models: Models) -> bool:
    """Whether any document has an item without weight: else both charts are one."""
    table = models.table("agreement_instances")
    if table.empty:
        return False
    shares = table.loc[table["measure"] == "support_share", "value"]
    return bool((shares < 1).any())

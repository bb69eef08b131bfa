"""Items erased until the decision flips, beside the optimum (Serrano & Smith 2019, §5)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.exams.erasure.summary import PART
from verax.report.charts.chart import Chart, made
from verax.report.charts.forms import boxes, intervals
from verax.report.charts.series import Models, of_column
from verax.report.charts.ticks import reach

_MEASURES = {
    "fraction": ("Share of items erased before the decision flips", "share of items erased"),
    "mass": ("Attention mass erased before the decision flips", "attention mass erased"),
}
_NUMBERS = ("whisker low", "q1", "median", "q3", "whisker high", "mean")


def charts(models: Models) -> Iterator[Chart]:
    for measure, (title, axis) in _MEASURES.items():
        found = _boxes(models.numbers("erasure", measure))
        if len(found):
            yield made(
                f"erasure-{measure}",
                "erasure",
                title,
                "Items go in the order of a ranking, highest first, until the decision flips. A "
                "box holds the middle half of the documents, its line is the median, the point the "
                "mean; whiskers reach to the last document within 1.5 times the box's length. "
                "Further left is better: the optimum is the smallest set that flips the decision, "
                "found exactly, and no ranking can be left of it on the same documents. Each row "
                "is over the documents that its ranking flips.",
                boxes(found, models, axis, _order(found), (0, 1)),
            )
    excess = models.numbers("erasure", "excess")
    yield from _excess(models, excess)


def _boxes(numbers: pd.DataFrame) -> pd.DataFrame:
    """A row per model and ranking with all that a box has."""
    numbers = numbers[numbers["column"].isin(_NUMBERS)]
    if numbers.empty:
        return numbers
    found = numbers.pivot(index=["model", "row"], columns="column", values="value")
    found = found.dropna().rename(columns=lambda name: name.replace(" ", "_")).reset_index()
    if "random (" in " ".join(found["row"]):  # all draws averaged say more than the first
        found = found[found["row"] != "random"]
    return found.assign(panel="")


def _excess(models: Models, numbers: pd.DataFrame) -> Iterator[Chart]:
    if numbers["row"].str.startswith("random (").any():
        numbers = numbers[numbers["row"] != "random"]
    mean, part, optimal = (
        of_column(numbers, name).assign(panel="") for name in ("mean", PART, "optimal")
    )
    # models stand beside each other by what all of them have
    is_part = len(part) > 0 and set(part["model"]) == set(optimal["model"])
    optimal, which = (
        (part, "that flip before all weight is erased")
        if is_part
        else (optimal, "that can be flipped")
    )
    kept = ["model", "row", "panel", "value", "low", "high", "n"]
    if len(mean):
        most = reach(float(np.nanmax(mean[["value", "high"]].to_numpy(dtype=float))))
        yield made(
            "erasure-excess",
            "erasure",
            "Items erased beyond the smallest set that flips the decision",
            "How many more items a ranking takes than the optimum, on average over the documents "
            "it flips, with a 95% interval. 0 would be a ranking that always finds the "
            "smallest set.",
            intervals(
                mean[kept], models, "items beyond the optimum, mean", _order(mean), (0, most)
            ),
        )
    if len(optimal):
        yield made(
            "erasure-optimal",
            "erasure",
            "How often a ranking finds the smallest set",
            f"Percent of the documents {which} for which erasing in the order of the ranking takes "
            "no more items than the optimum, with a 95% interval. A document that a ranking fails "
            "to flip counts against it.",
            intervals(
                optimal[kept], models, "% of documents", _order(optimal), (0, 100), bars=True
            ),
        )


def _order(frame: pd.DataFrame) -> list[str]:
    """Rankings as the tables have them, the optimum last."""
    names = list(dict.fromkeys(frame["row"]))
    first = [name for name in ("attention", "gradient", "product") if name in names]
    rest = [name for name in names if name not in first and name != "optimum"]
    return [*first, *rest, *(["optimum"] if "optimum" in names else [])]

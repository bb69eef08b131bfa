"""Items erased until the decision flips, beside the optimum (Serrano & Smith 2019, §5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from verax.exams.erasure.summary import PART
from verax.report.charts.chart import Chart, made
from verax.report.charts.forms import box_numbers, boxes, intervals
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
                boxes(found, models, axis, in_order(found), (0, 1)),
            )
    yield from _excess(models)
    yield from _optimal(models)


def _boxes(numbers: pd.DataFrame) -> pd.DataFrame:
    """A row per model and ranking with all that a box has."""
    numbers = numbers[numbers["column"].isin(_NUMBERS)]
    if numbers.empty:
        return numbers
    found = numbers.pivot(index=["model", "row"], columns="column", values="value")
    found = found.dropna().rename(columns=lambda name: name.replace(" ", "_")).reset_index()
    return without_first_draw(found).assign(panel="")


def _excess(models: Models) -> Iterator[Chart]:
    """Over the same documents in every row, and by quantiles: one long text can make a mean."""
    found = common_excess(models)
    if found.empty:
        return
    counts = {str(model): int(n) for model, n in zip(found["model"], found["n"], strict=True)}
    over = ", ".join(f"{n:,} of {model}" for model, n in counts.items())
    if not models.several:
        over = f"{next(iter(counts.values())):,}"
    yield made(
        "erasure-excess",
        "erasure",
        "Items erased beyond the smallest set that flips the decision",
        "How many more items a ranking takes than the optimum; 0 would be a ranking that finds the "
        "smallest set. A box holds the middle half of the documents, its line is the median; "
        "whiskers reach to the last document within 1.5 times the box's length. All rows are over "
        "the same documents: those that every ranking shown flips, and something less than "
        f"erasing everything, too ({over}).",
        boxes(
            found.drop(columns="n"),
            models,
            "items beyond the optimum",
            in_order(found),
            (0, reach(float(found["whisker_high"].max()))),
        ),
    )


def common_excess(models: Models) -> pd.DataFrame:
    """A box for each model and ranking, of documents that all of a model's rankings flip.

    A ranking that flips none of them has none, and does not count. Documents that only flip when
    everything is erased are left out: there every order takes as many. Of random orders a document
    has the mean over draws.
    """
    many, least = models.table("erasure_many"), models.table("erasure_minimal")
    rows: list[dict[str, Any]] = []
    if many.empty or least.empty:
        return pd.DataFrame(rows)
    for model, own in many[many["measure"] == "excess"].groupby("model", sort=False):
        excess = own.set_index(["id", "ranking", "draw"])["value"].unstack(["ranking", "draw"])
        everything = least[(least["model"] == model) & (least["measure"] == "everything")]
        excess = excess[everything.set_index("id")["value"].reindex(excess.index) == 0]
        never = excess.columns[excess.isna().all()].get_level_values("ranking")
        common = excess.drop(columns=list(dict.fromkeys(never)), level="ranking").dropna()
        if common.empty:
            continue
        for ranking in dict.fromkeys(common.columns.get_level_values("ranking")):
            draws = common[ranking]
            several = draws.shape[1] > 1
            row = f"{ranking} ({draws.shape[1]} draws)" if several else str(ranking)
            told = {"model": model, "row": row, "panel": "", "n": len(common)}
            rows.append(told | box_numbers(draws.mean(axis=1)))
    return pd.DataFrame(rows)


def _optimal(models: Models) -> Iterator[Chart]:
    numbers = without_first_draw(models.numbers("erasure", "excess"))
    part, optimal = (of_column(numbers, name).assign(panel="") for name in (PART, "optimal"))
    which = "that can be flipped"
    # models stand beside each other by what all of them have
    if len(part) and set(part["model"]) == set(optimal["model"]):
        optimal, which = part, "that flip before all weight is erased"
    if len(optimal):
        kept = ["model", "row", "panel", "value", "low", "high", "n"]
        yield made(
            "erasure-optimal",
            "erasure",
            "How often a ranking finds the smallest set",
            f"Percent of the documents {which} for which erasing in the order of the ranking takes "
            "no more items than the optimum, with a 95% interval. A document that a ranking fails "
            "to flip counts against it.",
            intervals(
                optimal[kept], models, "% of documents", in_order(optimal), (0, 100), bars=True
            ),
        )


def without_first_draw(rows: pd.DataFrame) -> pd.DataFrame:
    """All draws averaged say more than the first, where both are there."""
    averaged = rows["row"].astype(str).str.startswith("random (").any()
    return rows[rows["row"] != "random"] if averaged else rows


def in_order(frame: pd.DataFrame) -> list[str]:
    """Rankings as the tables have them, the optimum last."""
    names = list(dict.fromkeys(frame["row"]))
    first = [name for name in ("attention", "gradient", "product") if name in names]
    rest = [name for name in names if name not in first and name != "optimum"]
    return [*first, *rest, *(["optimum"] if "optimum" in names else [])]

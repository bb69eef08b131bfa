"""Items erased until the decision flips, beside the optimum (Serrano & Smith 2019, §5)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import boxes, intervals, reach
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.erasure.measures import ALL_DRAWS, EXCESS, FRACTION, MASS, NAME, OPTIMUM, RANDOM
from verax.statistics.intervals import box_numbers

_MEASURES = {
    "fraction": (
        FRACTION.id,
        "Share of items erased before the decision flips",
        "share of items erased",
    ),
    "mass": (
        MASS.id,
        "Attention mass erased before the decision flips",
        "attention mass erased",
    ),
}
"""What a chart is called by → the table it is of, its title and its axis."""
_NUMBERS = ("whisker_low", "q1", "median", "q3", "whisker_high", "mean")
_FIRST = ("attention", "gradient", "product")


def charts(models: Models) -> Iterator[Chart]:
    """Boxes of items and mass erased, of items beyond the optimum, and how often there are none."""
    for measure, (table, title, axis) in _MEASURES.items():
        drawn = _boxes(models.numbers(NAME, table))
        if len(drawn):
            drawn, order = _titled(drawn, table)
            yield made(
                f"erasure-{measure}",
                NAME,
                title,
                "Items go in the order of a ranking, highest first, until the decision flips. A "
                "box holds the middle half of the documents, its line is the median, the point the "
                "mean; whiskers reach to the last document within 1.5 times the box's length. "
                "Further left is better: the optimum is the smallest set that flips the decision, "
                "found exactly, and no ranking can be left of it on the same documents. Each row "
                "is over the documents that its ranking flips.",
                boxes(drawn, models, axis, order, (0, 1)),
            )
    yield from _excess(models)
    yield from _optimal(models)


def _boxes(numbers: pd.DataFrame) -> pd.DataFrame:
    """A row per model and ranking with all that a box has."""
    numbers = numbers[numbers["column"].isin(_NUMBERS)]
    if numbers.empty:
        return numbers
    drawn = numbers.pivot(index=["model", "row"], columns="column", values="value")
    drawn = drawn.dropna().reset_index()
    return without_first_draw(drawn).assign(panel="")


def _excess(models: Models) -> Iterator[Chart]:
    """Boxes of items beyond the optimum, over the same documents in every row."""
    drawn = common_excess(models)
    if drawn.empty:
        return
    counts = {str(model): int(n) for model, n in zip(drawn["model"], drawn["n"], strict=True)}
    over = ", ".join(f"{n:,} of {model}" for model, n in counts.items())
    if not models.several:
        over = f"{next(iter(counts.values())):,}"
    draws = int(drawn["draws"].max())
    averaged = f" Random is the mean over {draws} orders." if draws > 1 else ""
    drawn, order = _titled(drawn, EXCESS.id)
    yield made(
        "erasure-excess",
        NAME,
        "Items erased beyond the smallest set that flips the decision",
        "How many more items a ranking takes than the optimum; 0 would be a ranking that finds the "
        "smallest set. A box holds the middle half of the documents, its line is the median; "
        "whiskers reach to the last document within 1.5 times the box's length. All rows are over "
        "the same documents: those that every ranking shown flips, and something less than "
        f"erasing everything, too ({over}).{averaged}",
        boxes(
            drawn.drop(columns=["n", "draws"]),
            models,
            "items beyond the optimum",
            order,
            (0, reach(float(drawn["whisker_high"].max()))),
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
    for model, part in many[many["measure"] == "excess"].groupby("model", sort=False):
        excess = part.set_index(["id", "ranking", "draw"])["value"].unstack(["ranking", "draw"])
        everything = least[(least["model"] == model) & (least["measure"] == "everything")]
        excess = excess[everything.set_index("id")["value"].reindex(excess.index) == 0]
        never = excess.columns[excess.isna().all()].get_level_values("ranking")
        common = excess.drop(columns=list(dict.fromkeys(never)), level="ranking").dropna()
        if common.empty:
            continue
        for ranking in dict.fromkeys(common.columns.get_level_values("ranking")):
            draws = common[ranking]
            row = ALL_DRAWS if draws.shape[1] > 1 else str(ranking)
            box = box_numbers(draws.mean(axis=1))
            counts = {"n": len(common), "draws": draws.shape[1]}
            rows.append({"model": model, "row": row, "panel": "", **counts, **box})
    return pd.DataFrame(rows)


def _optimal(models: Models) -> Iterator[Chart]:
    numbers = without_first_draw(models.numbers(NAME, EXCESS.id))
    part, optimal = (
        of_column(numbers, name).assign(panel="") for name in ("optimal_in_part", "optimal")
    )
    which = "that can be flipped"
    # models stand beside each other by what all of them have
    if len(part) and set(part["model"]) == set(optimal["model"]):
        optimal, which = part, "that flip before all weight is erased"
    if len(optimal):
        kept = ["model", "row", "panel", "value", "low", "high", "n"]
        drawn, order = _titled(optimal[kept], EXCESS.id)
        yield made(
            "erasure-optimal",
            NAME,
            "How often a ranking finds the smallest set",
            f"Percent of the documents {which} for which erasing in the order of the ranking takes "
            "no more items than the optimum, with a 95% interval. A document that a ranking fails "
            "to flip counts against it.",
            intervals(drawn, models, "% of documents", order, (0, 100), bars=True),
        )


def without_first_draw(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows without the first random draw, where there is also the mean over all draws."""
    averaged = (rows["row"] == ALL_DRAWS).any()
    return rows[rows["row"] != RANDOM] if averaged else rows


def in_order(frame: pd.DataFrame) -> list[str]:
    """Rankings as the tables have them, the optimum last."""
    names = list(dict.fromkeys(frame["row"]))
    first = [name for name in _FIRST if name in names]
    rest = [name for name in names if name not in first and name != OPTIMUM]
    return [*first, *rest, *([OPTIMUM] if OPTIMUM in names else [])]


def _titled(frame: pd.DataFrame, table: str) -> tuple[pd.DataFrame, list[str]]:
    """The table with words for its rankings, and these in order."""
    words = {row: titles.row_title(table, row) for row in in_order(frame)}
    return frame.assign(row=frame["row"].map(words)), list(words.values())

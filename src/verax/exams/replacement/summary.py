"""F1, accuracy and survival under each attention, over the replacement exam's tidy tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from verax.exams.cells import Cell, row_cells
from verax.exams.replacement.measures import (
    DOCUMENT_COUNTS,
    PERMUTED,
    PLACES,
    REPLACEMENT,
    TRAINED,
    UNIFORM,
    score_id,
)
from verax.exams.tables import measured, wide
from verax.exams.values import Tables, estimate_part, part
from verax.exams.verdict import summary_frame
from verax.statistics import (
    Interval,
    RatioEstimate,
    average,
    f1,
    mean,
    mean_share,
    share,
    within_one,
)
from verax.statistics.intervals import Values


@dataclass(frozen=True, eq=False)
class Replacement:
    """What a split's decisions come to under one kind of attention; draws are averaged.

    score is F1 of the positive class, or the mean of all classes' where there are more than two;
    correct, positive (1 where the decision is the second class), survived and tvd are
    (documents,), in order of id. F1 hides a model that falls to the positive class: of even classes
    it stays at 2/3 then. The share of positive decisions shows it.
    """

    score: RatioEstimate
    correct: Values
    positive: Values
    survived: Values
    tvd: Values


def replacements(tables: Mapping[str, pd.DataFrame]) -> dict[str, Replacement]:
    """Attention → what it comes to, over the documents in order of id."""
    labels = measured(tables["replacement_instances"], "label")[0]
    classes = int(measured(tables["replacement_instances"], "classes")[0, 0])
    by_kind = {}
    for kind, rows in tables["replacement"].groupby("attention", sort=False, observed=True):
        decided, survived, tvd = (measured(rows, name) for name in ("decision", "survived", "tvd"))
        by_kind[str(kind)] = Replacement(
            score=average([f1(labels, row, classes) for row in decided]),
            correct=np.where(np.isnan(labels), np.nan, decided == labels).mean(axis=0),
            positive=(decided == 1).mean(axis=0),
            survived=survived.mean(axis=0),
            tvd=tvd.mean(axis=0),
        )
    return by_kind


def summarise(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """F1, accuracy, and how many decisions survive; differences from trained attention."""
    instances = wide(tables["replacement_instances"])
    n = len(instances)
    counts = {
        "documents": n,
        "one_item": int((instances["items"] == 1).sum()),
        "decision_differs": int(instances["decision_differs"].sum()),
    }
    rows = [*row_cells(DOCUMENT_COUNTS, "", n, counts)]
    by_kind = replacements(tables)
    classes = int(instances["classes"].iloc[0])
    for kind, replacement in by_kind.items():
        rows += [*_cells(kind, replacement, by_kind[TRAINED], n, classes)]
    if "replacement_places" in tables:
        rows += [*_place_cells(tables["replacement_places"], n)]
    return summary_frame("replacement", rows)


def _cells(
    row: str, replacement: Replacement, trained: Replacement, n: int, classes: int
) -> Iterator[Cell]:
    score, is_trained = score_id(classes), replacement is trained
    numbers = {
        score: within_one(replacement.score.interval),
        f"delta_{score}": (replacement.score - trained.score).interval,
        "accuracy": mean_share(replacement.correct),
        "delta_accuracy": (share(replacement.correct) - share(trained.correct)).interval,
        **({"positive": mean_share(replacement.positive)} if classes == 2 else {}),
        # trained attention leaves its own decisions and outputs alone by definition: no interval
        "survival": 1.0 if is_trained else mean_share(replacement.survived),
        "tvd": 0.0 if is_trained else within_one(mean(replacement.tvd)),
    }
    return row_cells(REPLACEMENT, row, n, numbers)


def _place_cells(table: pd.DataFrame, n: int) -> Iterator[Cell]:
    """How many decisions survive what is done to one layer, or one head; draws are averaged."""
    numbers: dict[str, dict[str, Interval | float]] = {}
    for (place, kind), rows in table.groupby(["place", "attention"], sort=False, observed=True):
        survived, tvd = (measured(rows, name).mean(axis=0) for name in ("survived", "tvd"))
        numbers.setdefault(str(place), {}).update(
            {f"{kind}_survival": mean_share(survived), f"{kind}_tvd": within_one(mean(tvd))}
        )
    for place, values in numbers.items():
        yield from row_cells(PLACES, place, n, values)


DECISIONS = "decisions"
"""The room of numbers about decisions, whichever exam they come from."""


def document_values(tables: Tables) -> Iterator[pd.DataFrame]:
    """Whether the decision survives, how far the output moves, and F1 with what it loses."""
    instances, replaced = tables["replacement_instances"], tables["replacement"]
    ids = pd.Series(instances["id"].unique())
    for measure, column in (("survived", "survival"), ("tvd", "tvd")):
        for kind in (UNIFORM, PERMUTED):
            rows = replaced[replaced["attention"] == kind]
            means = pd.Series(measured(rows, measure).mean(axis=0))
            yield part(ids, REPLACEMENT.id_of(kind, column), means)
    scores = {kind: one.score for kind, one in replacements(tables).items()}
    name = score_id(int(measured(instances, "classes")[0, 0]))
    yield estimate_part(instances, f"{DECISIONS}.{name}", scores[TRAINED])
    for kind in (UNIFORM, PERMUTED):
        moved = scores[kind] - scores[TRAINED]
        yield estimate_part(instances, REPLACEMENT.id_of(kind, f"delta_{name}"), moved)

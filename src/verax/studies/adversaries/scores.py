"""Numbers of several models, each with its interval: over models, or over documents of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from verax.statistics import Interval, describe, f1, mean, mean_share, within_one
from verax.statistics.missing import is_constant, present

MEASURES = ("jsd", "tvd", "same", "accuracy", "f1")
"""The first three are from the base; F1 is the positive class's, or macro with more than two."""

SEEDS, DOCUMENTS = "seeds", "documents"
_COLUMNS = {"accuracy": "correct", "f1": "decision"}


@dataclass(frozen=True)
class Scores:
    """What models that differ only by seed have in common.

    over       what intervals are over: seeds, with two or more, else documents
    seeds, n   models, and documents of each
    jsd_n      those of the documents that JSD is over
    intervals  measure → number and ends, NaN where there is none
    """

    over: str
    seeds: int
    n: int
    jsd_n: int
    intervals: dict[str, Interval]

    def row(self) -> dict[str, Any]:
        """over, seeds, n, jsd_n, and for each measure `jsd`, `jsd_low`, `jsd_high`."""
        row: dict[str, Any] = {"over": self.over, "seeds": self.seeds}
        row |= {"n": self.n, "jsd_n": self.jsd_n}
        for name, ends in self.intervals.items():
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        return row


def scored(models: Sequence[pd.DataFrame], labels: pd.Series, classes: int) -> Scores:
    """Every measure of models given as documents by id (see `by_model`).

    Over seeds an interval is Student's, from each model's own number, and NaN where these are all
    the same. All measures lie between 0 and 1, and no interval goes beyond.
    """
    each = [score(documents, labels, classes) for documents in models]
    n = len(models[0]) if models else 0
    jsd_n = int(models[0]["jsd"].notna().sum()) if n and "jsd" in models[0] else 0
    if len(each) < 2:
        nothing = dict.fromkeys(MEASURES, (math.nan, math.nan, math.nan))
        only = each[0] if each else nothing
        return Scores(DOCUMENTS if each else "", len(each), n, jsd_n, only)
    intervals = {}
    for measure in MEASURES:
        values = np.array([scores[measure][0] for scores in each])
        described = describe(values)
        alike = is_constant(values)  # tells nothing of what another seed would give
        ends = (math.nan, math.nan) if alike else (described.low, described.high)
        intervals[measure] = within_one((described.mean, *ends))
    return Scores(SEEDS, len(each), n, jsd_n, intervals)


def score(documents: pd.DataFrame, labels: pd.Series, classes: int) -> dict[str, Interval]:
    """Every measure of one model with its interval over documents; NaN for one it has not.

    Student's of a mean, Wilson's of a share of documents, F1's by the delta method. A document
    without a JSD (see `jsd_of_several`) is left out of it, and of nothing else.
    """
    intervals = {}
    for measure in MEASURES:
        column = _COLUMNS.get(measure, measure)
        if column not in documents:
            intervals[measure] = (math.nan, math.nan, math.nan)
            continue
        values = documents[column].to_numpy(dtype=np.float64)
        if measure == "f1":
            true = labels.loc[documents.index].to_numpy(dtype=np.float64)
            intervals[measure] = within_one(f1(true, values, classes).interval)
        elif measure in ("same", "accuracy"):
            intervals[measure] = mean_share(values)
        else:
            intervals[measure] = within_one(mean(present(values)[0]))
    return intervals


def jsd_of_several(jsd: pd.Series, items: pd.Series) -> pd.Series:
    """JSD where there are several items, else NaN: one item alone has all weight, whatever is done.

    Its zero would say that attention was left where it was, when there is nowhere else to go.
    """
    return jsd.where(items.reindex(jsd.index) > 1)

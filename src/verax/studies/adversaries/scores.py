"""What is measured of models beside the base, their numbers with intervals, and the λ chosen."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verax.corpora.corpus import Corpus
from verax.device import full_precision
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.divergence_between import divergences
from verax.statistics import Interval, describe, f1, mean, mean_share, within_one
from verax.statistics.intervals import is_constant, present
from verax.training.strength import TOLERANCE

ADVERSARY, SEED, CONTROL = "adversary", "seed", "control"
BASE = "base"
COLUMNS = ["kind", "name", "lam", "seed", "split", "id", "measure", "value"]
BESIDE = ["jsd", "tvd", "same", "decision", "correct"]
OF_BASE = ["decision", "correct", "label", "max_weight", "items"]


class Model(NamedTuple):
    """Which model a row is of; λ is an adversary's, and a seed that is not known is None."""

    kind: str
    name: str
    lam: float | None
    seed: int | None


def measured(
    model: AttentionClassifier,
    base: AttentionClassifier,
    corpus: Corpus,
    splits: Sequence[str],
    max_tokens: int,
) -> pd.DataFrame:
    """The columns of `divergences` from the base, and the split, by ids that tell rows apart."""
    parts = []
    for split in splits:
        documents = corpus.splits[split]
        if len(documents) == 0:
            raise VeraxError(
                f"corpus {corpus.name!r} has no documents in {split}: choose another split",
                code="corpus.empty-split",
            )
        with full_precision():
            values = divergences(model, base, documents, max_tokens)
        if not values["id"].is_unique:
            values["id"] = np.arange(len(values))
        values.insert(0, "split", split)
        parts.append(values)
    return pd.concat(parts, ignore_index=True)


def tidied(model: Model, documents: pd.DataFrame) -> pd.DataFrame:
    """A row per document and measure: beside the base, or of the base and the documents."""
    is_base = model[:2] == (CONTROL, BASE)
    values = documents[OF_BASE if is_base else BESIDE].astype("float64")
    values[["split", "id"]] = documents[["split", "id"]]
    tidy = values.melt(["split", "id"], var_name="measure", value_name="value")
    lam = np.nan if model.lam is None else model.lam
    tidy = tidy.assign(kind=model.kind, name=model.name, lam=lam, seed=model.seed)
    tidy["seed"] = tidy["seed"].astype("Int64")
    return tidy[COLUMNS]


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """One table of all models, names as categories in the order in which they come."""
    table = pd.concat(list(parts), ignore_index=True)
    for name in ("kind", "name", "split", "measure"):
        words = table[name].astype("object")
        table[name] = pd.Categorical(words, list(dict.fromkeys(words)))
    return table


def by_model(instances: pd.DataFrame) -> dict[tuple[Model, str], pd.DataFrame]:
    """(model, split) → its documents by id, a column a measure."""
    labels = ["kind", "name", "lam", "seed", "split"]
    models = {}
    key: Any
    for key, rows in instances.groupby(labels, sort=False, observed=True, dropna=False):
        kind, name, lam, seed, split = key
        model = Model(kind, name, None if pd.isna(lam) else lam, None if pd.isna(seed) else seed)
        models[model, split] = rows.pivot(index="id", columns="measure", values="value")
    return models


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


_TIE = 1e-12


@dataclass(frozen=True)
class Chosen:
    """The λ picked on validation.

    within                  whether its F1 and its accuracy are both within a point of the base's;
                            else it is the one that comes closest
    jsd, f1, accuracy       its own on validation, means over seeds
    same                    share of validation decisions that are the base's
    base_f1, base_accuracy  the base's
    """

    lam: float
    within: bool
    jsd: float
    f1: float
    accuracy: float
    same: float
    base_f1: float
    base_accuracy: float


def choose(curve: Sequence[Mapping[str, float]], base_f1: float, base_accuracy: float) -> Chosen:
    """The largest JSD among those whose F1 and accuracy are the base's less a point at least.

    curve  lam, jsd, f1, accuracy and same on validation, of each λ

    Both, for a model that says `positive` whatever it reads has an F1 of two thirds. Where there is
    none, the one whose worse shortfall of the two is smallest. λ = 0 asks for no other attention:
    it is taken only where there is no other. Of equals, but for rounding, the smallest λ is taken.

    >>> near = {"lam": 0.1, "jsd": 0.2, "f1": 0.8, "accuracy": 0.8, "same": 0.9}
    >>> far = {"lam": 1.0, "jsd": 0.5, "f1": 0.8, "accuracy": 0.5, "same": 0.5}
    >>> choose([near, far], 0.8, 0.8).lam, choose([near, far], 0.8, 0.5).lam
    (0.1, 1.0)
    >>> choose([near, far], 0.9, 0.9).within
    False
    """
    if not curve:
        raise VeraxError("no adversary to choose from: give at least one λ", code="option.empty")
    rising = sorted(curve, key=lambda row: row["lam"])
    rising = [row for row in rising if row["lam"] > 0] or rising

    def short(row: Mapping[str, float]) -> float:
        return min(_or_least(row["f1"] - base_f1), _or_least(row["accuracy"] - base_accuracy))

    within = [row for row in rising if short(row) >= -TOLERANCE - _TIE]
    listed = within or rising
    scores = [_or_least(row["jsd"]) if within else short(row) for row in listed]
    picked = listed[next(n for n, score in enumerate(scores) if score >= max(scores) - _TIE)]
    values = {name: picked[name] for name in ("lam", "jsd", "f1", "accuracy", "same")}
    return Chosen(within=bool(within), base_f1=base_f1, base_accuracy=base_accuracy, **values)


def _or_least(value: float) -> float:
    """The value, or −∞ where it is NaN."""
    return -math.inf if math.isnan(value) else value

"""How far models are from a base: JSD, TVD and F1 with intervals, the choice of λ, other seeds.

The yardstick of adversaries are models that differ from the base only by seed (`seed_variance`).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.device import full_precision
from verax.errors import VeraxError
from verax.exams.examine import check_split, load_trained_on
from verax.exams.verdict import Verdict
from verax.models.classifier import AttentionClassifier
from verax.models.saving import is_model_folder, load
from verax.options import check
from verax.progress import shown
from verax.results import saved_kind
from verax.statistics import Interval, SeedMean, f1, mean, mean_share, within_one
from verax.statistics.intervals import present
from verax.studies.comparison.grouping import Entry, entry_of, made_after, settings_of
from verax.training.adversary import divergences
from verax.training.strength import TOLERANCE
from verax.training.train import refuse_other_corpus

ADVERSARY, SEED, CONTROL = "adversary", "seed", "control"
"""The kinds of models: adversaries, other seeds of the base, controls."""
BASE, GIVEN, RETRAINED = "base", "given", "retrained"
"""Names of the base, which is a control, and of other seeds."""
UNIFORM, MLP_UNIFORM, MLP_OWN = "uniform", "mlp-uniform", "mlp-own"
BY_BASE, BY_ADVERSARY = "mlp-guided-by-base", "mlp-guided-by-adversary"
CONTROLS = {
    UNIFORM: UNIFORM,
    MLP_UNIFORM: "mlp, uniform",
    MLP_OWN: "mlp, own",
    BY_BASE: "mlp, guided by base",
    BY_ADVERSARY: "mlp, guided by adversary",
}
"""The controls that are trained, with their titles."""
LAMS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
"""The default λ: weights between means over documents, in nats."""
COLUMNS = ["kind", "name", "lam", "seed", "split", "id", "measure", "value"]
BESIDE = ["jsd", "tvd", "same", "decision", "correct"]
OF_BASE = ["decision", "correct", "label", "max_weight", "items"]


def control_title(name: str) -> str:
    """A control in words."""
    return CONTROLS.get(name, name)


class Model(NamedTuple):
    """The identity of a model; λ is None except for adversaries, an unknown seed is None."""

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
    """Return `divergences` from the base on several splits; repeated ids are renumbered."""
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
    """Return one row per document and measure, from what `measured` returned."""
    is_base = model[:2] == (CONTROL, BASE)
    values = documents[OF_BASE if is_base else BESIDE].astype("float64")
    values[["split", "id"]] = documents[["split", "id"]]
    tidy = values.melt(["split", "id"], var_name="measure", value_name="value")
    lam = np.nan if model.lam is None else model.lam
    tidy = tidy.assign(kind=model.kind, name=model.name, lam=lam, seed=model.seed)
    tidy["seed"] = tidy["seed"].astype("Int64")
    return tidy[COLUMNS]


def joined(parts: Iterable[pd.DataFrame]) -> pd.DataFrame:
    """Concatenate the tables of models; names become categories in order of appearance."""
    table = pd.concat(list(parts), ignore_index=True)
    for name in ("kind", "name", "split", "measure"):
        words = table[name].astype("object")
        table[name] = pd.Categorical(words, list(dict.fromkeys(words)))
    return table


def by_model(instances: pd.DataFrame) -> dict[tuple[Model, str], pd.DataFrame]:
    """Return the documents of each (model, split), indexed by id, with a column per measure."""
    labels = ["kind", "name", "lam", "seed", "split"]
    models = {}
    key: Any
    for key, rows in instances.groupby(labels, sort=False, observed=True, dropna=False):
        kind, name, lam, seed, split = key
        model = Model(kind, name, None if pd.isna(lam) else lam, None if pd.isna(seed) else seed)
        models[model, split] = rows.pivot(index="id", columns="measure", values="value")
    return models


MEASURES = ("jsd", "tvd", "same", "accuracy", "f1")
"""The first three compare with the base; F1 is of the positive class, or macro F1."""

SEEDS, DOCUMENTS = "seeds", "documents"
_COLUMNS = {"accuracy": "correct", "f1": "decision"}


@dataclass(frozen=True)
class Scores:
    """The scores of models that differ only by seed.

    Attributes:
        over: what intervals are over: seeds if there are several, otherwise documents.
        seeds: the number of models.
        n: documents per model.
        jsd_n: those of several items, to which JSD applies.
        intervals: number and ends by measure; NaN if undefined.
    """

    over: str
    seeds: int
    n: int
    jsd_n: int
    intervals: dict[str, Interval]

    def row(self) -> dict[str, Any]:
        """Return the scores as columns: over, seeds, n, jsd_n, jsd, jsd_low, jsd_high, …"""
        row: dict[str, Any] = {"over": self.over, "seeds": self.seeds}
        row |= {"n": self.n, "jsd_n": self.jsd_n}
        for name, ends in self.intervals.items():
            row |= dict(zip((name, f"{name}_low", f"{name}_high"), ends, strict=True))
        return row


def scored(models: Sequence[pd.DataFrame], labels: pd.Series, classes: int) -> Scores:
    """Return every measure of models that differ only by seed.

    Intervals over seeds are Student's, clipped to [0, 1], and NaN if all seeds agree.

    Args:
        models: documents of each model (see `by_model`).
        labels: labels by id.
        classes: the number of classes.
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
        over = SeedMean.of([scores[measure][0] for scores in each])
        ends = (math.nan, math.nan) if over.is_constant else (over.low, over.high)
        intervals[measure] = within_one((over.value, *ends))
    return Scores(SEEDS, len(each), n, jsd_n, intervals)


def score(documents: pd.DataFrame, labels: pd.Series, classes: int) -> dict[str, Interval]:
    """Return every measure of one model with its interval over documents; NaN if undefined.

    Intervals are Student's for means, Wilson's for shares, and by the delta method for F1.
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
    """Return JSD with NaN for documents of one item, whose attention cannot move."""
    return jsd.where(items.reindex(jsd.index) > 1)


_TIE = 1e-12


@dataclass(frozen=True)
class Chosen:
    """The λ chosen on validation; all numbers are means over seeds on validation.

    Attributes:
        lam: the λ.
        within: whether F1 and accuracy are both within a point of the base's; if False, no λ is,
            and this one comes closest.
        jsd: the distance of attention from the base's.
        f1: F1.
        accuracy: accuracy.
        same: the share of decisions that equal the base's.
        base_f1: the base's F1.
        base_accuracy: the base's accuracy.
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
    """Choose the λ with the largest JSD whose F1 and accuracy are within a point of the base's.

    Accuracy counts as well because a constant `positive` has an F1 of two thirds on balanced
    classes. If no λ qualifies, the one with the smallest shortfall (the worse of both) is chosen.
    λ = 0 is chosen only if there is no other; of equal λ, the smallest.

    Args:
        curve: lam, jsd, f1, accuracy and same on validation for each λ.
        base_f1: the base's F1.
        base_accuracy: the base's accuracy.

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
    """Return the value, or −∞ if it is NaN."""
    return -math.inf if math.isnan(value) else value


ModelLike = AttentionClassifier | str | Path
"""A model, or the folder of a saved one."""


def seed_variance(
    models: Sequence[ModelLike],
    corpus: Corpus | str | Path | None = None,
    split: str = "test",
    *,
    device: str = "auto",
    max_tokens: int = MAX_TOKENS,
    progress: bool | None = None,
) -> pd.DataFrame:
    """Compare every two of several models that differ only by seed, document by document.

    Args:
        models: two or more models, or folders of saved ones. A strength of grounding that was
            chosen on validation may differ.
        corpus: by default the one they were trained on.
        split: the documents on which models are compared.
        device: auto, cpu, cuda or cuda:1.
        max_tokens: padded tokens held at once.
        progress: show bars.

    Returns:
        A row for each pair of models and document.

    first, second      the seeds of the two models; an unknown seed becomes an unused number
    id, label, items   of the document
    jsd                Jensen–Shannon divergence of the attentions, in nats; 0 for one item
    tvd, same          total variation distance of the outputs; whether the decisions agree
    decision, correct  of the second model
    max_weight         the largest weight of the first model

    >>> import verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> models = [verax.train(corpus, encoder="none", epochs=1, seed=seed) for seed in (0, 1, 2)]
    >>> found = seed_variance(models, corpus)
    >>> found[["first", "second"]].drop_duplicates().to_numpy().tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    check_split(split)
    max_tokens = check("max_tokens", max_tokens, int, {"minimum": 1})
    listed = several_models("models", models)
    if len(listed) < 2:
        raise VeraxError(
            "fewer than two models: seed variance is between two or more", code="result.too-few"
        )
    entries = [model_entry(model, f"model {n}") for n, model in enumerate(listed, start=1)]
    refuse_more_than_seeds(entries)
    loaded = [loaded_model(model, device) for model in listed]
    corpus = corpus_of(loaded[0], corpus, "the first model")
    refuse_other_corpus(loaded[0], corpus)
    seeds = seeds_of(entries)
    pairs = list(combinations(range(len(loaded)), 2))
    parts = []
    with shown(progress) as display:
        for a, b in display.watching("pairs of models")(pairs):
            differences = measured(loaded[b], loaded[a], corpus, [split], max_tokens)
            differences = differences.drop(columns="split")
            differences.insert(0, "first", seeds[a])
            differences.insert(1, "second", seeds[b])
            parts.append(differences)
    return pd.concat(parts, ignore_index=True)


def refuse_more_than_seeds(entries: Sequence[Entry]) -> None:
    """Raise an error if models differ in more than the seed, or do not differ at all."""
    first = entries[0]
    settings = _settings(first)
    for entry in entries[1:]:
        other = _settings(entry)
        names = [n for n in {**settings, **other} if settings.get(n) != other.get(n)]
        if names:
            shown = ", ".join(f"{n} ({settings.get(n)}, {other.get(n)})" for n in names)
            raise VeraxError(
                f"{first.name} and {entry.name} differ in more than the seed: {shown}; "
                "give models that were trained alike",
                code="model.incomparable",
            )
    for one, other_one in combinations(entries, 2):
        if one.seed is not None and one.seed == other_one.seed:
            raise VeraxError(
                f"{one.name} and {other_one.name} are one model with one seed, {one.seed}: "
                "give each seed once",
                code="option.duplicate",
            )


def _settings(entry: Entry) -> dict[str, Any]:
    """Return everything that determines a model except its seed."""
    corpus = entry.record.get("corpus") or {}
    return {
        **(settings_of(entry) or {**entry.options, **made_after(entry)}),
        "classes": list(entry.classes),
        "corpus": corpus.get("fingerprint"),
    }


def seeds_of(entries: Sequence[Entry], taken: Collection[int] = ()) -> list[int]:
    """Return the seeds of models; an unknown one becomes the smallest unused number."""
    known = [entry.seed for entry in entries]
    free = (number for number in count() if number not in (*known, *taken))
    return [next(free) if seed is None else seed for seed in known]


def several_models(name: str, models: Any) -> list[ModelLike]:
    """Return a list of models; a single model, such as a path, is an error."""
    if isinstance(models, (str, Path, AttentionClassifier)):
        raise VeraxError(
            f"{name} is one model: give a list of models, or of folders of them",
            code="option.wrong-type",
        )
    return list(models)


def model_entry(model: ModelLike, name: str) -> Entry:
    """Return what is known of a model before it is loaded; `name` is for models in memory."""
    folder = Path(model) if isinstance(model, (str, Path)) else None
    if folder and not (is_model_folder(folder) or saved_kind(folder) == Verdict.kind):
        raise VeraxError(
            f"{model} is not a saved model: expected a folder that train wrote",
            code="model.missing",
        )
    entry = entry_of(model, 0)
    if entry.verdict is not None:
        raise VeraxError(
            f"{entry.name} is a verdict: give models, or folders of saved ones",
            code="result.wrong-kind",
        )
    return replace(entry, name=name) if isinstance(model, AttentionClassifier) else entry


def loaded_model(model: ModelLike, device: str) -> AttentionClassifier:
    if isinstance(model, AttentionClassifier):
        return model
    if not isinstance(model, (str, Path)):
        raise VeraxError(
            f"a {type(model).__name__} cannot be trained again: give a model that Verax trained",
            code="model.wrong-type",
        )
    return load(model, device=device)


def corpus_of(model: AttentionClassifier, corpus: Corpus | str | Path | None, who: str) -> Corpus:
    """Return the given corpus, or the one that the model was trained on."""
    if corpus is None:
        return load_trained_on(model.record, who)
    return corpus if isinstance(corpus, Corpus) else load_corpus(corpus)

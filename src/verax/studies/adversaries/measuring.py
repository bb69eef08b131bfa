"""What is measured of a model beside the base, document by document, kept as one tidy table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verax.corpora.corpus import Corpus
from verax.device import full_precision
from verax.errors import VeraxError
from verax.models.classifier import AttentionClassifier
from verax.models.divergence_between import divergences

ADVERSARY, SEED, CONTROL = "adversary", "seed", "control"
BASE = "base"
COLUMNS = ["kind", "name", "lam", "seed", "split", "id", "measure", "value"]
_BESIDE = ["jsd", "tvd", "same", "decision", "correct"]
_OF_BASE = ["decision", "correct", "label", "max_weight", "items"]


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
                f"corpus {corpus.name!r} has no documents in {split}: choose another split"
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
    values = documents[_OF_BASE if is_base else _BESIDE].astype("float64")
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

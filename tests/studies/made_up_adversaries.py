"""A study of adversaries whose every number was chosen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from verax.studies import Adversaries

N = 23


class Model(NamedTuple):
    """What tells models apart; λ is None but for adversaries."""

    kind: str
    name: str
    lam: float | None
    seed: int | None


Frames = dict[tuple[Model, str], pd.DataFrame]
OF_ALL = ["jsd", "tvd", "same", "decision", "correct"]
OF_BASE = ["decision", "correct", "label", "max_weight", "items"]


def rows_of(model: Model, documents: pd.DataFrame) -> pd.DataFrame:
    """A row per document and measure, of a row per document."""
    measures = OF_BASE if model.name == "base" else OF_ALL
    numbers = documents[["split", "id", *measures]].astype(dict.fromkeys(measures, float))
    rows = numbers.melt(["split", "id"], var_name="measure", value_name="value")
    lam = float("nan") if model.lam is None else model.lam
    rows = rows.assign(kind=model.kind, name=model.name, lam=lam, seed=model.seed)
    columns = ["kind", "name", "lam", "seed", "split", "id", "measure", "value"]
    return rows.astype({"seed": "Int64"})[columns]


def in_order(table: pd.DataFrame) -> pd.DataFrame:
    """The table with names as categories, in the order in which they appear."""
    names = ["kind", "name", "split", "measure"]
    return table.assign(**{n: pd.Categorical(table[n], table[n].unique()) for n in names})


def drawn(random: np.random.Generator, classes: int, labels: np.ndarray) -> pd.DataFrame:
    """What `divergences` could have given, decisions being right about three times in four."""
    wrong = random.random(N) < 0.25
    decision = np.where(wrong, random.integers(0, classes, N), labels)
    return pd.DataFrame(
        {
            "id": 7 * np.arange(N) + 3,
            "jsd": random.random(N) * np.log(2),
            "tvd": random.random(N),
            "same": random.random(N) < 0.8,
            "correct": decision == labels,
            "label": labels,
            "decision": decision,
            "max_weight": random.random(N) ** 0.7,
            "items": random.integers(2, 30, N),
        }
    )


def made_up(
    seed: int = 0,
    *,
    lams: Sequence[float] = (0.0, 0.1, 1.0),
    seeds: Sequence[int] = (1,),
    others: Sequence[int] = (5,),
    classes: int = 2,
    names: Sequence[str] = ("uniform",),
    **manifest: Any,
) -> tuple[Adversaries, Frames]:
    """The study, and for each model and split the frame that it was made of."""
    random = np.random.default_rng(seed)
    models = [Model("control", "base", None, 0)]
    models += [Model("adversary", "adversary", lam, s) for lam in lams for s in seeds]
    models += [Model("seed", "given", None, s) for s in others]
    models += [Model("control", name, None, s) for name in names for s in seeds]
    labels = {split: random.integers(0, classes, N) for split in ("validation", "test")}
    frames = {
        (model, split): drawn(random, classes, labels[split])
        for model in models
        for split in labels
    }
    parts = [
        rows_of(model, pd.concat([frames[model, s].assign(split=s) for s in labels]))
        for model in models
    ]
    told: Mapping[str, Any] = {
        "format": 2,
        "lams": list(lams),
        "seeds": list(seeds),
        "split": "test",
        "classes": [f"class {n}" for n in range(classes)],
        "tolerance": 0.01,
        "left_out": {},
        **manifest,
    }
    return Adversaries(in_order(pd.concat(parts, ignore_index=True)), told), frames


def of(frames: Frames, kind: str, split: str = "test", **wanted: Any) -> list[pd.DataFrame]:
    """The frames of one kind, by what names a model."""
    return [
        frame
        for (model, own), frame in frames.items()
        if (model.kind, own) == (kind, split)
        and all(getattr(model, name) == value for name, value in wanted.items())
    ]

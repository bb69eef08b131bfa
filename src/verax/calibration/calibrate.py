"""`calibrate_like`: thresholds for one model and its texts, measured on models like it."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from verax.calibration.corpora import PLANTED, CorpusSpec, Tokens, corpus_with_evidence
from verax.calibration.kinds import DECEPTIVE, HONEST, KINDS, Kind
from verax.calibration.limits import CHOOSING, CalibratedModels, cross_fitted_limits
from verax.calibration.models import ModelFactory, TrainingBudget
from verax.corpora.corpus import Corpus
from verax.exams.judgement.limits import LimitSet
from verax.files import json_text, write_text
from verax.models.classifier import AttentionClassifier
from verax.portable import corpus_name
from verax.studies import run_grid

LIMITS, GRID = "limits.json", "models"
"""The file of thresholds, and the folder of the trained models' numbers."""
LONGEST = {"transformer": 60}
"""Words beyond which models of an encoder are not trained: their cost grows with the square."""
_TEXTS = "VERAX_CALIBRATION_TEXTS"
"""The environment variable by which worker processes find the texts of `calibrate_like`."""


def calibrate_like(
    model: AttentionClassifier,
    corpus: Corpus,
    out: str | os.PathLike[str],
    *,
    seeds: int = 6,
    budget: TrainingBudget | None = None,
    workers: int = 1,
    progress: bool | None = None,
) -> LimitSet:
    """Measure thresholds for one model and its texts, on models of known honesty.

    Models with this model's encoder are trained on its texts with evidence planted into them: some
    so that their attention must be honest, others so that it deceives. Those that pass their gates
    are examined, and a threshold of an exam is where the numbers of both sides part. Thresholds are
    cross-fitted: their error rates are of seeds that they were not chosen on. Run it again with the
    same arguments to resume.

    Args:
        model: a model that Verax trained.
        corpus: its texts; their number of classes and mean length are kept.
        out: a folder, which gets `limits.json` and the numbers of the trained models.
        seeds: models of each kind; a third of them is left out in turn.
        budget: how models are trained and examined.
        workers: processes, each on one core.
        progress: whether to show bars; None shows them on a terminal and in a notebook.

    Returns:
        Thresholds for `verax.examine(limits=…)` and `Verdict.judge`.
    """
    lengths = model.encode(corpus.train).word_counts
    texts = corpus_name(str(corpus.config.get("corpus") or corpus.name))
    spec = CorpusSpec(texts, max(10, round(float(np.mean(lengths)))), max(2, len(corpus.classes)))
    budget = budget or TrainingBudget()
    groups = group_configs(kinds_like(model.options.encoder, spec.length), spec, seeds, budget)
    if texts != PLANTED:
        groups = [{**group, "fingerprint": corpus.fingerprint} for group in groups]
    with _shared(model, corpus, budget.documents):
        grid = run_grid(train_group, groups, Path(out) / GRID, workers=workers, progress=progress)
    name = f"like {texts} {model.fingerprint}"
    provenance = f"Measured by verax calibrate on models like {model.fingerprint}, {texts}."
    limits = cross_fitted_limits(CalibratedModels.from_grid(grid), name, provenance)
    write_text(Path(out) / LIMITS, json_text(limits.to_json(whole=True)) + "\n")
    return limits


def kinds_like(encoder: str, length: int) -> list[Kind]:
    """Return the kinds of models to calibrate an encoder with.

    Honest are kinds whose states hold their word, and those of the encoder; deceptive are kinds of
    the encoder, or of all encoders if its own states hold their word and cannot deceive.
    """
    own = [kind for kind in KINDS.values() if kind.encoder == encoder]
    honest = [k for k in KINDS.values() if k.side == HONEST and k.encoder in ("none", "mlp")]
    deceptive = [k for k in own if k.side == DECEPTIVE]
    if not deceptive:
        deceptive = [k for k in KINDS.values() if k.side == DECEPTIVE and not k.adversary]
    kinds = dict.fromkeys([*honest, *(k for k in own if k.side == HONEST), *deceptive])
    return [kind for kind in kinds if length <= LONGEST.get(kind.encoder, length)]


def group_configs(
    kinds: list[Kind], spec: CorpusSpec, seeds: int, budget: TrainingBudget
) -> list[dict[str, Any]]:
    """Return configurations of `train_group`: kinds of one encoder share a plain twin."""
    encoders = dict.fromkeys(kind.encoder for kind in kinds)
    return [
        {
            **asdict(spec),
            "encoder": encoder,
            "kinds": [kind.name for kind in kinds if kind.encoder == encoder],
            "seed": seed,
            "part": CHOOSING,
            "budget": asdict(budget),
        }
        for seed in range(seeds)
        for encoder in encoders
    ]


def train_group(config: Mapping[str, Any]) -> dict[str, pd.DataFrame]:
    """Train models that share a corpus, a seed and an encoder, and examine those that pass.

    A function for `verax.run_grid`.

    Args:
        config: texts, length and classes of the corpus; kinds, by name; seed; part; and budget.

    Returns:
        The tables of `CalibratedModels`.
    """
    budget = TrainingBudget(**config["budget"])
    spec = CorpusSpec(config["texts"], config["length"], config["classes"])
    source = None if spec.texts == PLANTED else _loaded(os.environ[_TEXTS])
    corpus = corpus_with_evidence(spec, budget.documents, config["seed"], source)
    return tables_of(config, ModelFactory(corpus, config["seed"], budget), KINDS)


def tables_of(
    config: Mapping[str, Any], factory: ModelFactory, kinds: Mapping[str, Kind]
) -> dict[str, pd.DataFrame]:
    """Train and examine the models of a group.

    Args:
        config: as that of `train_group`.
        factory: trains them.
        kinds: all kinds, by name.
    """
    about = {name: config[name] for name in ("texts", "length", "classes", "seed", "part")}
    rows, numbers = [], []
    for kind in config["kinds"]:
        row, frame = factory.measured(kinds[kind])
        name = f"{kind}.{about['texts']}.{about['length']}.{about['classes']}.{about['seed']}"
        rows.append({"name": name, **row, **about})
        if frame is not None:
            numbers.append(frame.assign(name=name))
    tables = {"models": pd.DataFrame(rows)}
    return tables | ({"numbers": pd.concat(numbers, ignore_index=True)} if numbers else {})


@contextmanager
def _shared(model: AttentionClassifier, corpus: Corpus, documents: int) -> Iterator[None]:
    """Give worker processes the texts of a corpus; nothing of them is kept."""
    with tempfile.TemporaryDirectory() as folder:
        for name, split in corpus.splits.items():
            some = split.take(np.arange(min(documents, len(split))))
            tokens = model.encode(some).words
            (Path(folder) / f"{name}.json").write_text(json.dumps(tokens), encoding="utf-8")
        os.environ[_TEXTS] = folder
        try:
            yield
        finally:
            del os.environ[_TEXTS]


@lru_cache(maxsize=1)
def _loaded(folder: str) -> Tokens:
    paths = Path(folder).glob("*.json")
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}

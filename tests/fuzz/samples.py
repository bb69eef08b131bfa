"""One small instance of everything that Verax saves, made once, to be copied and spoilt."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch

import verax
from support.internals import PRIVATE_TABLES, Runner
from verax import Result
from verax.exams import load_limits
from verax.studies import HereEngine, Store, StudyResults, pack, read_study

STUDY: Mapping[str, Any] = {
    "name": "sample",
    "corpora": {"planted": {"documents": 60}},
    "models": {
        "encoder": "none",
        "projection": {"sparsegen": {"lam": [-1.0, 0.5]}},
        "embedding_size": 4,
    },
    "training": {"epochs": 1},
    "seeds": [0],
    "weights": True,
    "exams": ["dispersion", "agreement", "replacement"],
}
RESULTS = ("verdict", "sweep", "comparison", "adversaries")


@dataclass(frozen=True)
class Samples:
    """Folders of one of each kind, and what opening them gave before anything was spoilt."""

    folder: Path
    corpus: verax.Corpus
    model: verax.AttentionClassifier
    contents: Mapping[str, Mapping[str, Any]]
    pages: bool = True
    """Whether cases make pages and charts, which take longest."""

    def copy(self, kind: str, into: Path) -> Path:
        """A copy of a sample, to be spoilt."""
        target = into / kind
        shutil.copytree(self.folder / kind, target)
        return target


def make_samples(folder: Path, pages: bool = True) -> Samples:
    """All samples, in a folder; a few seconds."""
    torch.set_num_threads(1)
    corpus = verax.load_corpus("planted", documents=60)
    model = verax.train(corpus, encoder="none", epochs=1, embedding_size=4)
    model.save(folder / "model")
    exams = ["erasure", "agreement", "replacement", "single_token", "adversary"]
    verdict = verax.examine(model, corpus, exams, gallery=3)
    verdict.save(folder / "verdict")
    store = folder / "store"
    study = read_study(STUDY)
    runner = Runner(study, Store.create(store, study.name, study.text, study.resolved()))
    runner.run(HereEngine("cpu"), study.cells)
    results = verax.open_study(store)
    pack(store, folder / "packed", weights=True)
    verax.Sweep.of_study(results).save(folder / "sweep")
    one, other = results.verdicts().values()
    verax.compare({"one": one, "other": other}).save(folder / "comparison")
    of_seeds = verax.adversaries(model, corpus, lams=[0.1], seeds=[1], controls=False, retrain=[2])
    of_seeds.save(folder / "adversaries")
    limits = {"version": "ours", "limits": {"replacement": {"for_below": 75.0}}}
    (folder / "limits").mkdir()
    newest = load_limits()
    assert newest.calibration is not None
    measured = {**newest.to_json(), "version": "measured-here"}
    measured["calibration"] = newest.calibration.to_json()
    (folder / "limits" / "limits.json").write_text(json.dumps(limits), encoding="utf-8")
    (folder / "limits" / "measured.json").write_text(json.dumps(measured), encoding="utf-8")
    kinds = (*RESULTS, "model", "store", "packed")
    contents = {kind: content_of(kind, folder / kind) for kind in kinds}
    return Samples(folder, corpus, model, contents, pages)


def content_of(kind: str, folder: Path) -> dict[str, Any]:
    """All that a saved thing holds, flat: path → plain value, or a table's column as a list."""
    if kind == "model":
        return flat_model(verax.load(folder, device="cpu"))
    opened = verax.open(folder)
    if isinstance(opened, StudyResults):
        return flat_study(opened)
    assert isinstance(opened, Result)
    return flat_result(opened)


def flat_model(model: verax.AttentionClassifier) -> dict[str, Any]:
    flat = {"vocabulary": list(model.vocabulary.words), "classes": list(model.classes)}
    flat |= _flat("model", model.describe())
    flat |= _flat("tokenizer", vars(model.word_tokenizer))
    flat |= _flat("", dict(model.record))
    flat |= _columns("history", model.history)
    return flat | {f"weights/{n}": v.tolist() for n, v in model.state_dict().items()}


def flat_result(result: Result) -> dict[str, Any]:
    flat = _flat("", dict(result.manifest))
    for name, table in getattr(result, PRIVATE_TABLES)().items():
        flat |= _columns(f"table/{name}", table)
    return flat


def flat_study(results: StudyResults) -> dict[str, Any]:
    flat = _columns("cells", results.cells)
    for key in results.done:
        flat |= _flat(f"verdict/{key}", results.manifest(key))
        for name, table in results.verdict(key).tables.items():
            flat |= _columns(f"table/{key}/{name}", table)
        flat |= {f"model/{key}/{n}": v for n, v in flat_model(results.model(key)).items()}
    return flat


def _flat(path: str, value: Any) -> dict[str, Any]:
    if isinstance(value, Mapping) and value:
        parts: dict[str, Any] = {}
        for key, part in value.items():
            parts |= _flat(f"{path}/{key}".strip("/"), part)
        return parts
    return {path: list(value) if isinstance(value, tuple) else value}


def _columns(path: str, table: pd.DataFrame) -> dict[str, Any]:
    columns = {str(name): table[name].astype(object) for name in table}
    return {
        f"{path}/{name}": [None if _missing(v) else v for v in column.tolist()]
        for name, column in columns.items()
    }


def _missing(value: Any) -> bool:
    return value is None or value is pd.NA or (isinstance(value, float) and value != value)

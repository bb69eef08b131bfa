"""A packed study of format 1 that nobody ran, with the names and the machine of its time."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

from verax.progress import Progress
from verax.studies.store import packing
from verax.studies.store.cells import table_file
from verax.studies.store.sources import DONE, FAILED, CellState

HOST, FOLDER = "workstation-7", "/home/somebody"
FIRST, SECOND, THIRD = "0" * 16, "1" * 16, "2" * 16
TEXT = f"""name: paper.part
question: does fragility come of leakage?
training: {{vectors: {FOLDER}/glove.txt.gz}}
exams:
- fragility:
    permutations: 4
- leakage
- information: {{words: 50}}
- dispersion:
    spread: gradient
split: test
"""
SUMMARY = [
    ("fragility", "fragility_documents", "documents", "value", 9.0),
    ("fragility", "fragility", "permuted (4 draws)", "Δ F1", -1.5),
    ("fragility", "fragility", "uniform", "decisions that survive", 87.5),
    ("leakage", "leakage", "correct decisions", "a token alone", 0.75),
    ("information", "information", "frequent words", "kept", 12.0),
    ("dispersion", "entropy", "gradient, of inputs on an item's magnitude", "mean", 0.5),
    ("adversary", "adversary_groups", "class 0, max α 0.25–0.5", "> 0.5, ε = 0.05", 31.0),
    ("adversaries", "adversaries_controls", "mlp, guided by base", "validation F1", 80.0),
]
"""exam, table, row, column, value."""


def configuration(seed: int) -> dict[str, Any]:
    return {
        "corpus": {"corpus": "sst", "lowercase": True},
        "fingerprint": "print of sst",
        "model": {"encoder": "none", "projection": "softmax"},
        "training": {"epochs": 3, "vectors": f"{FOLDER}/glove.txt.gz"},
        "seed": seed,
        "exams": {
            "fragility": {"permutations": 4},
            "leakage": {},
            "information": {"words": 50},
            "dispersion": {"spread": "gradient"},
        },
        "split": "test",
        "sample": None,
        "vectors": "sha256:0123456789abcdef",
        "exam_seed": 0,
    }


def facts(seed: int) -> dict[str, Any]:
    return {
        "versions": {"verax": "0.1.0", "torch": "2.6"},
        "device": "cpu",
        "host": HOST,
        "platform": "Linux-6.1.2-custom-x86_64-with-glibc2.36",
        "seconds": {"total": 2.0},
        "seed": seed,
        "test": {"accuracy": 0.75},
        "model_of": FIRST if seed else None,
    }


def verdict() -> dict[str, Any]:
    own = configuration(0)
    return {
        "format": 1,
        "exams": list(own["exams"]),
        "options": own["exams"],
        "tables": ["fragility", "information", "leakage_tokens", "adversaries"],
        "classes": ["/b/", "1"],
        "corpus": own["corpus"],
        "model": {"training": own["training"]},
    }


def tables(seed: int, rows: list[tuple[str, str, str, str, float]]) -> dict[str, pd.DataFrame]:
    names = ["exam", "table", "row", "column", "value"]
    summary = pd.DataFrame(rows, columns=names).assign(low=0.25, high=float("nan"), n=9)
    kinds = pd.Categorical(["uniform", "permuted"], ["trained", "uniform", "permuted"])
    return {
        "summary": summary.assign(value=summary["value"] + seed),
        "history": pd.DataFrame({"epoch": [1, 2], "loss": [0.5, 0.25 + seed]}),
        "fragility": pd.DataFrame({"id": [0, 1], "attention": kinds, "value": [seed, 0.5]}),
        "information": pd.DataFrame({"id": [seed], "value": [3.5]}),
        "adversaries": pd.DataFrame({"name": pd.Categorical(["base", "mlp, own"]), "id": [0, 0]}),
        "leakage_tokens": pd.DataFrame({"id": [0, 0], "item": [0, 1], "p": [0.1, 0.2 + seed]}),
    }


class OldStudy:
    """What `Packing` asks of a store, of two finished cells and one that failed."""

    name, shown = "paper.part", "old"
    about: Mapping[str, Any] = {"format": 1, "verax": "0.1.0", "name": "paper.part"}

    def __init__(self, rows: list[tuple[str, str, str, str, float]]) -> None:
        self._tables = {FIRST: tables(0, rows), SECOND: tables(1, rows)}
        done = {
            key: CellState(
                DONE, configuration(n), facts(n), sorted(self._tables[key]), left_out=["leakage"]
            )
            for n, key in enumerate(self._tables)
        }
        failure = {
            "cell": THIRD,
            "reason": "error",
            "error": f"OSError: cannot read {FOLDER}/glove.txt.gz",
            "traceback": f'File "{FOLDER}/env/site-packages/verax/files.py", line 3, in read\n',
            "config": configuration(2),
        }
        self.states = {**done, THIRD: CellState(FAILED, configuration(2), failure=failure)}
        self.resolved: Mapping[str, Any] = {
            "name": self.name,
            "question": "why?",
            "hardware": {"engine": "ray", "address": f"{HOST}:6379"},
            "weights": False,
            "cells": {key: dict(state.config) for key, state in self.states.items()},
        }

    def text(self) -> str:
        return TEXT

    def schema(self, key: str, name: str) -> pa.Schema:
        return self.table(key, name).schema

    def table(self, key: str, name: str) -> pa.Table:
        whole = self._tables[key][name].copy()
        whole.insert(0, "cell", pd.Series(pd.Categorical([key] * len(whole), [key])))
        buffer = io.BytesIO()
        whole.to_parquet(buffer, index=False)
        return parquet.ParquetFile(pa.BufferReader(buffer.getvalue())).read()

    def files(self, key: str) -> list[str]:
        return [*(table_file(name) for name in self._tables[key]), "verdict.json"]

    def file(self, key: str, name: str) -> bytes:
        return json.dumps(verdict(), indent=2).encode()

    def model(self, key: str) -> dict[str, bytes]:
        return {}


def pack_old(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[str, str, str, str, float]] | None = None,
) -> Path:
    """Write the study in format 1 into a folder."""
    study = OldStudy(SUMMARY if rows is None else rows)
    folder.mkdir(parents=True)
    with monkeypatch.context() as patch:
        patch.setattr(packing, "PACKED", 1)
        patch.setattr(packing, "portable_study", lambda text: text)
        with Progress(False) as display:
            packing.Packing(study, None, weights=False).write(folder, display)
    return folder

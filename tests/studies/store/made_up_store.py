"""Stores of cells that nobody trained: every number in them was chosen."""

from __future__ import annotations

import io
import json
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
from pyarrow import fs
from pyarrow._fs import _MockFileSystem

from verax.exams.authoring import number_cell, summary_frame
from verax.studies import Cell, Store

FACTS: dict[str, Any] = {
    "versions": {"verax": "0.1", "torch": "2.13"},
    "device": "cpu",
    "seconds": {"train": 1.5, "examine": 0.5, "total": 2.0},
    "seed": 0,
    "test": {"accuracy": 0.75},
}
MODEL = {
    "model/config.json": b"{}",
    "model/vocabulary.json": b"[]",
    "model/model.safetensors": bytes(range(256)),
}


def made_up_cell(seed: int = 0, corpus: str = "sst", **model: Any) -> Cell:
    return Cell(
        corpus={"corpus": corpus, "lowercase": True},
        fingerprint=f"print of {corpus}",
        model={"encoder": "none", "projection": "softmax", "lam": None, **model},
        training={"epochs": 3, "lr": 0.01},
        seed=seed,
        exams={"single_made": {}, "erasure": {"draws": 5}},
    )


def made_up_number(value: float) -> dict[str, Any]:
    """A cell of a summary."""
    return number_cell("single_made", "é", "value", (value, float("nan"), float("nan")), 3)


def made_up_tables(seed: int = 0) -> dict[str, pd.DataFrame]:
    measures = pd.Categorical(["alone", "agreeing", "alone"], ["alone", "agreeing", "unused"])
    return {
        "summary": summary_frame("single_made", [made_up_number(seed + 0.5)]),
        "history": pd.DataFrame({"epoch": [1, 2, 3], "lr": [0.01, 0.01, 0.005]}),
        "single_made": pd.DataFrame(
            {"id": [0, 0, 1], "measure": measures, "value": [float(seed), None, 0.25]}
        ),
        "erasure_made": pd.DataFrame({"id": [4], "draw": [seed], "word": ["ein Wort"]}),
    }


def labelled(frame: pd.DataFrame, key: str) -> bytes:
    """A table as a cell's file."""
    whole = frame.copy()
    whole.insert(0, "cell", pd.Series(pd.Categorical([key] * len(frame), [key])))
    buffer = io.BytesIO()
    whole.to_parquet(buffer, index=False)
    return buffer.getvalue()


def files_of(
    cell: Cell, tables: Mapping[str, pd.DataFrame] | None = None, weights: bool = False
) -> dict[str, bytes]:
    tables = made_up_tables(cell.seed) if tables is None else tables
    names = [name for name in tables if name not in ("summary", "history")]
    files = {f"{name}.parquet": labelled(table, cell.key) for name, table in tables.items()}
    files["verdict.json"] = json.dumps({"exams": ["single_made"], "tables": names}).encode()
    return files | (MODEL if weights else {})


def resolved(cells: Iterable[Cell], name: str = "made up") -> dict[str, Any]:
    listed = {cell.key: cell.to_json() for cell in cells}
    return {"name": name, "question": "why?", "hardware": {}, "weights": False, "cells": listed}


def made_up_store(
    folder: Any,
    done: Iterable[Cell],
    also: Iterable[Cell] = (),
    filesystem: Any = None,
    weights: bool = False,
    name: str = "made up",
) -> Store:
    """A store in which some cells are done; others are of the study, too."""
    done = list(done)
    told = {**resolved([*done, *also]), "name": name}
    store = Store.create(folder, name, f"name: {name}\n", told, filesystem)
    for cell in done:
        store.commit(cell.key, cell.to_json(), files_of(cell, weights=weights), FACTS)
    store.settle()
    return store


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its inode and time."""
    found = (path for path in folder.rglob("*") if path.is_file())
    return {str(p.relative_to(folder)): (p.stat().st_ino, p.stat().st_mtime_ns) for p in found}


Somewhere = Callable[[Path], tuple[Any, Any]]

PLACES: dict[str, Somewhere] = {
    "local path": lambda tmp: (tmp / "study", None),
    "file URL": lambda tmp: (f"file://{tmp}/study", None),
    "pyarrow local": lambda tmp: (f"{tmp}/study", fs.LocalFileSystem()),
    "pyarrow subtree": lambda tmp: ("study", fs.SubTreeFileSystem(str(tmp), fs.LocalFileSystem())),
    "pyarrow mock": lambda tmp: ("study", _MockFileSystem()),
    "fsspec memory URL": lambda tmp: (f"memory://{uuid.uuid4().hex}/study", None),
    "fsspec memory": lambda tmp: (f"/{uuid.uuid4().hex}/study", fsspec.filesystem("memory")),
    "fsspec local": lambda tmp: (f"{tmp}/study", fsspec.filesystem("file")),
}
LOCAL = ("local path", "file URL", "pyarrow local", "pyarrow subtree", "fsspec local")

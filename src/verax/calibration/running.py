"""Every model of a plan, each kept in a file of its own once it is done, and all of them packed."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict
from functools import lru_cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from verax.calibration.examining import examined, precisions
from verax.calibration.kinds import kind_of
from verax.calibration.making import Effort, Maker, gates_of
from verax.calibration.plan import Spec
from verax.calibration.saved import FINISHED
from verax.calibration.texts import Place, corpus_at
from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.files import parquet_bytes, refuse_unwritable, write_files, write_text
from verax.portable import corpus_name
from verax.schema import SchemaError, checked_json
from verax.training.loop import Diverged
from verax.version import __version__

MODELS, NUMBERS, MANIFEST = "models.parquet", "numbers.parquet", "calibration.json"
PRECISION_DOCUMENTS = 40
KEPT = ("documents", "words", "classes", "labels", "attended")
"""What is kept of an examination's manifest."""


@lru_cache(maxsize=2)
def _corpus(place: Place, documents: int, seed: int, source: str) -> Corpus:
    return corpus_at(place, documents, seed, source)


def make_one(spec: Spec, effort: Effort, maker: Maker) -> dict[str, Any]:
    """A model made, held against its gates and, if it passes, examined; plain values.

    `failed` names the gates that it does not pass; then there are no numbers.
    """
    started = time.monotonic()
    kind = kind_of(spec.kind)
    model, twin = maker.make(kind), maker.twin(kind)
    corpus = maker.corpus_of(kind)
    gates = gates_of(model, twin, corpus)
    trained = time.monotonic() - started
    failed = gates.failed(kind.side)
    result: dict[str, Any] = {
        **_what(spec),
        "torch": torch.__version__,
        "gates": asdict(gates),
        "failed": failed,
    }
    if not failed:
        frame, manifest = examined(model, corpus, effort)
        result["numbers"] = json.loads(frame.to_json(orient="values", double_precision=10))
        result["columns"] = list(frame.columns)
        result["manifest"] = {name: manifest[name] for name in KEPT}
        result["precision"] = precisions(model, corpus, PRECISION_DOCUMENTS)
    seconds = time.monotonic() - started
    return {**result, "training_seconds": round(trained, 2), "seconds": round(seconds, 2)}


def _what(spec: Spec) -> dict[str, Any]:
    """What a model is to be, in plain values."""
    kind = kind_of(spec.kind)
    return {
        "name": spec.name,
        "kind": kind.name,
        "side": kind.side,
        "family": kind.family,
        "encoder": kind.encoder,
        "layers": kind.layers,
        "projection": kind.projection,
        "part": spec.part,
        **asdict(spec.place),
        "texts": corpus_name(spec.place.texts),
        "seed": spec.seed,
    }


def _not_made(spec: Spec, why: str) -> dict[str, Any]:
    """What is kept of a model whose training failed: it is counted, as one that passed no gate."""
    more = {"gates": {}, "failed": ["training"], "why": why}
    return {**_what(spec), **more, "training_seconds": 0.0, "seconds": 0.0}


def make_group(
    specs: Sequence[Spec], effort: Effort, folder: Path, sources: Mapping[str, str]
) -> int:
    """Models that share a corpus, a seed and an encoder; those in the folder already are left."""
    torch.set_num_threads(1)
    missing = [spec for spec in specs if not (folder / f"{spec.name}.json").exists()]
    if missing:
        place, seed, *_ = missing[0].group
        source = sources.get(place.texts, place.texts)
        maker = Maker(_corpus(place, effort.documents, seed, source), seed, effort)
        for spec in missing:
            try:
                result = make_one(spec, effort, maker)
            except Diverged as error:
                result = _not_made(spec, str(error))
            write_text(folder / f"{spec.name}.json", json.dumps(result))
    return len(missing)


def run(
    specs: Sequence[Spec],
    effort: Effort,
    folder: Path,
    *,
    workers: int = 1,
    seconds: float | None = None,
    sources: Mapping[str, str] | None = None,
    said: Callable[[str], None] = lambda line: None,
) -> None:
    """Make every model that the folder does not hold yet.

    Args:
        specs: the plan.
        effort: how models are trained and examined.
        folder: gets a file for each model.
        workers: processes, each on one core.
        seconds: begin nothing after so many; what is left is made by the next call.
        sources: name of texts → where to load them from, if not by that name.
        said: is told how far it got.
    """
    refuse_unwritable(folder / "model.json")
    groups: dict[Any, list[Spec]] = {}
    for spec in specs:
        groups.setdefault(spec.group, []).append(spec)
    # the longest first, so that no core is left alone with them
    order = sorted(groups.values(), key=_cost, reverse=True)
    started = time.monotonic()

    def late() -> bool:
        return seconds is not None and time.monotonic() - started > seconds

    if workers == 1:
        for done, group in enumerate(order, 1):
            if late():
                break
            make_group(group, effort, folder, sources or {})
            said(f"{done} of {len(order)} groups")
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    context = get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        waiting = {pool.submit(make_group, group, effort, folder, sources or {}) for group in order}
        for done, future in enumerate(as_completed(waiting), 1):
            if not future.cancelled():
                future.result()
            if done % 20 == 0 or done == len(order):
                said(f"{done} of {len(order)} groups, {time.monotonic() - started:.0f} s")
            if late():
                for other in waiting:
                    other.cancel()


def _cost(group: Sequence[Spec]) -> float:
    """About how many seconds a group takes on a core."""
    place, kind = group[0].place, kind_of(group[0].kind)
    fixed, by_word = SECONDS.get(kind.encoder, SECONDS["bilstm"])
    return (1 + len(group)) * (fixed + by_word * place.length)


SECONDS = {
    "none": (1.0, 0.03),
    "mlp": (1.5, 0.05),
    "conv": (2.0, 0.1),
    "bilstm": (3.0, 0.12),
    "bigru": (3.0, 0.3),
    "transformer": (4.0, 0.3),
    "bert": (4.0, 0.3),
}
"""Encoder → seconds a model, and a word of its texts; only to begin with what takes longest."""


def pack(folder: Path, out: Path, effort: Effort, made_by: Sequence[str] = ()) -> None:
    """Every model of a folder in three files: models, their numbers, and how they were made.

    Args:
        folder: a file for each model.
        out: folder that gets the three.
        effort: how models were trained and examined.
        made_by: versions of torch, where the models' files do not say it.
    """
    results = [_finished(path) for path in sorted(folder.glob("*.json"))]
    if not results:
        raise VeraxError(
            f"{folder} holds no finished model: run the calibration first", code="result.unfinished"
        )
    models, numbers = tables_of(results)
    about = {
        "verax": __version__,
        "torch": sorted({*made_by, *(str(one["torch"]) for one in results if "torch" in one)}),
        "effort": asdict(effort),
        "models": len(models),
        "core_seconds": round(float(models["seconds"].sum())),
    }
    tables = {MODELS: models, NUMBERS: numbers}
    files = {n: parquet_bytes(t, compression="zstd", index=False) for n, t in tables.items()}
    write_files(out, {**files, MANIFEST: json.dumps(about, indent=2) + "\n"})


def _finished(path: Path) -> dict[str, Any]:
    """What is kept of a model that was made."""
    try:
        return dict(checked_json(path.read_bytes(), FINISHED, path.name))
    except (OSError, SchemaError) as error:
        raise VeraxError(
            f"cannot read {path}: {error}; delete it to make it again", code="result.damaged"
        ) from error


def tables_of(results: Iterable[Mapping[str, Any]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A row per model, and a row per number of each."""
    rows, numbers = [], []
    for result in results:
        flat = {k: v for k, v in result.items() if not isinstance(v, (dict, list))}
        flat |= {f"gate_{name}": value for name, value in result["gates"].items()}
        flat["failed"] = ",".join(result["failed"])
        manifest = result.get("manifest") or {}
        flat["words"] = manifest.get("words")
        flat["labels"] = json.dumps(manifest.get("labels") or {})
        for name, value in (result.get("precision") or {}).items():
            flat[f"precision_{name}"] = value
        rows.append(flat)
        if "numbers" in result:
            frame = pd.DataFrame(result["numbers"], columns=result["columns"])
            frame.insert(0, "name", result["name"])
            numbers.append(frame)
    every = pd.concat(numbers, ignore_index=True) if numbers else pd.DataFrame({"name": []})
    for column in ("value", "low", "high"):
        if column in every:
            every[column] = every[column].astype("float64")
    return pd.DataFrame(rows), every

"""Running one cell: train its model, examine it, and return all results as files."""

from __future__ import annotations

import functools
import gc
import itertools
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import torch

from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Corpus
from verax.device import is_out_of_memory
from verax.errors import VeraxError
from verax.exams.examine import examine
from verax.exams.verdict import Verdict
from verax.files import stamp
from verax.models.classifier import AttentionClassifier
from verax.models.saving import load, model_files
from verax.models.transformers.loading import open_classifier
from verax.plugin_files import import_plugins
from verax.portable import portable
from verax.progress import Reporting
from verax.studies.adversaries import NAME as ADVERSARIES
from verax.studies.adversaries import Adversaries, summarise
from verax.studies.adversary_models import run_adversaries
from verax.studies.engines import engine
from verax.studies.engines.machine import surroundings
from verax.studies.grid.cell import SOURCE
from verax.studies.grid.portable import message_without_texts
from verax.studies.grid.vectors import content
from verax.studies.running.watching import Watcher
from verax.studies.store.store import MODEL, VERDICT, as_json
from verax.studies.store.tables import parquet_bytes
from verax.training.loop import Diverged
from verax.training.train import train

CELL = "cell"
"""The column that says whose a row is."""


def perform(
    job: engine.Job,
    corpus: Corpus,
    *,
    device: str,
    report: Callable[[engine.Progressed], None] = lambda progressed: None,
) -> engine.Finished | engine.Failed:
    """Run a cell; returns `Failed` instead of raising.

    When memory runs out it is run once more from the start with half the micro-batch budget,
    which changes results by rounding at most.
    """
    started, clock = datetime.now(UTC), time.monotonic()
    attempt = _Attempt(job, corpus, device, report, job.max_tokens or MAX_TOKENS)
    outcome = attempt.outcome()
    halved = _is_out_of_memory(outcome) and attempt.budget > 1
    if halved:
        attempt = replace(attempt, budget=attempt.budget // 2)
        report(engine.Progressed(job.cell.key, f"again, max_tokens {attempt.budget}"))
        outcome = attempt.outcome()
    if isinstance(outcome, engine.Failed):
        if halved and _is_out_of_memory(outcome):
            again = f" (and so with max_tokens {attempt.budget})"
            error, kept = f"{outcome.error}{again}", f"{outcome.kept}{again}"
            return replace(outcome, error=error, kept=kept, halved=True)
        return outcome
    seconds = {**outcome.facts["seconds"], "total": round(time.monotonic() - clock, 3)}
    facts = {
        **outcome.facts,
        "seconds": seconds,
        "started": started.isoformat(timespec="seconds"),
        "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        "max_tokens": attempt.budget,
        "halved": halved,
    }
    return replace(outcome, facts=facts)


@dataclass(frozen=True)
class _Attempt:
    """A cell run once; `budget` is in padded tokens held at once."""

    job: engine.Job
    corpus: Corpus
    device: str
    report: Callable[[engine.Progressed], None]
    budget: int

    def outcome(self) -> engine.Finished | engine.Failed:
        outcome: engine.Finished | engine.Failed
        try:
            outcome = self._finish()
        except Exception as error:
            outcome = failure(self.job.cell.key, error)
        # what an exception held is gone by now; others may wait for the memory
        gc.collect()
        if torch.cuda.is_initialized():
            torch.cuda.empty_cache()
        return outcome

    def _finish(self) -> engine.Finished:
        cell, corpus = self.job.cell, self.corpus
        import_plugins(self.job.plugins)
        self._refuse_other_data()
        display = Reporting(lambda *progress: self.report(engine.Progressed(cell.key, *progress)))
        clocks = [time.monotonic()]
        model = self._model(display)
        clocks.append(time.monotonic())
        verdict = examine(
            model,
            corpus,
            None if cell.model.get("every_exam") else list(cell.exams),
            cell.split,
            seed=cell.exam_seed,
            sample=cell.sample,
            max_tokens=self.budget,
            progress=display,
            exam_options=cell.exams,
        )
        clocks.append(time.monotonic())
        adversaries = None
        if cell.adversaries is not None:
            adversaries = self._adversaries(model, cell.adversaries)
            clocks.append(time.monotonic())
        with display.busy("writing"):
            files = _files(cell.key, model, verdict, adversaries, self.job.weights)
        took = (round(b - a, 3) for a, b in itertools.pairwise(clocks))
        facts = {
            **surroundings(self.device),
            "seconds": dict(zip(("train", "examine", ADVERSARIES), took, strict=False)),
            "seed": cell.seed,
            "test": model.record["test"] if cell.is_trained else {},
            "strength_chosen": (model.record.get("strength") or {}).get("chosen"),
            "model_of": self.job.model_of,
        }
        return engine.Finished(cell.key, files, facts)

    def _refuse_other_data(self) -> None:
        """Raise if corpus or vectors are not those that the cell's key stands for."""
        cell, corpus = self.job.cell, self.corpus
        again = "run the study again, so that its cells are listed anew"
        if corpus.fingerprint != cell.fingerprint:
            raise VeraxError(
                f"corpus {corpus.name!r} is not the cell's (its texts or labels differ): {again}",
                code="corpus.changed",
            )
        path = str(cell.training.get("vectors"))
        if cell.vectors is not None and _content(path, tuple(stamp(path) or ())) != cell.vectors:
            raise VeraxError(
                f"{path} does not hold the cell's word vectors any more: {again}",
                code="vectors.changed",
            )

    def _model(self, display: Reporting) -> AttentionClassifier:
        """The cell's model: trained, or the one that was for another cell of the same model."""
        cell, device = self.job.cell, self.device
        if not cell.is_trained:
            with display.busy("opening the model"):
                return open_classifier(cell.model[SOURCE], device)
        if self.job.model is None:
            how: dict[str, Any] = {"device": device, "progress": display}
            how["max_tokens"] = self.budget
            return train(self.corpus, seed=cell.seed, **how, **cell.model, **cell.training)
        with display.busy("loading"), tempfile.TemporaryDirectory(prefix="verax-") as scratch:
            for name, data in self.job.model.items():
                (Path(scratch) / Path(name).name).write_bytes(data)
            return load(scratch, device)

    def _adversaries(self, model: AttentionClassifier, asked: Mapping[str, Any]) -> Adversaries:
        """The cell's adversaries, and what they are read by."""
        cell = self.job.cell
        # a model that was kept may have begun with a file that has another name by now
        shared = {} if cell.vectors is None else {"vectors": cell.training["vectors"]}
        how: dict[str, Any] = {"device": self.device, "max_tokens": self.budget, **shared, **asked}
        watcher = _InnerWatcher(cell.key, self.report)
        return run_adversaries(model, self.corpus, split=cell.split, watcher=watcher, **how)


class _InnerWatcher(Watcher):
    """Reports the progress of a cell's adversaries as progress of the cell."""

    def __init__(self, key: str, report: Callable[[engine.Progressed], None]) -> None:
        self.key, self.report = key, report
        self.started = self.total = 0

    def begins(self, where: str, cells: int, done: int, failed: int) -> None:
        self.total = cells

    def starts(self, key: str) -> None:
        self.started += 1

    def progresses(self, progress: engine.Progressed) -> None:
        what = f"{ADVERSARIES} {self.started}/{self.total}, {progress.what}"
        self.report(replace(progress, key=self.key, what=what))


@functools.lru_cache(maxsize=4)
def _content(path: str, stamp: tuple[int, ...]) -> str:
    """The hash of a file, computed again when its size or time has changed."""
    return content(path)


def failure(key: str, error: BaseException) -> engine.Failed:
    """The failure of a cell, from an exception."""
    text, kind = str(error).strip(), type(error).__name__
    code = error.code if isinstance(error, VeraxError) else None
    if code is None:
        text = f"{kind}: {engine.first_line(error)}" if text else kind
    reason = engine.OUT_OF_MEMORY if is_out_of_memory(error) else engine.ERROR
    reason = engine.DIVERGED if isinstance(error, Diverged) else reason
    reason = error.reason if isinstance(error, engine.CellError) else reason
    words = "".join(traceback.format_exception(error))
    return engine.Failed(key, reason, text, words, kept=message_without_texts(error), code=code)


def _is_out_of_memory(outcome: engine.Finished | engine.Failed) -> bool:
    return isinstance(outcome, engine.Failed) and outcome.reason == engine.OUT_OF_MEMORY


def _files(
    key: str,
    model: AttentionClassifier,
    verdict: Verdict,
    adversaries: Adversaries | None,
    weights: bool,
) -> dict[str, bytes]:
    history = {"history": model.history} if model.trained_here else {}
    tables = {"summary": verdict.summary(), **history, **verdict.tables}
    if adversaries is not None:
        both = [tables["summary"], summarise(adversaries)]
        tables["summary"] = pd.concat(both, ignore_index=True)
        tables[ADVERSARIES] = adversaries.instances
    files = {f"{name}.parquet": parquet(table, key) for name, table in tables.items()}
    files[VERDICT] = as_json(portable(verdict.manifest)) + b"\n"
    if weights and model.trained_here:
        files |= {f"{MODEL}/{name}": data for name, data in model_files(model).items()}
    return files


def parquet(table: pd.DataFrame, key: str) -> bytes:
    """A table as Parquet with its cell's key in front, as a dictionary of one word."""
    named = table.reset_index(drop=True)
    codes = np.zeros(len(named), dtype=np.int8)
    named.insert(0, CELL, pd.Series(pd.Categorical.from_codes(codes, pd.Index([key]))))
    return parquet_bytes(pa.Table.from_pandas(named, preserve_index=False))

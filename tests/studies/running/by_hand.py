"""An engine without processes: a function says what becomes of each job."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from made_up_cells import cell

import verax
from verax.studies.engines.engine import LOST, Event, Failed, Finished, Job
from verax.studies.grid.study import Hardware, Study

Fate = Callable[[Job, int], Event]
"""A job, and how often it was submitted with this time → how it ends."""


def fine(job: Job, time: int) -> Event:
    facts = {"versions": {"verax": "0.0.made-up"}}
    return Finished(job.cell.key, {"table.parquet": job.cell.key.encode()}, facts)


def lost(job: Job, time: int) -> Event:
    return Failed(job.cell.key, LOST, "the worker was killed")


class EngineByHand:
    """Ends one job with each `wait`, the oldest first."""

    def __init__(self, workers: int = 2, fate: Fate = fine) -> None:
        self.workers = workers
        self.fate = fate
        self.jobs: list[Job] = []
        self.submitted: Counter[str] = Counter()
        self.most = 0
        self.stopped = 0

    @property
    def free(self) -> int:
        return self.workers - len(self.jobs)

    def describe(self) -> str:
        return "by hand"

    def submit(self, job: Job, corpus: verax.Corpus) -> None:
        assert self.free > 0
        assert corpus.fingerprint == job.cell.fingerprint
        self.jobs.append(job)
        self.submitted[job.cell.key] += 1
        self.most = max(self.most, len(self.jobs))

    def wait(self, timeout: float) -> list[Event]:
        job = self.jobs.pop(0)
        return [self.fate(job, self.submitted[job.cell.key])]

    def stop(self) -> None:
        self.stopped += 1


def study_of(seeds: int = 4, **settings: Any) -> Study:
    corpus = verax.load_corpus("planted", documents=60)
    cells = tuple(cell(corpus, seed=seed) for seed in range(seeds))
    given: dict[str, Any] = {
        "name": "made-up",
        "question": None,
        "text": "corpora: planted\n",
        "cells": cells,
        "hardware": Hardware(),
        "weights": False,
        "corpora": {corpus.fingerprint: corpus},
        "notes": (),
        "labels": {c.key: f"seed {c.seed}" for c in cells},
    }
    return Study(**{**given, **settings})

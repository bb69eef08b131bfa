"""An engine without processes: a function decides how each job ends."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from verax import Corpus
from verax.studies import LOST, Failed, Finished, Job
from verax.studies.engines.engine import Event

Fate = Callable[[Job, int], Event]
"""A job, and how often it was submitted including this time → how it ends."""


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

    def submit(self, job: Job, corpus: Corpus) -> None:
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

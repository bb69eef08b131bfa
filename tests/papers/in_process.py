"""Studies run without workers: each cell where the test is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import verax
from verax.studies.engines.engine import Event, Job
from verax.studies.engines.performing import perform
from verax.studies.grid import read_study
from verax.studies.grid.hardware import Hardware
from verax.studies.running.runner import Ran, Runner
from verax.studies.store.store import Store


class InProcess:
    """An engine of one seat: a cell is run when it is waited for."""

    def __init__(self, hardware: Hardware | None = None) -> None:
        self.jobs: list[tuple[Job, verax.Corpus]] = []

    @property
    def free(self) -> int:
        return 1 - len(self.jobs)

    def describe(self) -> str:
        return "here"

    def submit(self, job: Job, corpus: verax.Corpus) -> None:
        self.jobs.append((job, corpus))

    def wait(self, timeout: float) -> list[Event]:
        job, corpus = self.jobs.pop()
        return [perform(job, corpus, device="cpu")]

    def stop(self) -> None: ...


def run_here(study: Mapping[str, Any], folder: Path) -> Ran:
    read = read_study(study)
    store = Store.create(folder, read.name, read.text, read.resolved())
    runner = Runner(read, store)
    return runner.run(InProcess(), runner.pending())

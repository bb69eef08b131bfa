"""The engine of this process: one cell at a time, where it is waited for."""

from __future__ import annotations

from verax.corpora.corpus import Corpus
from verax.device import resolve_device
from verax.progress import Progress
from verax.studies.engines.engine import Event, Job, Progressed
from verax.studies.engines.performing import perform


class HereEngine:
    """Runs cells in the process that asks, with its threads, so that numbers are its own.

    An interruption ends the cell that runs and is passed on. With `progress` bars show how far the
    cell got.
    """

    workers = 1

    def __init__(self, device: str = "auto", progress: bool = False) -> None:
        self._device = str(resolve_device(device))
        self._progress = progress
        self._waiting: list[tuple[Job, Corpus]] = []

    @property
    def free(self) -> int:
        return 1 - len(self._waiting)

    def describe(self) -> str:
        return f"this process, {self._device}"

    def submit(self, job: Job, corpus: Corpus) -> None:
        if not self.free:
            raise RuntimeError("the cell before is not run yet: wait for it")
        self._waiting.append((job, corpus))

    def wait(self, timeout: float) -> list[Event]:
        if not self._waiting:
            return []
        job, corpus = self._waiting.pop()
        with Progress(self._progress) as display:

            def show(progress: Progressed) -> None:
                display.tell(progress.what, progress.done, progress.total, progress.note)

            return [perform(job, corpus, device=self._device, report=show)]

    def stop(self) -> None:
        self._waiting.clear()

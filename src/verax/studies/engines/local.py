"""The engines of one machine: this process, or worker processes on its cores or its GPUs."""

from __future__ import annotations

import math
import os
import queue
import weakref
from collections.abc import Callable

from verax.corpora.corpus import Corpus
from verax.device import resolve_device
from verax.errors import VeraxError
from verax.studies.engines import engine, mps
from verax.studies.engines.machine import cores, gpu_name, gpus
from verax.studies.engines.worker import EventQueue, WorkerProcess, end
from verax.studies.grid.study import Hardware


class HereEngine:
    """An engine that runs cells one by one in the current process.

    An interruption ends the current cell and propagates.

    Args:
        device: auto, cpu, cuda or cuda:1.
        report: called with the progress of a cell.
    """

    workers = 1

    def __init__(
        self,
        device: str = "auto",
        report: Callable[[engine.Progressed], None] = lambda progress: None,
    ) -> None:
        self._device = str(resolve_device(device))
        self._report = report
        self._waiting: list[tuple[engine.Runnable, Corpus | None]] = []

    @property
    def free(self) -> int:
        return 1 - len(self._waiting)

    def describe(self) -> str:
        return f"this process, {self._device}"

    def submit(self, job: engine.Runnable, corpus: Corpus | None) -> None:
        if not self.free:
            raise RuntimeError("the cell before is not run yet: wait for it")
        self._waiting.append((job, corpus))

    def wait(self, timeout: float) -> list[engine.Event]:
        if not self._waiting:
            return []
        job, corpus = self._waiting.pop()
        return [job.run(corpus, device=self._device, report=self._report)]

    def stop(self) -> None:
        self._waiting.clear()


MOST_ON_A_GPU = 12
"""Cells that share a GPU under MPS: more gain nothing."""


class LocalEngine:
    """An engine that runs cells in local processes, started on demand."""

    def __init__(self, hardware: Hardware | None = None) -> None:
        self._hardware = hardware = hardware or Hardware()
        self._gpus = gpus(hardware.device)
        self._service: mps.MPS | None = None
        self._mps_error = ""
        self._mps = bool(self._gpus) and mps.running()
        if self._gpus and hardware.mps and not self._mps:
            try:
                self._service = mps.MPS.start()
                self._mps = True
            except VeraxError as error:
                self._mps_error = str(error)
        self.workers = _number_of_workers(hardware, len(self._gpus), self._mps)
        self._idle: list[WorkerProcess] = []
        self._busy: list[WorkerProcess] = []
        self._events: EventQueue = queue.SimpleQueue()
        self._pickled: dict[str, bytes] = {}
        # also when nobody calls `stop`; the callback must not refer to the engine itself
        self._end = weakref.finalize(
            self, _stop, os.getpid(), self._idle, self._busy, self._service
        )

    @property
    def free(self) -> int:
        return self.workers - len(self._busy) if self._end.alive else 0

    @property
    def pids(self) -> list[int]:
        """The worker processes that run."""
        return [w.process.pid for w in (*self._idle, *self._busy) if w.alive]

    def describe(self) -> str:
        if not self._gpus:
            threads = engine.count(self._hardware.threads, "thread")
            return f"{engine.count(self.workers, 'worker')}, {threads} each, CPU"
        used = min(self.workers, len(self._gpus))
        each = math.ceil(self.workers / used)
        name = gpu_name()
        words = f"{engine.count(each, 'cell')} on each of {engine.count(used, 'GPU')}"
        words += f" ({name})" if name else ""
        if self._mps:
            words += ", MPS on"
        elif each > 1:
            words += ", without MPS, where several are slower than one: start it with --mps"
        return f"{words}; {self._mps_error}" if self._mps_error else words

    def submit(self, job: engine.Runnable, corpus: Corpus | None) -> None:
        if not self.free:
            raise RuntimeError("no worker is free: wait for one")
        name = engine.corpus_name(corpus)
        worker = self._worker_for(name)
        data = None
        if corpus is not None and name not in worker.corpora:
            data = self._pickle(name, corpus)
        worker.begin(job, name, data, self._events)
        self._busy.append(worker)

    def wait(self, timeout: float) -> list[engine.Event]:
        events: list[engine.Event] = []
        try:
            worker, event = self._events.get(timeout=max(0.0, timeout))
            while self._end.alive:
                self._settle(worker, event)
                events.append(event)
                worker, event = self._events.get_nowait()
        except queue.Empty:
            pass
        return events

    def stop(self) -> None:
        self._end()

    def _worker_for(self, corpus: str) -> WorkerProcess:
        """An idle worker, preferably one that has the corpus; a new one where none is idle."""
        dead = [worker for worker in self._idle if not worker.alive]
        for worker in dead:
            self._idle.remove(worker)
        end(dead)
        for worker in sorted(self._idle, key=lambda worker: corpus not in worker.corpora):
            self._idle.remove(worker)
            return worker
        busy = [worker.device for worker in self._busy]
        device = min(self._gpus or ["cpu"], key=busy.count)
        environment = self._service.environment if self._service else {}
        return WorkerProcess(device, self._hardware.threads, environment)

    def _pickle(self, name: str, corpus: Corpus) -> bytes:
        if name not in self._pickled:
            self._pickled[name] = engine.pickled_corpus(corpus)
            for oldest in list(self._pickled)[: -engine.KEPT_CORPORA]:
                del self._pickled[oldest]
        return self._pickled[name]

    def _settle(self, worker: WorkerProcess, event: engine.Event) -> None:
        if isinstance(event, engine.Progressed):
            return
        self._busy.remove(worker)
        if isinstance(event, engine.Failed) and event.reason in engine.REPLACED:
            end([worker])
        else:
            self._idle.append(worker)


def _number_of_workers(hardware: Hardware, gpus: int, with_mps: bool) -> int:
    if not gpus:
        return hardware.workers or max(1, cores() // hardware.threads)
    each = hardware.cells_per_gpu
    if each is None:
        each = max(1, min(MOST_ON_A_GPU, (cores() - 1) // gpus)) if with_mps else 1
    if hardware.workers is None:
        return gpus * each
    most = hardware.workers if hardware.cells_per_gpu is None else gpus * each
    return min(hardware.workers, most)


def _stop(
    pid: int, idle: list[WorkerProcess], busy: list[WorkerProcess], service: mps.MPS | None
) -> None:
    if os.getpid() != pid:  # a fork that ends: the workers belong to its parent
        return
    workers = [*idle, *busy]
    idle.clear()
    busy.clear()
    try:
        end(workers)
    finally:
        if service is not None:
            service.stop()

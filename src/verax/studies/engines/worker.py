"""A process that runs cell after cell, as it sees itself and as its parent sees it."""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing.spawn
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import NamedTuple

import torch

from verax.corpora.corpus import Corpus
from verax.studies.engines import engine

CODE = (
    "import sys; sys.path[:] = sys.argv[5:]; "
    "from verax.studies.engines.worker import work; work(*sys.argv[1:5])"
)


class Order(NamedTuple):
    """A message to a worker; the corpus follows unless the worker has it or the job needs none.

    `corpus` is its name, empty without one. `keep` are the corpora to keep, that of the job among
    them.
    """

    job: engine.Runnable
    corpus: str
    keep: Sequence[str]


def work(descriptor: str, parent: str, device: str, threads: str) -> None:
    """Run orders from a socket until it is closed; send progress and outcome of each."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent to handle
    faulthandler.enable()
    threading.Thread(target=_end_with, args=(int(parent),), daemon=True).start()
    torch.set_num_threads(int(threads))
    if device != "cpu":
        torch.cuda.set_device(device)
    connection = Connection(int(descriptor))
    os.set_inheritable(connection.fileno(), False)
    corpora: dict[str, Corpus] = {}
    while True:
        try:
            order: Order = connection.recv()
            corpora = {name: corpora[name] for name in order.keep if name in corpora}
            if order.corpus and order.corpus not in corpora:
                corpora[order.corpus] = connection.recv()
        except (EOFError, OSError):
            return
        corpus = corpora.get(order.corpus)
        connection.send(order.job.run(corpus, device=device, report=connection.send))
        if not gc.get_freeze_count():
            gc.freeze()  # what imports made stays: between cells it need not be looked through


def _end_with(parent: int) -> None:
    """End this process soon after its parent, even one that was killed."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


_LAST_OUTPUT = 16_384
"""Bytes of a lost worker's output that are kept."""

EventQueue = queue.SimpleQueue[tuple["WorkerProcess", engine.Event]]


class WorkerProcess:
    """Starts a worker on a device; `begin` gives it a cell.

    A thread puts its events into a queue, so that sending a corpus or receiving a result blocks
    nobody. A message that breaks off means that the worker is lost.
    """

    def __init__(self, device: str, threads: int, environment: Mapping[str, str]) -> None:
        self.device = device
        self.corpora: list[str] = []
        ours, theirs = socket.socketpair()
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (closed in the end)
        with theirs, _without_interrupts():
            python = os.fsdecode(multiprocessing.spawn.get_executable() or sys.executable)
            arguments = [str(theirs.fileno()), str(os.getpid()), device, str(threads)]
            self.process = subprocess.Popen(
                [python, "-P", "-c", CODE, *arguments, *map(str, sys.path)],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=self._output,
                env={**os.environ, **environment, **dict.fromkeys(engine.THREADS, str(threads))},
            )
        self._connection = Connection(ours.detach())
        self._thread: threading.Thread | None = None

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def begin(
        self, job: engine.Runnable, name: str, corpus: bytes | None, events: EventQueue
    ) -> None:
        """Run a job on the corpus of that name, which is sent unless it is None."""
        if name:
            others = [other for other in self.corpora if other != name]
            self.corpora = [*others, name][-engine.KEPT_CORPORA :]
        order = Order(job, name, tuple(self.corpora))
        self._thread = threading.Thread(
            target=self._attend, args=(order, corpus, events), daemon=True
        )
        self._thread.start()

    def _attend(self, order: Order, corpus: bytes | None, events: EventQueue) -> None:
        try:
            self._connection.send(order)
            if corpus is not None:
                self._connection.send_bytes(corpus)
            while True:
                event: engine.Event = self._connection.recv()
                events.put((self, event))
                if not isinstance(event, engine.Progressed):
                    return
        except (EOFError, OSError):
            why, words = self._how_it_ended()
            events.put((self, engine.Failed(order.job.cell.key, engine.LOST, why, words)))

    def _how_it_ended(self) -> tuple[str, str]:
        """The reason in one line, and the end of its output, where a crash shows its place."""
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        why = f"its worker ended with exit code {code}"
        if code == -signal.SIGKILL:
            why = "its worker was killed by SIGKILL, as a system does that runs out of memory"
        elif code < 0:
            known = -code in set(signal.Signals)
            name = signal.Signals(-code).name if known else f"signal {-code}"
            why = f"its worker was ended by {name}"
        start = max(0, os.fstat(self._output.fileno()).st_size - _LAST_OUTPUT)
        words = os.pread(self._output.fileno(), _LAST_OUTPUT, start).decode(errors="replace")
        # a crash also lists every compiled module there is
        lines = [ln for ln in words.splitlines() if not ln.startswith("Extension modules:")]
        return why, "\n".join(lines)

    def _close(self) -> None:
        self.process.wait()
        if self._thread is not None:
            self._thread.join(5)
        self._connection.close()
        self._output.close()


def end(workers: Iterable[WorkerProcess]) -> None:
    """End workers at once, all at the same time, and leave nothing of them."""
    workers = list(workers)
    for worker in workers:
        worker.process.terminate()
    for worker in workers:
        try:
            worker.process.wait(1)
        except subprocess.TimeoutExpired:
            worker.process.kill()
    for worker in workers:
        worker._close()


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Ctrl-C waits; a process started now never sees one, not even before it can ignore it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

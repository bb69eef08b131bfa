"""The engine of a Ray cluster: cells on all its nodes, each told of once whatever is lost."""

from __future__ import annotations

import os
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from verax.corpora.corpus import Corpus
from verax.studies.engines.engine import (
    ERROR,
    LOST,
    OUT_OF_MEMORY,
    Event,
    Failed,
    Finished,
    Job,
    Progressed,
)
from verax.studies.engines.handing import REPLACED, count, name_of, packed
from verax.studies.engines.ray_cluster import Cluster, Node, import_ray, join, nodes, share
from verax.studies.engines.ray_seat import Seat, board
from verax.studies.grid.hardware import Hardware

_IDLE = 5.0
"""Seconds after which a seat without work is given up: another may be waiting for its place."""

_LOOK = 1.0
"""Seconds between looks at which nodes there are."""

_GONE = 10.0
"""Seconds in which Ray has to end a process."""


@dataclass(eq=False)
class _Taken:
    """A seat as the driver has it: its actor, its node once that is known, idle since when."""

    actor: Any
    node: str | None = None
    idle_since: float = 0.0


@dataclass(eq=False)
class _Held:
    """All that there is of us on the cluster."""

    cluster: Cluster
    board: Any
    news: Any = None
    ask_again: float = 0.0
    idle: list[_Taken] = field(default_factory=list)
    running: dict[Any, tuple[str, _Taken]] = field(default_factory=dict)


class RayEngine:
    """Runs cells on a Ray cluster, each in a seat: an actor with CPUs and a part of a GPU.

    Nothing is run twice by Ray: a cell whose worker, node or result is gone is told of as lost,
    and it is for the runner to submit it again. A cluster that loses its head node is none: Ray
    then ends this process within a minute.
    """

    def __init__(self, hardware: Hardware | None = None) -> None:
        self._hardware = hardware = hardware or Hardware()
        self._ray = import_ray()
        cluster = join(hardware)
        try:
            self._nodes, self._looked = nodes(), time.monotonic()
            self._share = share(hardware, self._nodes)
            self._held = _Held(cluster, self._start_board())
        except BaseException:
            if cluster.ours:
                self._ray.shutdown()
            raise
        self._packed: dict[str, Any] = {}
        self._seat = self._ray.remote(Seat).options(
            num_cpus=self._share.cpus,
            num_gpus=self._share.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        # also when nobody calls `stop`; what is called must not hold the engine itself
        self._end = weakref.finalize(self, _stop, os.getpid(), self._held)

    @property
    def workers(self) -> int:
        """As many as were asked for, or as the nodes there are now have room for."""
        return self._hardware.workers or self._share.fits(self._there())

    @property
    def free(self) -> int:
        return max(0, self.workers - len(self._held.running)) if self._end.alive else 0

    @property
    def placed(self) -> dict[str, str]:
        """The node of each cell that runs, once it has said anything."""
        running = self._held.running.values()
        return {key: seat.node for key, seat in running if seat.node is not None}

    def describe(self) -> str:
        there = self._there()
        cpus, gpus = int(sum(n.cpus for n in there)), int(sum(n.gpus for n in there))
        words = (
            f"Ray at {self._held.cluster.address}: {count(len(there), 'node')}, "
            f"{count(cpus, 'CPU')}, {count(gpus, 'GPU')}; "
            f"up to {count(self.workers, 'cell')} at once"
        )
        if 0 < self._share.gpus <= 0.5:
            words += ", several on a GPU: slower than one where NVIDIA MPS does not run on the node"
        return words

    def submit(self, job: Job, corpus: Corpus) -> None:
        if not self.free:
            raise RuntimeError("no seat is free: wait for one")
        name = name_of(corpus)
        place, seat = self._pack(name, corpus), self._take_seat()
        self._held.running[seat.actor.run.remote(job, name, [place])] = job.cell.key, seat

    def wait(self, timeout: float) -> list[Event]:
        until = time.monotonic() + max(0.0, timeout)
        while self._end.alive:
            self._give_up_idle()
            events = self._look(max(0.0, until - time.monotonic()))
            if events or time.monotonic() >= until:
                return events
        return []

    def stop(self) -> None:
        self._end()

    def _look(self, timeout: float) -> list[Event]:
        held, timeout = self._held, min(timeout, _LOOK)  # cut short, so that idle seats go
        if held.news is None and time.monotonic() >= held.ask_again:
            held.news = held.board.news.remote()
        watched = [*held.running, *([held.news] if held.news is not None else [])]
        if not watched:
            time.sleep(timeout)
            return []
        ready, _ = self._ray.wait(watched, num_returns=1, timeout=timeout)
        if ready:
            ready, _ = self._ray.wait(watched, num_returns=len(watched), timeout=0)
        events: list[Event] = []
        if held.news in ready:
            events += self._news()
        return events + [self._settle(done) for done in ready if done in held.running]

    def _news(self) -> Iterator[Progressed]:
        reference, self._held.news = self._held.news, None
        try:
            told = self._ray.get(reference)
        except self._ray.exceptions.RayError:  # the board is lost, and being started again
            self._held.ask_again = time.monotonic() + _LOOK
            return
        running = dict(self._held.running.values())
        for node, key, *words in told:
            if key in running:
                running[key].node = node
                yield Progressed(key, *words)

    def _settle(self, reference: Any) -> Finished | Failed:
        key, seat = self._held.running.pop(reference)
        try:
            seat.node, outcome = self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            outcome = failure(key, error)
            self._looked = -_LOOK  # its node may be gone
        if isinstance(outcome, Failed) and outcome.reason in REPLACED:
            self._ray.kill(seat.actor)
        else:
            seat.idle_since = time.monotonic()
            self._held.idle.append(seat)
        return outcome

    def _there(self) -> list[Node]:
        if self._end.alive and time.monotonic() - self._looked > _LOOK:
            self._nodes, self._looked = nodes(), time.monotonic()
        return self._nodes

    def _take_seat(self) -> _Taken:
        """A seat that is idle, on a node that is alive; else a new one."""
        alive = {node.id for node in self._there()}
        while self._held.idle:
            seat = self._held.idle.pop()
            if seat.node in alive:
                return seat
        device, threads = self._share.device, self._hardware.threads
        return _Taken(self._seat.remote(device, threads, self._held.board))

    def _give_up_idle(self) -> None:
        now, idle = time.monotonic(), self._held.idle
        for seat in [seat for seat in idle if now - seat.idle_since > _IDLE]:
            idle.remove(seat)
            self._ray.kill(seat.actor)

    def _pack(self, name: str, corpus: Corpus) -> Any:
        """Where a corpus is in the object store, tokenised here so that no cell has to.

        As bytes: arrays that processes share are read-only.
        """
        if name not in self._packed:
            self._packed[name] = self._ray.put(packed(corpus))
        return self._packed[name]

    def _start_board(self) -> Any:
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        here = self._ray.get_runtime_context().get_node_id()
        return (
            self._ray.remote(board())
            .options(
                num_cpus=0,
                max_restarts=-1,
                scheduling_strategy=NodeAffinitySchedulingStrategy(here, soft=False),
            )
            .remote()
        )


def failure(key: str, error: Exception) -> Failed:
    """What Ray says of a cell that gave no result, as what became of it."""
    kinds, words = import_ray().exceptions, str(error).strip()
    raised = isinstance(error, kinds.RayTaskError) and not isinstance(error.cause, kinds.RayError)
    if raised or getattr(error, "actor_init_failed", False):
        return Failed(key, ERROR, words.splitlines()[-1], words)
    if isinstance(error, kinds.OutOfMemoryError):
        return Failed(key, OUT_OF_MEMORY, "its node ran out of memory", words)
    return Failed(key, LOST, "its worker, or the node under it, was lost", words)


def _stop(pid: int, held: _Held) -> None:
    ray = import_ray()
    if os.getpid() != pid or not ray.is_initialized():  # a fork of ours that ends; or all is over
        return
    if ray.get_runtime_context().get_job_id() != held.cluster.job:
        return
    running = list(held.running)
    seats = [*held.idle, *(seat for _, seat in held.running.values())]
    held.idle.clear()
    held.running.clear()
    try:
        for actor in [held.board, *(seat.actor for seat in seats)]:
            ray.kill(actor)
        # Ray tells of a killed actor when it is gone
        if running:
            ray.wait(running, num_returns=len(running), timeout=_GONE)
    finally:
        if held.cluster.ours:
            ray.shutdown()

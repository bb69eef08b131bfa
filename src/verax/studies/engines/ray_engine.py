"""The engine of a Ray cluster: cells on all its nodes."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from verax.corpora.corpus import Corpus
from verax.studies.engines import engine
from verax.studies.engines.ray_cluster import Cluster, Node, import_ray, join, nodes, share
from verax.studies.grid.study import Hardware

NODE = "ray_node"
"""The fact of a cell that names the node it ran on."""

_LOOK = 1.0
"""Seconds between looks at which nodes are alive."""

_ENDING = 10.0
"""Seconds in which Ray has to end a process."""

_REPORT = 0.2
"""Seconds between two reports of progress of a cell."""


class RayWorker:
    """An actor that runs cell after cell, with the same CPUs and the same part of a GPU.

    An actor rather than a task for each cell: a process that has initialised one GPU cannot move
    to another, and starting one takes seconds.
    """

    def __init__(self, device: str, threads: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver to handle
        # libraries that are loaded, and those that will be
        threadpool_limits(threads)
        torch.set_num_threads(threads)
        os.environ.update(dict.fromkeys(engine.THREADS, str(threads)))
        self._device = device
        self._node: str = import_ray().get_runtime_context().get_node_id()
        self._corpora: dict[str, Corpus] = {}

    def run(
        self, job: engine.Runnable, name: str, pickled: Sequence[Any]
    ) -> Iterator[tuple[str, engine.Event]]:
        """Run a cell; yield this node with the latest progress, and at last with the outcome.

        `pickled` is a list of the corpus's reference, so that Ray fetches it only on request; it is
        empty where the job needs no corpus.
        """
        corpus = self._corpora.pop(name, None)
        if corpus is None and pickled:
            corpus = pickle.loads(import_ray().get(pickled[0]))  # noqa: S301 (from the driver)
        if corpus is not None:
            self._corpora[name] = corpus
        for oldest in list(self._corpora)[: -engine.KEPT_CORPORA]:
            del self._corpora[oldest]
        latest: deque[engine.Progressed] = deque(maxlen=1)
        with ThreadPoolExecutor(1) as pool:
            performed = pool.submit(job.run, corpus, device=self._device, report=latest.append)
            while not wait([performed], _REPORT).done:
                if latest:
                    yield self._node, latest.pop()
        outcome = performed.result()
        if not gc.get_freeze_count():
            gc.freeze()  # what imports made stays: between cells it need not be looked through
        if isinstance(outcome, engine.Finished):
            outcome = replace(outcome, facts={**outcome.facts, NODE: self._node})
        yield self._node, outcome


@dataclass(eq=False)
class _Actor:
    """A worker as the driver sees it; its node is known once it has reported."""

    handle: Any
    node: str | None = None


class RayEngine:
    """An engine that runs cells on a Ray cluster, each in an actor with CPUs and a share of a GPU.

    Ray itself repeats nothing: a cell whose worker, node or result is gone comes back as LOST, and
    the runner may submit it again. If the cluster loses its head node, Ray ends this process within
    a minute.
    """

    def __init__(self, hardware: Hardware | None = None) -> None:
        self._hardware = hardware = hardware or Hardware()
        self._ray = import_ray(alone=hardware.address is None)
        cluster = join(hardware)
        try:
            self._nodes, self._looked = nodes(), time.monotonic()
            self._share = share(hardware, self._nodes)
        except BaseException:
            if cluster.ours:
                self._ray.shutdown()
            raise
        self._address = cluster.address
        self._idle: list[_Actor] = []
        self._running: dict[Any, tuple[str, _Actor]] = {}  # by their results
        self._most = 0
        """Workers that ever fitted: a cell lost with its node may be submitted at once, and Ray
        lets it wait until another worker ends."""
        self._pickled: dict[str, Any] = {}
        self._actor = self._ray.remote(RayWorker).options(
            num_cpus=self._share.cpus,
            num_gpus=self._share.gpus,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        # also when nobody calls `stop`; the callback must not refer to the engine itself
        self._end = weakref.finalize(self, _stop, os.getpid(), cluster, self._idle, self._running)

    @property
    def workers(self) -> int:
        """As many as were asked for, or as fit on the nodes that are alive."""
        return self._hardware.workers or self._share.fits(self._alive())

    @property
    def free(self) -> int:
        return max(0, self.workers - len(self._running)) if self._end.alive else 0

    @property
    def placed(self) -> dict[str, str]:
        """The node of each running cell that has reported."""
        running = self._running.values()
        return {key: actor.node for key, actor in running if actor.node is not None}

    def describe(self) -> str:
        alive = self._alive()
        cpus, gpus = int(sum(n.cpus for n in alive)), int(sum(n.gpus for n in alive))
        words = (
            f"Ray at {self._address}: {engine.count(len(alive), 'node')}, "
            f"{engine.count(cpus, 'CPU')}, {engine.count(gpus, 'GPU')}; "
            f"up to {engine.count(self.workers, 'cell')} at once"
        )
        if 0 < self._share.gpus <= 0.5:
            words += ", several on a GPU: slower than one where NVIDIA MPS does not run on the node"
        return words

    def submit(self, job: engine.Runnable, corpus: Corpus | None) -> None:
        self._most = max(self._most, self.workers)
        if not self._end.alive or len(self._running) >= self._most:
            raise RuntimeError("no worker is free: wait for one")
        name = engine.corpus_name(corpus)
        if corpus is not None and name not in self._pickled:
            self._pickled[name] = self._ray.put(engine.pickled_corpus(corpus))
        alive = {node.id for node in self._alive()}
        self._idle[:] = [actor for actor in self._idle if actor.node in alive]
        if self._idle:
            actor = self._idle.pop()
        else:
            actor = _Actor(self._actor.remote(self._share.device, self._hardware.threads))
        run = actor.handle.run.options(num_returns="streaming")
        pickled = [self._pickled[name]] if name else []
        self._running[run.remote(job, name, pickled)] = job.cell.key, actor

    def wait(self, timeout: float) -> list[engine.Event]:
        until = time.monotonic() + max(0.0, timeout)
        while self._end.alive:
            if any(actor.node is None for _, actor in self._running.values()):
                while self._idle:  # it holds CPUs that the one without a node may wait for
                    self._ray.kill(self._idle.pop().handle)
            events = self._next_events(max(0.0, until - time.monotonic()))
            if events or time.monotonic() >= until:
                return events
        return []

    def stop(self) -> None:
        self._end()

    def _next_events(self, timeout: float) -> list[engine.Event]:
        running, timeout = list(self._running), min(timeout, _LOOK)
        if not running:
            time.sleep(timeout)
            return []
        ready, _ = self._ray.wait(running, num_returns=1, timeout=timeout)
        if ready:
            ready, _ = self._ray.wait(running, num_returns=len(running), timeout=0)
        return [self._next_event(results) for results in ready]

    def _next_event(self, results: Any) -> engine.Event:
        key, actor = self._running[results]
        event: engine.Event
        try:
            actor.node, event = self._ray.get(next(results))
        except self._ray.exceptions.RayError as error:
            event = failure(key, error)
            self._looked = -_LOOK  # its node may be gone
        if isinstance(event, engine.Progressed):
            return event
        del self._running[results]
        if isinstance(event, engine.Failed) and event.reason in engine.REPLACED:
            self._ray.kill(actor.handle)
        else:
            self._idle.append(actor)
        return event

    def _alive(self) -> list[Node]:
        if self._end.alive and time.monotonic() - self._looked > _LOOK:
            self._nodes, self._looked = nodes(), time.monotonic()
        return self._nodes


def failure(key: str, error: Exception) -> engine.Failed:
    """A cell that gave no result, from the error of Ray."""
    kinds, words = import_ray().exceptions, str(error).strip()
    raised = isinstance(error, kinds.RayTaskError) and not isinstance(error.cause, kinds.RayError)
    if raised or getattr(error, "actor_init_failed", False):
        last = words.splitlines()[-1]
        return engine.Failed(key, engine.ERROR, last, words, kept="an error outside the cell")
    if isinstance(error, kinds.OutOfMemoryError):
        return engine.Failed(key, engine.OUT_OF_MEMORY, "its node ran out of memory", words)
    return engine.Failed(key, engine.LOST, "its worker, or the node under it, was lost", words)


def _stop(
    pid: int, cluster: Cluster, idle: list[_Actor], running: dict[Any, tuple[str, _Actor]]
) -> None:
    ray = import_ray()
    if os.getpid() != pid or not ray.is_initialized():  # a fork that ends; or all is over
        return
    if ray.get_runtime_context().get_job_id() != cluster.job:
        return
    busy = [actor.handle for _, actor in running.values()]
    try:
        for handle in [*busy, *(actor.handle for actor in idle)]:
            ray.kill(handle)
        if busy:  # a call on a killed actor returns, with an error, once it is gone
            calls = [handle.__ray_ready__.remote() for handle in busy]
            ray.wait(calls, num_returns=len(calls), timeout=_ENDING)
    finally:
        idle.clear()
        running.clear()
        if cluster.ours:
            ray.shutdown()

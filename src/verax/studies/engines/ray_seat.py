"""What runs in the processes of a Ray cluster: seats for cells, and a board for their news."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
import signal
from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

import torch
from threadpoolctl import threadpool_limits

from verax.corpora.corpus import Corpus
from verax.studies.engines.engine import Failed, Finished, Job, Progressed
from verax.studies.engines.handing import CORPORA, THREADS
from verax.studies.engines.performing import perform
from verax.studies.engines.ray_cluster import import_ray

NODE = "ray_node"
"""Among the facts of a cell: the node it ran on."""


class Seat:
    """Runs cell after cell, with the same CPUs and the same part of a GPU.

    An actor rather than a task for each cell: a process that has woken one GPU cannot be moved to
    another, and to start one takes seconds.
    """

    def __init__(self, device: str, threads: int, board: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the driver to handle
        # libraries that are loaded, and those that will be
        threadpool_limits(threads)
        torch.set_num_threads(threads)
        os.environ.update(dict.fromkeys(THREADS, str(threads)))
        self._device = device
        self._board = board
        self._node: str = import_ray().get_runtime_context().get_node_id()
        self._corpora: dict[str, Corpus] = {}

    def run(self, job: Job, name: str, packed: Sequence[Any]) -> tuple[str, Finished | Failed]:
        """The node, and what became of the cell; `packed` is where its corpus is, alone in a list.

        In a list, so that Ray does not fetch it for a seat that has it.
        """
        corpus = self._corpora.pop(name, None)
        if corpus is None:
            corpus = pickle.loads(import_ray().get(packed[0]))  # noqa: S301 (the driver's own)
        self._corpora[name] = corpus
        for oldest in list(self._corpora)[:-CORPORA]:
            del self._corpora[oldest]
        outcome = perform(job, corpus, device=self._device, report=self._report)
        if not gc.get_freeze_count():
            gc.freeze()  # what imports made stays: between cells it need not be looked through
        if isinstance(outcome, Finished):
            outcome = replace(outcome, facts={**outcome.facts, NODE: self._node})
        return self._node, outcome

    def _report(self, told: Progressed) -> None:
        # sent and forgotten; a board that is gone is no reason for a cell to fail
        try:
            self._board.tell.remote(self._node, *astuple(told))
        except import_ray().exceptions.RayError:
            pass


def board() -> type:
    """The class of the actor that keeps the last news of each cell until they are asked for.

    Made in a function, so that Ray sends it as code: its process need not import Verax.
    """

    class Board:
        def __init__(self) -> None:
            self._told: dict[str, tuple[Any, ...]] = {}
            self._some = asyncio.Event()

        async def tell(self, node: str, key: str, *told: Any) -> None:
            self._told[key] = (node, key, *told)
            self._some.set()

        async def news(self) -> list[tuple[Any, ...]]:
            """What was told since the last call, as soon as there is some."""
            await self._some.wait()
            self._some.clear()
            told, self._told = self._told, {}
            return list(told.values())

    return Board

"""Training steps on a GPU, recorded once for each shape of batch and then replayed.

A step on a small model is over a hundred kernels of a few microseconds: launching them one by one
takes the host several times as long as the GPU takes to run them. A CUDA graph launches all of a
step at once. It is captured with the documents' places and the step's number in a small buffer,
which is all that is written before a replay; nothing waits for the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from verax.corpora.batching import Rows
from verax.corpora.encoded import EncodedDocuments
from verax.models.classifier import AttentionClassifier
from verax.models.projections import PROJECTIONS
from verax.training.objective import Objective
from verax.training.optimiser import Optimiser

_STEP = 3
"""The buffer's row that holds the step's number; those before it are the geometry."""


class Replaying:
    """One optimiser step on a batch of documents, by replay where its shape is known.

    Batches are padded to the next of a few widths, so that shapes come again. A shape is met as an
    ordinary step the first time, which also readies what a capture may not (the optimiser's state,
    kernels to be loaded), and captured the second.
    """

    def __init__(
        self,
        model: AttentionClassifier,
        documents: EncodedDocuments,
        objective: Objective,
        optimiser: Optimiser,
    ) -> None:
        self.model = model
        self.documents = documents
        self.objective = objective
        self.optimiser = optimiser
        self.stream = torch.cuda.Stream(model.device)
        self.pool = torch.cuda.graph_pool_handle()
        self.buffers: dict[int, Tensor] = {}
        self.met: set[tuple[int, int]] = set()
        self.graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self.lr = self._lr()

    @staticmethod
    def fits(model: AttentionClassifier, objective: Objective) -> bool:
        """Whether a step is the device's alone.

        Sentences are laid out by the host, and an encoder or a projection that does not say it is
        `replayable` may ask for values, such as lengths on the CPU.
        """
        plain = type(model) is AttentionClassifier and type(objective) is Objective
        if not plain or model.device.type != "cuda":
            return False
        return model.encoder.replayable and PROJECTIONS[model.options.projection].replayable

    @contextmanager
    def running(self) -> Iterator[None]:
        """Steps are taken in here: a capture needs a stream of its own, and all use that one."""
        outer = torch.cuda.current_stream(self.model.device)
        self.stream.wait_stream(outer)
        with torch.cuda.stream(self.stream):
            yield
        outer.wait_stream(self.stream)

    def holds(self, rows: Rows, max_tokens: int) -> bool:
        """Whether the batch, padded to its shape, is within the budget."""
        return len(rows) * self._width(rows) <= max_tokens

    def step(self, rows: Rows, number: int) -> Tensor:
        """Take a step; returns the batch's loss, which the next step may overwrite."""
        shape = (len(rows), self._width(rows))
        if self._lr() != self.lr:  # a graph keeps the rate it was captured with
            self.graphs.clear()
            # a pool whose graphs are all gone takes no others
            self.pool = torch.cuda.graph_pool_handle()
            self.lr = self._lr()
        buffer = self.buffers.setdefault(
            len(rows), torch.zeros(4, len(rows), dtype=torch.long, device=self.model.device)
        )
        buffer.copy_(step_inputs(self.documents, rows, number), non_blocking=True)
        if shape not in self.graphs:
            if shape not in self.met:
                self.met.add(shape)
                return self._take(buffer, shape[1])
            self.graphs[shape] = self._capture(buffer, shape[1])
        graph, loss = self.graphs[shape]
        graph.replay()
        return loss

    def close(self) -> None:
        """Let go of graphs and their memory."""
        self.graphs.clear()
        self.buffers.clear()

    def _capture(self, buffer: Tensor, width: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(self.model.device)
        graph.capture_begin(pool=self.pool)
        try:
            loss = self._take(buffer, width)
        finally:
            graph.capture_end()
        return graph, loss

    def _take(self, buffer: Tensor, width: int) -> Tensor:
        return take_step(self.documents, self.objective, self.optimiser, buffer, width)

    def _width(self, rows: Rows) -> int:
        return rounded(int(self.documents.lengths[rows].max(initial=1)))

    def _lr(self) -> float:
        return float(self.optimiser.adam.param_groups[0]["lr"])


def step_inputs(documents: EncodedDocuments, rows: Rows, number: int) -> Tensor:
    """(4, batch) long: the `geometry` of a step's documents, and the number of the step."""
    return torch.from_numpy(np.vstack([documents.geometry(rows), np.full(len(rows), number)]))


def take_step(
    documents: EncodedDocuments,
    objective: Objective,
    optimiser: Optimiser,
    buffer: Tensor,
    width: int,
) -> Tensor:
    """The batch's loss after a step on the `step_inputs` in the buffer, padded to `width`."""
    batch, number = documents.laid_out(buffer[:_STEP], width), buffer[_STEP, 0]
    optimiser.zero()
    loss: Tensor = objective(batch, number, objective.counts([batch], number))
    loss.backward()
    optimiser.step()
    return loss.detach()


def rounded(width: int) -> int:
    """The next of the widths that batches are padded to, at most an eighth more.

    >>> [rounded(width) for width in (1, 8, 9, 63, 100, 200, 401)]
    [8, 8, 16, 64, 104, 208, 416]
    """
    step = max(8, 2 ** (width.bit_length() - 4))
    return -(-width // step) * step

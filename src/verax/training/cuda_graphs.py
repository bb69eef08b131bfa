"""Training steps on a GPU, captured once for each shape of batch and then replayed.

A step on a small model is over a hundred kernels of a few microseconds: launching them one by one
takes the host several times as long as the GPU takes to run them. A CUDA graph launches all of a
step at once. It is captured with the documents' places and the step's number in a small buffer,
which is all that is written before a replay; nothing waits for the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.batching import Rows
from verax.corpora.encoded import EncodedDocuments

_STEP = 3
"""The buffer's row that holds the step's number; those before it are the geometry."""


class GraphedStep:
    """One optimizer step on a batch of documents, replayed where its shape was seen before.

    Batches are padded to one of a few widths, so that shapes recur. A shape is run as an ordinary
    step the first time, which also prepares what a capture cannot (the optimizer's state, kernels
    to be loaded), and captured the second time.

    Args:
        documents: the training documents.
        device: the GPU.
        take: takes a step on the micro-batches of a batch, given the step's number.
        lr: the present learning rate, which a graph keeps as it was captured.
    """

    def __init__(
        self,
        documents: EncodedDocuments,
        device: torch.device,
        take: Callable[[list[Batch], Tensor], Tensor],
        lr: Callable[[], float],
    ) -> None:
        self.documents = documents
        self.device = device
        self.take = take
        self.lr = lr
        self.stream = torch.cuda.Stream(device)
        self.pool = torch.cuda.graph_pool_handle()
        self.buffers: dict[int, Tensor] = {}
        self.seen_shapes: set[tuple[int, int]] = set()
        self.graphs: dict[tuple[int, int], tuple[torch.cuda.CUDAGraph, Tensor]] = {}
        self.captured_lr = lr()

    @contextmanager
    def running(self) -> Iterator[None]:
        """The context of all steps: a capture needs a stream of its own, and all use that one."""
        outer = torch.cuda.current_stream(self.device)
        self.stream.wait_stream(outer)
        with torch.cuda.stream(self.stream):
            yield
        outer.wait_stream(self.stream)

    def fits_budget(self, rows: Rows, max_tokens: int) -> bool:
        """Whether the batch, padded to its shape, is within the budget."""
        return len(rows) * self._width(rows) <= max_tokens

    def step(self, rows: Rows, number: int) -> Tensor:
        """Take a step; returns the batch's loss, which the next step may overwrite."""
        shape = (len(rows), self._width(rows))
        if self.lr() != self.captured_lr:
            self.graphs.clear()
            # a pool whose graphs are all gone takes no others
            self.pool = torch.cuda.graph_pool_handle()
            self.captured_lr = self.lr()
        buffer = self.buffers.setdefault(
            len(rows), torch.zeros(4, len(rows), dtype=torch.long, device=self.device)
        )
        buffer.copy_(step_inputs(self.documents, rows, number), non_blocking=True)
        if shape not in self.graphs:
            if shape not in self.seen_shapes:
                self.seen_shapes.add(shape)
                return self._take(buffer, shape[1])
            self.graphs[shape] = self._capture(buffer, shape[1])
        graph, loss = self.graphs[shape]
        graph.replay()
        return loss

    def close(self) -> None:
        """Free the graphs and their memory."""
        self.graphs.clear()
        self.buffers.clear()

    def _capture(self, buffer: Tensor, width: int) -> tuple[torch.cuda.CUDAGraph, Tensor]:
        graph = torch.cuda.CUDAGraph()
        torch.cuda.synchronize(self.device)
        graph.capture_begin(pool=self.pool)
        try:
            loss = self._take(buffer, width)
        finally:
            graph.capture_end()
        return graph, loss

    def _take(self, buffer: Tensor, width: int) -> Tensor:
        return self.take([self.documents.laid_out(buffer[:_STEP], width)], buffer[_STEP, 0])

    def _width(self, rows: Rows) -> int:
        return rounded(int(self.documents.lengths[rows].max(initial=1)))


def step_inputs(documents: EncodedDocuments, rows: Rows, number: int) -> Tensor:
    """(4, batch) long: the `geometry` of a step's documents, and the number of the step."""
    return torch.from_numpy(np.vstack([documents.geometry(rows), np.full(len(rows), number)]))


def rounded(width: int) -> int:
    """The next of the widths that batches are padded to, at most an eighth more.

    >>> [rounded(width) for width in (1, 8, 9, 63, 100, 200, 401)]
    [8, 8, 16, 64, 104, 208, 416]
    """
    step = max(8, 2 ** (width.bit_length() - 4))
    return -(-width // step) * step

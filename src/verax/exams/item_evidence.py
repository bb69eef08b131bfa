"""What is left of a batch once the encoder has run: weights, and what each item says."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from verax.budget import parts_within, tokens_within
from verax.exams.exam import Exam
from verax.exams.reading import labels_of
from verax.models.classifier import AttentionClassifier
from verax.models.counterfactual import logits_under
from verax.models.trace import Trace

HELD = 2**15
"""Padded items put together before they are looked at: a few numbers each, and one a class."""


@dataclass(frozen=True, eq=False)
class ItemEvidence:
    """Documents of one trace, or of several with an affine head, without their vectors.

    ids, row_index    (batch,)   labels (batch,) float64, NaN where there are none
    weights      (batch, items)   mask (batch, items) bool
    item_logits  (batch, items, classes)   logits (batch, classes), the model's own
    trace        the one trace whose head is not affine, and must be called
    """

    ids: NDArray[np.int64]
    row_index: Tensor
    labels: Tensor
    weights: Tensor
    mask: Tensor
    item_logits: Tensor
    logits: Tensor
    trace: Trace | None = None

    @classmethod
    def of(cls, trace: Trace) -> ItemEvidence:
        return cls(
            trace.ids,
            trace.batch.row_index,
            labels_of(trace),
            trace.weights,
            trace.mask,
            trace.item_logits,
            trace.logits,
            None if trace.is_affine else trace,
        )

    @classmethod
    def joined(cls, parts: Sequence[ItemEvidence]) -> ItemEvidence:
        """Several with affine heads as one, padded to the widest."""
        if len(parts) == 1:
            return parts[0]
        width = max(part.mask.shape[1] for part in parts)
        padded = [part.widened(width - part.mask.shape[1]) for part in parts]
        weights, mask, item_logits = (torch.cat(pieces) for pieces in zip(*padded, strict=True))
        return cls(
            np.concatenate([part.ids for part in parts]),
            torch.cat([part.row_index for part in parts]),
            torch.cat([part.labels for part in parts]),
            weights,
            mask,
            item_logits,
            torch.cat([part.logits for part in parts]),
        )

    def widened(self, by: int) -> tuple[Tensor, Tensor, Tensor]:
        """weights, mask and item_logits with so many masked places more."""
        weights, mask = (functional.pad(values, (0, by)) for values in (self.weights, self.mask))
        return weights, mask, functional.pad(self.item_logits, (0, 0, 0, by))

    def __len__(self) -> int:
        return len(self.ids)

    def parts(self, each: int) -> Iterator[slice]:
        """Documents that are looked at together, where each takes so many numbers.

        A head that is not affine is asked about a whole trace.
        """
        return parts_within(len(self), each) if self.is_affine else iter([slice(0, len(self))])

    def take(self, rows: slice) -> ItemEvidence:
        """Some of the documents; the same object for all of them."""
        if rows == slice(0, len(self)):
            return self
        return ItemEvidence(
            self.ids[rows],
            *(self.row_index[rows], self.labels[rows], self.weights[rows], self.mask[rows]),
            *(self.item_logits[rows], self.logits[rows]),
        )

    def logits_under(self, weights: Tensor) -> Tensor:
        """(…, batch, items) weights → (…, batch, classes) logits, float64."""
        return logits_under(self if self.trace is None else self.trace, weights)

    @property
    def is_affine(self) -> bool:
        return self.trace is None


def put_together(
    batches: Sequence[NDArray[np.int64]], encoded: Any, classes: int
) -> list[list[NDArray[np.int64]]]:
    """Batches in units, as an `ItemExam` puts them together when they come in this order."""
    sentences = getattr(encoded, "sentences", None)
    items = encoded.lengths if sentences is None else sentences.lengths
    units: list[list[NDArray[np.int64]]] = []
    held: list[tuple[int, int]] = []
    most = tokens_within(HELD, classes)
    for rows in batches:
        shape = len(rows), int(items[rows].max())
        if not units or _padded(held) >= most or not _fits(held, shape, most):
            units.append([])
            held = []
        units[-1].append(rows)
        held.append(shape)
    return units


def _fits(held: Sequence[tuple[int, int]], more: tuple[int, int], most: int) -> bool:
    """Whether a batch may join others: not where a long text would make short ones mostly padding.

    Args:
        held: rows and items of the others.
        more: rows and items of the batch.
        most: padded items that may be held in any case.
    """
    together = [*held, more]
    joined = sum(rows for rows, _ in together) * max(items for _, items in together)
    return not held or joined <= max(most, 2 * _padded(together))


def _padded(held: Sequence[tuple[int, int]]) -> int:
    return sum(rows * items for rows, items in held)


class ItemExam(Exam):
    """An exam of what items say and how they are weighed, which needs no vectors.

    Batches are put together and looked at in larger pieces: they are small once the vectors are
    gone, and many small operations would cost more than they do.
    """

    _parts: list[ItemEvidence] | None = None

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Take one batch."""
        evidence = ItemEvidence.of(trace)
        if evidence.trace is not None:
            self.look(evidence)
            return
        most = tokens_within(HELD, evidence.logits.shape[-1])
        if not _fits(self._shapes(), (len(evidence), evidence.mask.shape[1]), most):
            self.settle()
        self._parts = [*(self._parts or []), evidence]
        if _padded(self._shapes()) >= most:
            self.settle()

    def _shapes(self) -> list[tuple[int, int]]:
        return [(len(part), part.mask.shape[1]) for part in self._parts or []]

    @abstractmethod
    def look(self, evidence: ItemEvidence) -> None:
        """Examine some documents."""

    def tables(self) -> dict[str, pd.DataFrame]:
        self.settle()
        return super().tables()

    def back_to(self, mark: Any) -> None:
        self._parts = None
        super().back_to(mark)

    @torch.no_grad()
    def settle(self) -> None:
        """Look at the batches that were put together."""
        parts, self._parts = self._parts, None
        if parts:
            self.look(ItemEvidence.joined(parts))

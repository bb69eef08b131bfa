"""The influence matrix: how much each item depends on each input.

One file for each way to it; all give the same numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, nearest
from verax.importance.gradients import refuse_without_vectors
from verax.importance.jacobian import backward, local, recurrent
from verax.importance.jacobian.targets import Piece, Targets
from verax.importance.tracing import BatchOrTrace, frozen_for_gradients, traced
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.progress import tracked

KINDS = ("norm", "frobenius")
_INFLUENCE = "influence of words on items"

__all__ = ["Influence", "Piece", "Targets", "influence", "influences"]


@dataclass(frozen=True, eq=False)
class Influence:
    """How much each input moves each item.

    matrix     (batch, positions, tokens): row r is about item positions[:, r]
    positions  (batch, positions) long
    mask       (batch, positions) bool: where there is such an item
    """

    matrix: Tensor
    positions: Tensor
    mask: Tensor


def influence(
    model: PooledClassifier,
    source: BatchOrTrace,
    *,
    kind: str = "norm",
    positions: int | None = None,
    seed: int = 0,
    boundaries: bool = False,
    max_tokens: int = MAX_TOKENS,
) -> Influence:
    """The influence of every word on every item.

    kind        "norm": ‖∂‖h_p‖₂/∂x_i‖₂, the influence on the item's magnitude (Meister et al.,
                eq. 5); "frobenius": ‖∂h_p/∂x_i‖_F, on the item itself
    positions   of each document at most so many items, drawn by `seed`
    boundaries  keep the columns of SOS and EOS, which else are zero as padding is

    The matrix is held whole, items × tokens of every document; `influences` gives it in pieces.
    """
    trace = traced(model, source)
    targets = Targets.of(trace, positions, seed)
    matrix = trace.items.new_zeros(*targets.items.shape, trace.tokens.shape[1])
    for rows, block, part in influences(model, trace, targets, kind, max_tokens, boundaries):
        matrix[rows.unsqueeze(-1), block, : part.shape[-1]] = part
    shown = trace.token_mask if boundaries else trace.batch.words
    matrix *= targets.mask.unsqueeze(-1) & shown.unsqueeze(1)
    return Influence(matrix, targets.items, targets.mask)


def influences(
    model: PooledClassifier,
    trace: Trace,
    targets: Targets,
    kind: str = "norm",
    max_tokens: int = MAX_TOKENS,
    boundaries: bool = False,
) -> Iterator[Piece]:
    """The same in pieces, for some documents and items at a time; see `Piece`.

    What stands in columns of SOS and EOS means nothing unless `boundaries` asks for it, nor do rows
    of items that are not there.
    """
    if kind not in KINDS:
        raise VeraxError(f"kind is {kind!r}: {nearest(kind, KINDS)}", code="option.unknown-value")
    refuse_without_vectors(model)
    if not bool(targets.mask.any()):
        return
    pieces = _pieces(model, trace, targets, kind, max_tokens, boundaries)

    def size(piece: Piece) -> int:
        return int(targets.mask[piece.rows][:, piece.targets].sum())

    yield from tracked(pieces, _INFLUENCE, int(targets.mask.sum()), size)


def _pieces(
    model: PooledClassifier,
    trace: Trace,
    targets: Targets,
    kind: str,
    max_tokens: int,
    boundaries: bool,
) -> Iterator[Piece]:
    with frozen_for_gradients(model):
        if trace.batch.layout is not None:
            yield from backward.pieces(model, trace, targets, kind, max_tokens)
            return
        with torch.no_grad():
            if local.fits(model):
                yield from local.pieces(model, trace, targets, kind, max_tokens)
                return
            if recurrent.fits(model):
                yield from recurrent.pieces(model, trace, targets, kind, max_tokens, boundaries)
                return
        yield from backward.pieces(model, trace, targets, kind, max_tokens)

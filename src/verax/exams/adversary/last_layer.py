"""Another attention in the last layer of a Transformer, as far as can be, with the same output.

What is varied are the rows that the classifier reads: one distribution a head where it reads one
position, all rows of the layer where it reads their mean. How far two are apart is the divergence
of what the readout attends to, heads averaged: JSD(mean_h r·A'_h, mean_h r·A_h).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.divergence import jensen_shannon, total_variation
from verax.exams.adversary.descent import SearchOptions, start
from verax.external.pieces import PieceBatch
from verax.importance.transformers.positions import positions_of
from verax.models.layers import HashedDropout, probabilities
from verax.models.transformers.classifier import Tail, TransformerClassifier
from verax.models.transformers.hooks import AttentionCall, Handler

LR, PENALTY = 0.2, 20.0
"""Of a step in log-weights, and of each unit of total variation beyond what is allowed."""
_ROUNDING = 1e-5
"""Total variation that is left to what a pass in single precision may differ by."""
_NOWHERE = -1e9
_PLACE = 801


@dataclass(frozen=True, eq=False)
class ReadRows:
    """The rows of the last layer's attention that a classifier reads.

    number   of the layer, from 0
    place    (batch,) long: the one row that is read; None where the mean of all is
    read     (batch, rows): how much of each row is read
    weights  (batch, heads, rows, positions)
    allowed  the same shape, bool
    """

    number: int
    place: Tensor | None
    read: Tensor
    weights: Tensor
    allowed: Tensor

    @property
    def sums(self) -> Tensor:
        """(batch, heads, rows, 1): less than one where a sink takes the rest, and keeps it."""
        return self.weights.sum(-1, keepdim=True)

    @property
    def positions(self) -> Tensor:
        """(batch, positions) bool: what a row that is read may attend to."""
        return (self.allowed & (self.read > 0)[:, None, :, None]).any(2).any(1)

    def spread(self, weights: Tensor) -> Tensor:
        """(batch, heads, rows, positions) → (batch, positions): mean_h r·A, summing to one."""
        mean = (self.read.unsqueeze(1) @ weights.mean(1)).squeeze(1).double()
        return mean / mean.sum(-1, keepdim=True).clamp(min=1e-300)

    def from_logs(self, logs: Tensor) -> Tensor:
        """Log-weights → weights where they are allowed, each row with the sum that it had."""
        inside = logs.masked_fill(~self.allowed, _NOWHERE).softmax(-1)
        return inside * self.allowed * self.sums

    def handler(self, weights: Tensor) -> Handler:
        """Puts these rows in the place of the layer's own."""

        def replace(call: AttentionCall) -> Tensor | None:
            if call.number != self.number:
                return None
            rows = weights.to(call.weights.dtype)
            if self.place is None:
                return rows
            index = self.place.view(-1, 1, 1, 1).expand_as(rows)
            return call.weights.scatter(2, index, rows)

        return replace


@torch.no_grad()
def read_rows(model: TransformerClassifier, pieces: PieceBatch) -> ReadRows:
    """The rows of a batch's last layer that are read, captured in a pass."""
    positions, last = positions_of(model, pieces), []

    def see(call: AttentionCall) -> None:
        if call.number == model.layers - 1:
            last.append(call)

    model.run(pieces, see)
    (call,) = last
    read, weights = positions.read(call), call.weights.detach()
    allowed = call.allowed.expand_as(weights)
    if not bool(((read > 0).sum(-1) == 1).all()):
        return ReadRows(call.number, None, read, weights, allowed)
    place = read.argmax(-1)
    index = place.view(-1, 1, 1, 1).expand(-1, weights.shape[1], 1, weights.shape[3])
    one = torch.ones_like(read[:, :1])
    return ReadRows(call.number, place, one, weights.gather(2, index), allowed.gather(2, index))


@dataclass(frozen=True, eq=False)
class Witnesses:
    """The farthest attention found for each bound, replayed in a full pass.

    weights   (bounds, batch, heads, rows, positions), the model's own where none was found
    jsd       (bounds, batch) nats, float64
    change    (bounds, batch) total variation of the output
    logits    (bounds, batch, classes)
    """

    weights: Tensor
    jsd: Tensor
    change: Tensor
    logits: Tensor


def search_last_layer(
    model: TransformerClassifier,
    pieces: PieceBatch,
    own: ReadRows,
    logits: Tensor,
    bounds: Sequence[float],
    keys: Tensor,
    *,
    seed: int = 0,
    restarts: int = 3,
    steps: int = 60,
) -> Witnesses:
    """The farthest attention found whose output stays within each bound, by gradient ascent.

    Args:
        model: a Transformer.
        pieces: a batch of texts.
        own: the rows that are read.
        logits: (batch, classes) of the batch, untouched.
        bounds: how far the output may move in total variation, each from 0 to 1.
        keys: (batch,) long; a text's starts depend on its key and the seed alone.
        seed: of the starts.
        restarts: attentions that are started from: all on the position with the least weight, then
            random ones. Each pays for what it moves the output beyond one of the bounds.
        steps: of each.

    Every step's attention that keeps within a bound counts, not only the last.
    """
    tail = model.tail(pieces, own.number)
    before, theirs = probabilities(logits.double()), own.spread(own.weights)
    margins = [bound for bound in bounds if bound < 1] or [1.0]
    best = own.weights.repeat(len(bounds), 1, 1, 1, 1)
    farthest = theirs.new_zeros(len(bounds), len(pieces))

    def note(weights: Tensor, jsd: Tensor, moved: Tensor) -> None:
        for k, bound in enumerate(bounds):
            better = (moved <= bound - _ROUNDING) | (bound >= 1)
            better &= jsd > farthest[k]
            farthest[k] = torch.where(better, jsd, farthest[k])
            best[k] = torch.where(better.view(-1, 1, 1, 1), weights, best[k])

    least = theirs.masked_fill(~own.positions, torch.inf).argmin(-1)
    alone = torch.nn.functional.one_hot(least, theirs.shape[-1])[:, None, None]
    with torch.no_grad():
        weights = own.from_logs(torch.where(alone.bool() & own.allowed, 0.0, _NOWHERE / 2))
        note(weights, *_apart(tail, own, weights, before, theirs))
    starts = start(keys, theirs.shape[-1], seed, SearchOptions(restarts=restarts)).float()
    for k in range(restarts):
        logs = starts[k][:, None, None].expand_as(own.weights)
        if k == 0:  # most of the weight where there was least of it
            logs = 6.0 * alone.expand_as(own.weights) + own.weights.clamp(min=1e-6).log() / 4
        leaf = logs.clone().contiguous()
        first, second = torch.zeros_like(leaf), torch.zeros_like(leaf)
        margin = max(0.0, 0.9 * margins[k % len(margins)] - _ROUNDING)
        for step in range(1, steps + 1):
            leaf.requires_grad_()
            with torch.enable_grad():
                weights = own.from_logs(leaf)
                jsd, moved = _apart(tail, own, weights, before, theirs)
                loss = (PENALTY * (moved - margin).clamp(min=0) - jsd).sum()
                (slope,) = torch.autograd.grad(loss, leaf)
            with torch.no_grad():
                note(weights.detach(), jsd.detach(), moved.detach())
                first = first.lerp(slope, 0.1)
                second = second.lerp(slope.square(), 0.01)
                size = (second / (1 - 0.99**step)).sqrt() + 1e-12
                leaf = leaf.detach() - LR * first / (1 - 0.9**step) / size
    return _replayed(model, pieces, own, best, bounds, before, theirs, logits)


def _apart(
    tail: Tail, own: ReadRows, weights: Tensor, before: Tensor, theirs: Tensor
) -> tuple[Tensor, Tensor]:
    """(batch,) each: how far the attention is from the model's own, and how far the output is."""
    logits = tail.run(own.handler(weights)).logits
    moved = total_variation(probabilities(logits.double()), before)
    return jensen_shannon(own.spread(weights), theirs), moved


@torch.no_grad()
def _replayed(
    model: TransformerClassifier,
    pieces: PieceBatch,
    own: ReadRows,
    best: Tensor,
    bounds: Sequence[float],
    before: Tensor,
    theirs: Tensor,
    logits: Tensor,
) -> Witnesses:
    """What was found, put through the whole model; one that does not keep its bound is dropped."""
    weights, jsd, change, after = [], [], [], []
    for rows, bound in zip(best, bounds, strict=True):
        found = model.run(pieces, own.handler(rows)).logits
        moved = total_variation(probabilities(found.double()), before)
        kept = moved <= bound
        apart = jensen_shannon(own.spread(rows), theirs).clamp(min=0.0)
        weights.append(torch.where(kept.view(-1, 1, 1, 1), rows, own.weights))
        jsd.append(torch.where(kept, apart, 0.0))
        change.append(torch.where(kept, moved, 0.0))
        after.append(torch.where(kept.unsqueeze(-1), found, logits))
    return Witnesses(*(torch.stack(parts) for parts in (weights, jsd, change, after)))


@torch.no_grad()
def moved_by_permuting(
    model: TransformerClassifier,
    pieces: PieceBatch,
    own: ReadRows,
    logits: Tensor,
    keys: Tensor,
    seed: int,
    draws: int,
) -> Tensor:
    """(draws, batch): total variation of the output when weights are dealt out in random order.

    One order serves all heads and rows of a text; what a row may not attend to gets none.
    """
    tail = model.tail(pieces, own.number)
    before, mask = probabilities(logits.double()), own.positions
    noise = HashedDropout.of(keys, mask.shape[1], seed, 0).uniforms(range(_PLACE, _PLACE + draws))
    places = (~mask).long().argsort(dim=-1, stable=True)
    moved = []
    for draw in noise:
        order = draw.masked_fill(~mask, torch.inf).argsort(dim=-1, stable=True)
        source = torch.empty_like(order).scatter_(-1, places, order)
        dealt = own.weights.gather(-1, source[:, None, None].expand_as(own.weights)) * own.allowed
        sums = dealt.sum(-1, keepdim=True)
        dealt = dealt * (own.sums / torch.where(sums > 0, sums, 1.0))
        found = tail.run(own.handler(dealt)).logits
        moved.append(total_variation(probabilities(found.double()), before))
    return torch.stack(moved)


def rows_at_once(
    model: TransformerClassifier, pieces: PieceBatch, max_tokens: int = MAX_TOKENS
) -> int:
    """How many texts a search may hold at once: their weights, and as many slopes and witnesses."""
    return model.rows_within(pieces, max_tokens, kept_layers=8)

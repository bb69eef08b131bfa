"""Logits of a trace's model with other attention over the same items.

The items stay as they are, so no encoder runs again: with an affine head the logits under weights
α' are Σ_i α'_i ℓ_i, with any other the head is asked about Σ_i α'_i h_i.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from verax.models.layers import HashedDropout, pool
from verax.models.trace import Trace

_PLACE = 301
_HALF = 30


class Answers(Protocol):
    """What has item logits in place of items, because the head is affine."""

    @property
    def item_logits(self) -> Tensor: ...

    @property
    def is_affine(self) -> bool: ...


def logits_under(trace: Trace | Answers, weights: Tensor) -> Tensor:
    """Return the logits that the model would give under other attention weights.

    Args:
        trace: the trace of a batch.
        weights: (…, batch, items), zero where masked.

    Returns:
        (…, batch, classes) float64. An affine head is evaluated in double precision, any other
        head in its own.
    """
    if not isinstance(trace, Trace) or trace.is_affine:
        says = trace.item_logits.double()
        if says.shape[-1] == 1:
            return (weights.double() * says.squeeze(-1)).sum(-1, keepdim=True)
        return torch.einsum("...bi,bic->...bc", weights.double(), says)
    rows = weights.to(trace.items.dtype).reshape(-1, *weights.shape[-2:])
    # a draw at a time: contexts are wide, and a head of someone's own may be wider still
    logits = [trace.head(pool(row, trace.items)) for row in rows]
    return torch.stack(logits).double().reshape(*weights.shape[:-1], -1)


def uniform(mask: Tensor) -> Tensor:
    """(batch, items) bool → 1/n on each of a row's n items, float64."""
    return mask.double() / mask.sum(-1, keepdim=True)


def permuted(weights: Tensor, mask: Tensor, keys: Tensor, seed: int, draws: int) -> Tensor:
    """Permute each row's weights at random among its items.

    Every permutation of a row's items is equally likely. The draws of a row depend on the seed and
    on its key only, not on the rest of the batch.

    Args:
        weights: (batch, items).
        mask: (batch, items) bool, True where there is an item.
        keys: (batch,) long, one key per row, such as the document's id.
        seed: random seed.
        draws: number of permutations.

    Returns:
        (draws, batch, items).
    """
    dealt = _dealt(weights.masked_fill(~mask, 0) + 0.0, mask, keys, seed, draws)
    start = _common_start(mask)
    if start == 0:
        return dealt
    if start is not None:  # all items stand behind as many places, such as SOS
        return functional.pad(dealt[..., :-start], (start, 0))
    rank = (mask.cumsum(-1) - 1).clamp_(min=0)
    return dealt.gather(-1, rank.expand_as(dealt)) * mask


def _dealt(weights: Tensor, mask: Tensor, keys: Tensor, seed: int, draws: int) -> Tensor:
    """(draws, batch, items): a row's weights in random order, those of its items first.

    Random bits and a weight's own share one integer, so that sorting these leaves the weights in
    random order, with no second array to carry along. Weights of 64 bits are fetched by their
    places, which share the integer in their stead. A hash has bits for two draws.
    """
    noise = HashedDropout.of(keys, mask.shape[1], seed, 0)
    hashes = noise.integers(range(_PLACE, _PLACE + (draws + 1) // 2))
    halves = [hashes >> 32, hashes & (2**_HALF - 1)]
    random = torch.stack(halves, dim=1).flatten(0, 1)[:draws].bitwise_left_shift_(32)
    single = weights.dtype == torch.float32
    places = torch.arange(mask.shape[1], device=mask.device)
    carried = weights.view(torch.int32).long() if single else places.expand_as(mask)
    random |= carried | ((~mask).long() << 62)  # masked ones sort behind all items
    payload = _sort(random).bitwise_and_(2**32 - 1)
    if single:
        return payload.to(torch.int32).view(torch.float32)
    return weights.expand(draws, *weights.shape).gather(-1, payload)


def _common_start(mask: Tensor) -> int | None:
    """Where every row's items begin, if they begin at one place and have no gaps."""
    if not len(mask):
        return 0
    start = int(mask[0].int().argmax())
    behind = mask[:, start:]
    whole = bool(behind[:, :1].all()) and not bool((behind[:, 1:] & ~behind[:, :-1]).any())
    return start if whole and not bool(mask[:, :start].any()) else None


def _sort(values: Tensor) -> Tensor:
    if values.device.type == "cpu":  # numpy's sort of integers is many times faster than torch's
        values.numpy().sort(axis=-1)
        return values
    return values.sort(-1).values

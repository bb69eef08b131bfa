"""Other attention over the same items: what a trace's model would have said with it.

The items stay as they are, so no encoder runs again: with an affine head the logits under weights
α' are Σ_i α'_i ℓ_i, with any other the head is asked about Σ_i α'_i h_i.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from verax.models.attention import pool
from verax.models.noise import Noise
from verax.models.trace import Trace

_PLACE = 301


def logits_under(trace: Trace, weights: Tensor) -> Tensor:
    """(…, batch, items) weights, zero where masked → (…, batch, classes) logits, float64.

    With an affine head in double precision; another is called as it is.
    """
    if trace.is_affine:
        says = trace.item_logits.double()
        if says.shape[-1] == 1:
            return (weights.double() * says.squeeze(-1)).sum(-1, keepdim=True)
        return torch.einsum("...bi,bic->...bc", weights.double(), says)
    rows = weights.to(trace.items.dtype).reshape(-1, *weights.shape[-2:])
    # a draw at a time: contexts are wide, and a head of someone's own may be wider still
    found = [trace.head(pool(row, trace.items)) for row in rows]
    return torch.stack(found).double().reshape(*weights.shape[:-1], -1)


def uniform(mask: Tensor) -> Tensor:
    """(batch, items) bool → 1/n on each of a row's n items, float64."""
    return mask.double() / mask.sum(-1, keepdim=True)


def permuted(weights: Tensor, mask: Tensor, keys: Tensor, seed: int, draws: int) -> Tensor:
    """(draws, batch, items): each row's weights dealt out to its items in random order.

    Every order of a row's items is as likely. A row's draws hang on the seed and its key alone,
    (batch,), not on what else is in the batch.
    """
    order = _orders(mask, keys, seed, draws)
    return weights.masked_fill(~mask, 0).expand(draws, *weights.shape).gather(-1, order)


def _orders(mask: Tensor, keys: Tensor, seed: int, draws: int) -> Tensor:
    """(draws, batch, items): for each place the one whose weight it gets; masked keep theirs.

    Random bits and the place share one integer, so that sorting these gives the places in random
    order, with no second array to carry along.
    """
    width = mask.shape[1]
    low = width.bit_length()
    places = torch.arange(width, device=mask.device)
    random = Noise.of(keys, width, seed, 0).integers(range(_PLACE, _PLACE + draws))
    random = ((random >> low) << low) | places
    # masked places sort behind all items
    random = torch.where(mask, random, places | (1 << 62))
    drawn = _sort(random) & ((1 << low) - 1)
    # the j-th item of a row gets the j-th drawn
    rank = (mask.cumsum(-1) - 1).clamp_(min=0)
    order = drawn.gather(-1, rank.expand_as(drawn))
    return torch.where(mask, order, places)


def _sort(values: Tensor) -> Tensor:
    if values.device.type == "cpu":  # numpy's sort of integers is many times faster than torch's
        return torch.from_numpy(np.sort(values.numpy(), axis=-1))
    return values.sort(-1).values

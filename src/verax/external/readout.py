"""Which positions of the last states a classifier reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.external.pieces import PieceBatch

if TYPE_CHECKING:
    from verax.external.transformer import TransformerClassifier

FIRST, LAST, MEAN = "first", "last", "mean"
READOUTS = (FIRST, LAST, MEAN)


def readout_rows(readout: str, pieces: PieceBatch) -> Tensor:
    """(batch, pieces) float: how much of each position is read; rows sum to one."""
    mask = pieces.mask
    if readout == MEAN:
        return mask.float() / mask.sum(-1, keepdim=True).clamp(min=1)
    places = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
    if readout == FIRST:
        place = places.masked_fill(~mask, mask.shape[1]).amin(-1)
    else:
        place = places.masked_fill(~mask, -1).amax(-1)
    return torch.nn.functional.one_hot(place, mask.shape[1]).float()


def find_readout(model: TransformerClassifier) -> str:
    """Which positions move the logits: first, last or mean."""
    read = model.read(["The film was far better than I had hoped.", "No ."])
    pieces = model.trace_rows(read, np.arange(2)).pieces
    with torch.enable_grad():
        embedded = model.embed(pieces).detach().requires_grad_()
        done = model.run(pieces, embedded=embedded)
        (slopes,) = torch.autograd.grad(done.logits.square().sum(), done.last)
    moving = slopes.abs().sum(-1) > 0
    for readout in (FIRST, LAST):
        if torch.equal(moving, readout_rows(readout, pieces) > 0):
            return readout
    if torch.equal(moving, pieces.mask):
        return MEAN
    raise VeraxError(
        "the classifier reads neither the first position, nor the last, nor all: give readout"
    )

"""Which positions of the last states a classifier reads."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    # a row without pieces reads none
    return (places == place.unsqueeze(-1)).float()


def find_readout(model: TransformerClassifier, pieces: PieceBatch) -> str:
    """Which positions of the last states move the logits: first, last or mean.

    Args:
        model: a classifier; its readout is not believed.
        pieces: some texts of more than two pieces, of different lengths.
    """
    moving = _moving(model, pieces)
    for readout in (FIRST, LAST):
        if torch.equal(moving > 0, readout_rows(readout, pieces) > 0):
            return readout
    if bool((moving > 0)[~pieces.mask].any()):
        raise VeraxError(
            "the classifier reads padding: a text's logits hang on what it is batched with; give "
            "its probabilities, one text at a time, to verax.from_predict",
            code="model.batch-dependent",
        )
    if torch.equal(moving > 0, pieces.mask):
        mean = moving.sum(-1, keepdim=True) / pieces.mask.sum(-1, keepdim=True)
        if bool(((moving / mean - 1).abs() < 0.01)[pieces.mask].all()):
            return MEAN
        raise VeraxError(
            "the classifier reads all positions, and not their mean: Verax knows the readouts "
            "first, last and mean; give its probabilities to verax.from_predict",
            code="model.unsupported-readout",
        )
    places = (moving > 0).any(0).nonzero().flatten().tolist()
    raise VeraxError(
        "the classifier reads neither the first position of its last states, nor the last, nor "
        f"all, but {places or 'none'}: Verax cannot examine it; give its probabilities to "
        "verax.from_predict",
        code="model.unsupported-readout",
    )


def check_readout(model: TransformerClassifier, pieces: PieceBatch, readout: str) -> None:
    """Refuse a readout that contradicts the model."""
    found = find_readout(model, pieces)
    if found != readout:
        raise VeraxError(
            f"readout is {readout!r}, and the logits of this model hang on {found!r} alone: give "
            f"readout={found!r}, or leave it out",
            code="option.conflict",
        )


def _moving(model: TransformerClassifier, pieces: PieceBatch) -> Tensor:
    """(batch, pieces): how much the logits move with each position of the last states."""
    with torch.enable_grad():
        embedded = model.embed(pieces).detach().requires_grad_()
        done = model.run(pieces, embedded=embedded)
        # other factors for every class: logits that sum to a constant would not move
        factors = torch.arange(1, done.logits.shape[-1] + 1, device=done.logits.device)
        (slopes,) = torch.autograd.grad((done.logits * factors).sum(), done.last)
    return slopes.float().abs().sum(-1)

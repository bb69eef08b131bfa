"""The decision: one affine map from context to logits."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from verax.models.hashed_dropout import HashedDropout

_PLACE = 1


class Head(nn.Module):
    """logits = W context + b, one a class; or a single logit whose sigmoid is P(class 1).

    Because it is affine and weights sum to one, logits = Σ α_i (W h_i + b). A head of another kind
    can stand in its place, `model.head = mine`; exams then go through it instead of item logits,
    unless it has an attribute `affine` that is true.
    """

    affine = True

    def __init__(self, size: int, classes: int, one_logit: bool, dropout: float, on: str) -> None:
        super().__init__()
        self.linear = nn.Linear(size, 1 if one_logit else classes)
        self.one_logit = one_logit
        self.dropout = dropout
        self.dropout_on = on

    @property
    def bias(self) -> Tensor:
        """(classes,): the logits when nothing is attended."""
        return self.linear.bias

    def forward(self, context: Tensor, noise: HashedDropout | None = None) -> Tensor:
        """(…, size) → (…, classes). With a HashedDropout, one key per row of the batch."""
        if noise is None or self.dropout == 0:
            return self.linear(context)
        if self.dropout_on == "context":
            return self.linear(noise.dropout(context, self.dropout, _PLACE))
        return noise.dropout(self.linear(context), self.dropout, _PLACE)

    def initialise_xavier(self) -> None:
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)


def two_columns(logits: Tensor) -> Tensor:
    """One sigmoid logit z as the two it stands for, (0, z); more classes stay as they are."""
    if logits.shape[-1] != 1:
        return logits
    return torch.cat([torch.zeros_like(logits), logits], dim=-1)


def probabilities(logits: Tensor) -> Tensor:
    """(…, classes) logits → probabilities of every class; one logit gives two columns.

    >>> probabilities(torch.tensor([[0.0]]))
    tensor([[0.5000, 0.5000]])
    """
    if logits.shape[-1] == 1:
        return torch.cat([torch.sigmoid(-logits), torch.sigmoid(logits)], dim=-1)
    return torch.softmax(logits, dim=-1)


def decisions(logits: Tensor) -> Tensor:
    """(…, classes) logits → the class decided for; a tie goes to the lower class."""
    if logits.shape[-1] == 1:
        return (logits.squeeze(-1) > 0).long()
    return logits.argmax(dim=-1)

"""The number that importances explain: the probability of the class decided for, or of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.errors import VeraxError, nearest
from verax.models.layers import probabilities, two_columns

Target = str | int | Sequence[str | int] | NDArray[Any] | Tensor
"""A class by name or number, for all documents, or one for each of them."""


def class_number(classes: Sequence[str], target: object) -> int:
    """The number of one of a model's classes, given by name or number."""
    if isinstance(target, str) and target in classes:
        return classes.index(target)
    is_number = isinstance(target, (str, int, np.integer)) and not isinstance(target, bool)
    try:
        number = int(str(target)) if is_number else -1
    except ValueError:
        number = -1
    if not 0 <= number < len(classes):
        raise VeraxError(
            f"the model has no class {target!r}: {nearest(str(target), classes)}, or give its "
            f"number, 0 to {len(classes) - 1}",
            code="model.unknown-class",
        )
    return number


def class_numbers(classes: Sequence[str], target: Target | None, logits: Tensor) -> Tensor | None:
    """The number of the class to explain for each document, (batch,) long; None where not given.

    Args:
        classes: names of the model's classes.
        target: one class for all documents, or one for each.
        logits: of the documents, (batch, …).
    """
    if target is None:
        return None
    plain: Any = target.tolist() if isinstance(target, (Tensor, np.ndarray)) else target
    is_one = isinstance(plain, str) or not isinstance(plain, Sequence)
    each = [plain] * len(logits) if is_one else plain
    if len(each) != len(logits):
        raise VeraxError(
            f"target has the length {len(each):,}, expected {len(logits):,}: give one class, or "
            "one for each text",
            code="tensor.wrong-shape",
        )
    numbers = [class_number(classes, one) for one in each]
    return torch.tensor(numbers, dtype=torch.long, device=logits.device)


def lead(logits: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """How far class y's logit is ahead of all others together, and ∂p_y/∂lead; both (batch,).

    y is `target`, (batch,), or else the class these logits decide for. p_y = σ(lead), so the
    gradient of p_y is the second, in float64, times the gradient of the first: taken apart, a
    decision near certainty keeps the order of what made it.
    """
    y, others = split(logits, target)
    ahead = two_columns(logits).gather(-1, y).squeeze(-1) - others.logsumexp(-1)
    return ahead, both_sides(ahead.detach().double())


def split(logits: Tensor, target: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """y, `target` or else the class decided for, (batch, 1); the logits with −∞ in its place."""
    both = two_columns(logits)
    y = both.argmax(-1, keepdim=True) if target is None else target.unsqueeze(-1)
    return y, both.scatter(-1, y, -torch.inf)


def both_sides(ahead: Tensor) -> Tensor:
    """σ(lead) σ(−lead) = p_y (1 − p_y), never quite zero, which would make all items equal."""
    product = torch.sigmoid(ahead) * torch.sigmoid(-ahead)
    return product.clamp(min=torch.finfo(product.dtype).tiny)


def lost(target: Tensor, whole: Tensor, without: Tensor) -> Tensor:
    """p_y − p_y′, (batch, n) in float64: how much of the probability of y goes with each.

    target   (batch,)             y
    whole    (batch, n, classes)  the logits with all, computed as those without are
    without  (batch, n, classes)  the logits once each of n things is left out

    p and p′ near one are distinguished by their complements.
    """
    before, after = probabilities(whole.double()), probabilities(without.double())
    place = target.view(-1, 1, 1).expand(*after.shape[:2], 1)
    difference = (before.gather(-1, place) - after.gather(-1, place)).squeeze(-1)
    rest_before = before.scatter(-1, place, 0.0).sum(-1)
    rest_after = after.scatter(-1, place, 0.0).sum(-1)
    return torch.where(rest_before < 0.5, rest_after - rest_before, difference)

"""Flips of a decision, for anyone who has weights and item logits."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.exams.erasure.states import (
    AffineStates,
    FirstFlips,
    FlipSets,
    pieces,
    ranks_from_below,
)

_SUM_TOLERANCE = 1e-4


@torch.no_grad()
def minimal_flip_sets(
    weights: Tensor, item_logits: Tensor, mask: Tensor, bias: Tensor | None = None
) -> FlipSets:
    """The smallest set of items whose erasure changes each decision; exact, by sorting.

    Args:
        weights: (batch, items), on the simplex over the items of each row.
        item_logits: (batch, items, classes), ℓ_i = W h_i + b; one class means one sigmoid logit.
        mask: (batch, items) bool, True where there is an attended item.
        bias: (classes,), the logits left when everything is erased; without it that case is not
            considered.

    Erasing R leaves class c ahead of the decision y exactly when Σ_{i∉R} α_i (ℓ_i^y − ℓ_i^c) < 0.
    For a rival and a size the sum is least when the largest terms go, so the shortest such prefix
    over all rivals is the minimum: O(classes · items · log items). Erasing everything counts where
    nothing less will do. Items without weight take no part.

    >>> weights = torch.tensor([[0.5, 0.3, 0.2]])
    >>> item_logits = torch.tensor([[[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]]])
    >>> smallest = minimal_flip_sets(weights, item_logits, weights > 0)
    >>> smallest.size.tolist(), smallest.members.tolist(), smallest.rival.tolist()
    ([1], [[True, False, False]], [1])
    """
    check(weights, item_logits, mask, bias)
    parts = [states.minimal() for _, states in _states(weights, item_logits, mask, bias)]
    if not parts:
        rows = torch.zeros(0, dtype=torch.long, device=weights.device)
        return FlipSets(rows, mask, rows, rows.bool(), True)
    return FlipSets(
        size=torch.cat([f.size for f in parts]),
        members=torch.cat([f.members for f in parts]),
        rival=torch.cat([f.rival for f in parts]),
        ties=torch.cat([f.ties for f in parts]),
        certified=True,
    )


@torch.no_grad()
def first_flips(
    weights: Tensor,
    item_logits: Tensor,
    importance: Tensor,
    mask: Tensor,
    bias: Tensor | None = None,
) -> FirstFlips:
    """How many items must go, most important first, before each decision changes.

    Args:
        weights: (batch, items), on the simplex over the items of each row.
        item_logits: (batch, items, classes).
        importance: (batch, items), signed: the highest goes first, of equal ones the earlier.
        mask: (batch, items) bool.
        bias: (classes,), the logits left when everything is erased; without it that case is not
            considered.

    No ranking can go below the sizes of `minimal_flip_sets`.
    """
    check(weights, item_logits, mask, bias)
    orders = ranks_from_below(checked_importance("importance", importance, mask), mask)
    states = _states(weights, item_logits, mask, bias)
    parts = [s.first_flips(orders[rows].unsqueeze(0)) for rows, s in states]
    if not parts:
        return FirstFlips(orders.new_zeros(0), weights.new_zeros(0, dtype=torch.float64))
    return FirstFlips(
        torch.cat([f.size for f in parts], -1).squeeze(0),
        torch.cat([f.mass for f in parts], -1).squeeze(0),
    )


def check(weights: Tensor, item_logits: Tensor, mask: Tensor, bias: Tensor | None = None) -> None:
    """An error that names the argument which is not what erasure is defined for."""
    tensors = {"weights": weights, "item_logits": item_logits, "mask": mask, "bias": bias}
    for name, value in tensors.items():
        if not isinstance(value, torch.Tensor) and not (name == "bias" and value is None):
            raise VeraxError(
                f"{name} is a {type(value).__name__}, expected a torch.Tensor",
                code="tensor.wrong-shape",
            )
    if weights.dim() != 2 or weights.shape[1] == 0 or not weights.is_floating_point():
        raise VeraxError(
            f"weights is {weights.dtype} of shape {tuple(weights.shape)}, expected floating-point "
            "numbers of shape (batch, items), at least one item wide",
            code="tensor.wrong-shape",
        )
    if mask.shape != weights.shape or mask.dtype != torch.bool:
        raise VeraxError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}, expected torch.bool of shape "
            f"{tuple(weights.shape)} as weights: True where there is an attended item",
            code="tensor.wrong-shape",
        )
    if (
        item_logits.dim() != 3
        or item_logits.shape[:2] != weights.shape
        or item_logits.shape[2] == 0
        or not item_logits.is_floating_point()
    ):
        raise VeraxError(
            f"item_logits is {item_logits.dtype} of shape {tuple(item_logits.shape)}, expected "
            f"floating-point numbers of shape ({weights.shape[0]}, {weights.shape[1]}, classes)",
            code="tensor.wrong-shape",
        )
    if bias is not None and bias.shape != item_logits.shape[2:]:
        raise VeraxError(
            f"bias has shape {tuple(bias.shape)}, expected ({item_logits.shape[2]},): one number "
            "for each class of item_logits",
            code="tensor.wrong-shape",
        )
    inside = weights.masked_fill(~mask, 0.0)
    if not bool((inside >= 0).all()):  # NaN is not
        raise VeraxError(
            "weights has a negative number or NaN at an item, expected weights ≥ 0",
            code="tensor.bad-values",
        )
    off = (inside.double().sum(-1) - 1).abs().masked_fill(~mask.any(-1), 0.0)
    if bool((off > _SUM_TOLERANCE).any()):
        row = int(off.argmax())
        raise VeraxError(
            f"weights of row {row} sum to {float(inside[row].double().sum()):.6g} over "
            "its items, expected 1: pass them as they are after the projection",
            code="tensor.bad-values",
        )
    for name, values in (("item_logits", item_logits), ("bias", bias)):
        if values is None:
            continue
        # a sum is NaN or infinite where a term is; it may also overflow, so every term is checked
        if bool(torch.isfinite(values.sum())):
            continue
        finite = torch.isfinite(values)
        if values is item_logits:
            finite |= ~mask.unsqueeze(-1)
        if not bool(finite.all()):
            raise VeraxError(
                f"{name} has NaN or infinity at an item, expected finite numbers",
                code="tensor.bad-values",
            )


def checked_importance(name: str, importance: Tensor, mask: Tensor) -> Tensor:
    """The scores in double precision; −∞ is a number too, if a low one."""
    if importance.shape != mask.shape or not importance.is_floating_point():
        raise VeraxError(
            f"{name} is {importance.dtype} of shape {tuple(importance.shape)}, expected "
            f"floating-point numbers of shape {tuple(mask.shape)}: one for each item",
            code="tensor.wrong-shape",
        )
    if bool((importance.isnan() & mask).any()):
        raise VeraxError(
            f"{name} has NaN at an item: every item needs a place in the ranking",
            code="tensor.bad-values",
        )
    return importance.double().clamp(min=torch.finfo(torch.float64).min)


def _states(
    weights: Tensor, item_logits: Tensor, mask: Tensor, bias: Tensor | None
) -> Iterator[tuple[slice, AffineStates]]:
    for rows in pieces(*item_logits.shape):
        yield rows, AffineStates(weights[rows], item_logits[rows], mask[rows], bias)

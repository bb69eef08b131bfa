"""The attention farthest from a model's own that keeps its prediction, exactly."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from verax.divergence import jensen_shannon
from verax.errors import VeraxError
from verax.exams.adversary.farthest import at_vertices, best_vertex, farthest
from verax.exams.adversary.several import farthest_of_several, log_odds
from verax.models.layers import decisions, two_columns
from verax.options import check

MAX_PAIRS = 2**17
"""Edges held at once: a few numbers each, all of which fit a processor's cache."""
MET = 1e-12
"""How close two bounds are that meet."""
_KEPT = 1e-6
_ROUNDING_P, _ROUNDING_Z = 1e-15, 64 * torch.finfo(torch.float64).eps


@dataclass(frozen=True, eq=False)
class Adversary:
    """The most divergent attention of each document, exact or the best known; float64.

    weights        (batch, items)    α', on the simplex, zero where masked
    jsd            (batch,)          JSD(α', α) in nats, at most ln 2
    change         (batch,)          |Δp| of the class decided for
    decision_kept  (batch,) bool     whether the decision under α' is the same
    certified      (batch,) bool     whether no attention with the same prediction diverges more
    upper_bound    (batch,)          an upper bound of `jsd`; equal to it where certified
    logits         (batch, classes)  under α', one column if the item logits had one
    """

    weights: Tensor
    jsd: Tensor
    change: Tensor
    decision_kept: Tensor
    certified: Tensor
    upper_bound: Tensor
    logits: Tensor

    def or_farther(self, other: Adversary, where: Tensor) -> Adversary:
        """The farther of two answers in the rows `where`, (batch,); itself in all others."""
        take = where & (other.jsd > self.jsd)
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Adversary(
            *(
                torch.where(take.view(-1, *(1,) * (ours.dim() - 1)), theirs, ours)
                for ours, theirs in pairs
            )
        )


@torch.no_grad()
def most_divergent(
    weights: Tensor,
    item_logits: Tensor,
    mask: Tensor,
    epsilon: float,
    max_pairs: int | None = None,
) -> Adversary:
    """The attention α' farthest from `weights` with |p' − p| ≤ ε, p being that of the decision.

    Args:
        weights: (batch, items) α.
        item_logits: (batch, items, classes) ℓ_i; one column is one sigmoid logit.
        mask: (batch, items) bool.
        epsilon: how far p may move: 0 keeps the output as it is, 1 leaves it free.
        max_pairs: edges held in memory at once; it changes no result.

    Returns:
        An `Adversary`: the attention of each document, its divergence, and whether it is exact.

    Two classes are exact: with z_i the log-odds that item i alone gives, the constraint is a slab
    logit(p − ε) ≤ Σ α'_i z_i ≤ logit(p + ε), and all its extreme points are tried (see
    `farthest`). A face beyond 0 or 1 does not exist. More classes: the best of all items and edges
    is a lower bound, as the set of what keeps the prediction is no polytope; `upper_bound` is the
    smallest over half-spaces that hold this set, and the answer is certified where they meet.

    Faces stand off by what rounding can move a prediction, some 1e-14 times the largest logit, so
    that nothing that keeps it in floating point is farther than the certificate. Where that is more
    than 1e-6 in the probability, with logits beyond 1e8, nothing is certified.

    >>> weights = torch.tensor([[0.8, 0.1, 0.1]])
    >>> item_logits = torch.tensor([[[2.0], [2.0], [-1.0]]])
    >>> adversary = most_divergent(weights, item_logits, weights > 0, epsilon=0.1)
    >>> adversary.weights.tolist(), round(adversary.jsd.item(), 3), adversary.certified.item()
    ([[0.0, 1.0, 0.0]], 0.526, True)
    """
    epsilon = check("epsilon", epsilon, float, {"minimum": 0, "maximum": 1})
    refuse_classless(item_logits)
    original, says = checked_weights(weights, mask), two_columns(checked_logits(item_logits, mask))
    logits = torch.einsum("bi,bic->bc", original, says)
    decided = decisions(logits)
    odds = log_odds(logits, decided)
    low, high = faces(odds, says, epsilon)
    if max_pairs is None:
        max_pairs = MAX_PAIRS if original.device.type == "cpu" else 2**24
    if says.shape[-1] == 2:
        z = (says[..., 1] - says[..., 0]) * (2 * decided - 1).unsqueeze(-1)
        point = farthest(original, z, mask, low, high, max_pairs)
        bound = point.value
    else:
        point, bound = farthest_of_several(original, says, mask, decided, low, high, max_pairs)
    # with more classes no item and no edge need keep the prediction: then nothing but α is known to
    adversary = torch.where(point.value.isfinite().unsqueeze(-1), point.weights(original), original)
    after = torch.einsum("bi,bic->bc", adversary, says)
    jsd = jensen_shannon(adversary, original).clamp(min=0)
    change = change_of(log_odds(after, decided), odds)
    met = (bound - jsd <= MET) & (change <= epsilon + _KEPT)
    return Adversary(
        adversary,
        jsd,
        change,
        decisions(after) == decided,
        met,
        torch.where(met, jsd, bound),
        after[:, 1:] - after[:, :1] if item_logits.shape[-1] == 1 else after,
    )


@torch.no_grad()
def farthest_item(
    weights: Tensor, item_logits: Tensor, logits: Tensor, mask: Tensor, epsilon: float
) -> Adversary:
    """The farthest attention on one item that keeps the prediction; `weights` where none does.

    Args:
        weights: (batch, items) α.
        item_logits: (batch, items, classes) the logits of each item alone, of any head.
        logits: (batch, classes) the logits of all items under `weights`.
        mask: (batch, items) bool.
        epsilon: how far the probability of the decision may move, from 0 to 1.

    Returns:
        An `Adversary`, whose upper bound is `farthest_anywhere`.
    """
    epsilon = check("epsilon", epsilon, float, {"minimum": 0, "maximum": 1})
    refuse_classless(item_logits)
    original, says = checked_weights(weights, mask), two_columns(checked_logits(item_logits, mask))
    all_in_all = two_columns(logits.double())
    decided = decisions(all_in_all)
    odds = log_odds(all_in_all, decided)
    change = change_of(log_odds(says, decided.unsqueeze(-1).expand(mask.shape)), odds.unsqueeze(-1))
    point = best_vertex(at_vertices(original, mask), mask & (change <= epsilon))
    exists = point.value.isfinite()
    place = point.first.unsqueeze(-1)
    adversary = torch.where(exists.unsqueeze(-1), point.weights(original), original)
    alone = item_logits.double().take_along_dim(place.unsqueeze(-1), 1).squeeze(1)
    after = torch.where(exists.unsqueeze(-1), alone, logits.double())
    jsd = jensen_shannon(adversary, original).clamp(min=0)
    bound = farthest_anywhere(weights, mask)
    return Adversary(
        adversary,
        jsd,
        torch.where(exists, change.gather(-1, place).squeeze(-1), 0.0),
        decisions(after) == decided,
        bound - jsd <= MET,
        bound,
        after,
    )


def farthest_anywhere(weights: Tensor, mask: Tensor) -> Tensor:
    """(batch,): the largest divergence of any attention from `weights`, under any head.

    It is that of all weight on the item that has least.

    Args:
        weights: (batch, items) α.
        mask: (batch, items) bool.
    """
    return best_vertex(at_vertices(checked_weights(weights, mask), mask), mask).value


def change_of(after: Tensor, before: Tensor) -> Tensor:
    """|Δp| from log-odds, with the digits of what is near 0 or 1 kept.

    σ(a) − σ(b) is the difference of the smaller tails, whichever these are.
    """
    up = torch.sigmoid(after) - torch.sigmoid(before)
    down = torch.sigmoid(-before) - torch.sigmoid(-after)
    return torch.where(before > 0, down, up).abs()


def faces(odds: Tensor, says: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """(batch,) log-odds → logit(p − ε) and logit(p + ε), −∞ and ∞ beyond 0 and 1."""
    p, q = torch.sigmoid(odds), torch.sigmoid(-odds)  # q = 1 − p, with its own digits
    margin = epsilon + _ROUNDING_P
    slack = _ROUNDING_Z * (1 + says.abs().amax((-2, -1)))
    low = torch.where(p > margin, ((p - margin) / (q + margin)).log() - slack, -torch.inf)
    high = torch.where(q > margin, ((p + margin) / (q - margin)).log() + slack, torch.inf)
    return low, high


def refuse_classless(item_logits: Tensor) -> None:
    """An error where there is no item to attend, or no class whose probability could be kept."""
    if item_logits.dim() != 3 or 0 in item_logits.shape[1:]:
        raise VeraxError(
            f"item_logits has shape {tuple(item_logits.shape)}: expected (batch, items, classes) "
            "with at least one item and one class",
            code="tensor.wrong-shape",
        )


def checked_weights(weights: Tensor, mask: Tensor) -> Tensor:
    """The weights in float64, (batch, items): zero where masked, each row summing to one."""
    if weights.dim() != 2 or mask.dtype != torch.bool or mask.shape != weights.shape:
        raise VeraxError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}: expected bool of weights' shape "
            f"{tuple(weights.shape)}, (batch, items)",
            code="tensor.wrong-shape",
        )
    if weights.shape[1] == 0:
        raise VeraxError(
            f"weights has shape {tuple(weights.shape)}: expected (batch, items) with at least one "
            "item",
            code="tensor.wrong-shape",
        )
    inside = weights.detach().double().masked_fill(~mask, 0.0)
    if not bool((inside.isfinite() & (inside >= 0)).all()):
        raise VeraxError(
            "weights are negative, NaN or infinite: expected a row on the simplex",
            code="tensor.bad-values",
        )
    total = inside.sum(-1, keepdim=True)
    if not bool((total > 0).all()):
        raise VeraxError(
            "a row of weights has no item with weight: leave it out", code="tensor.bad-values"
        )
    return inside / total


def checked_logits(item_logits: Tensor, mask: Tensor) -> Tensor:
    """The item logits in float64, (batch, items, classes): zero where masked."""
    if item_logits.dim() != 3 or item_logits.shape[:2] != mask.shape:
        raise VeraxError(
            f"item_logits has shape {tuple(item_logits.shape)}: expected "
            f"({mask.shape[0]}, {mask.shape[1]}, classes) as weights",
            code="tensor.wrong-shape",
        )
    says = item_logits.detach().double().masked_fill(~mask.unsqueeze(-1), 0.0)
    if not bool(says.isfinite().all()):
        raise VeraxError(
            "item_logits are NaN or infinite: expected finite numbers", code="tensor.bad-values"
        )
    return says

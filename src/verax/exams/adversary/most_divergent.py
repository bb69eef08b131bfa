"""The attention farthest from a model's own that keeps its prediction, exactly."""

from __future__ import annotations

from dataclasses import dataclass, fields

import torch
from torch import Tensor

from verax.divergence import jensen_shannon
from verax.exams.adversary.asked import item_says, own_weights
from verax.exams.adversary.farthest import at_vertices, best_vertex, farthest
from verax.exams.adversary.several import farthest_of_several, log_odds
from verax.models.head import decisions, two_columns
from verax.options import check

MAX_PAIRS = 2**17
"""Edges held at once: a few numbers each, all of which fit a processor's cache."""
MET = 1e-12
"""How close two bounds are that meet."""
_KEPT = 1e-6
_ROUNDING_P, _ROUNDING_Z = 1e-15, 64 * torch.finfo(torch.float64).eps


@dataclass(frozen=True, eq=False)
class Adversary:
    """For each document the most divergent attention there is, or was found; float64.

    weights        (batch, items)    α', on the simplex, zero where masked
    jsd            (batch,)          JSD(α', α) in nats, at most ln 2
    change         (batch,)          |Δp| of the class decided for
    decision_kept  (batch,) bool     whether α' decides the same
    certified      (batch,) bool     nothing that keeps the prediction diverges more than α'
    upper_bound    (batch,)          what no such attention exceeds; `jsd` where certified
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
        """The farther of two answers in the rows where that is asked, (batch,); else itself."""
        take = where & (other.jsd > self.jsd)
        pairs = ((getattr(self, f.name), getattr(other, f.name)) for f in fields(self))
        return Adversary(
            *(
                torch.where(take.view(-1, *(1,) * (own.dim() - 1)), theirs, own)
                for own, theirs in pairs
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
        weights: α, (batch, items).
        item_logits: ℓ_i, (batch, items, classes); one column is one sigmoid logit.
        mask: (batch, items) bool, True where there is an attended item.
        epsilon: ε; 0 leaves the output as it is, 1 leaves it free.
        max_pairs: pairs of items tried at once, which bounds memory and changes no result.

    Two classes are exact: with z_i the log-odds that item i alone gives, the constraint is a slab
    logit(p − ε) ≤ Σ α'_i z_i ≤ logit(p + ε), and all its extreme points are tried (see
    `farthest`). A face beyond 0 or 1 does not exist. More classes: the best of all items and edges
    is a lower bound, as the set of what keeps the prediction is no polytope; `upper_bound` is the
    smallest over half-spaces that hold this set, and the answer is certified where they meet.

    Faces stand off by what rounding can move a prediction, some 1e-14 times the largest logit, so
    that nothing that keeps it in floating point is farther than the certificate. Where that is more
    than 1e-6 in the probability, with logits beyond 1e8, nothing is certified.

    >>> own, says = torch.tensor([[0.8, 0.1, 0.1]]), torch.tensor([[[2.0], [2.0], [-1.0]]])
    >>> found = most_divergent(own, says, torch.ones(1, 3, dtype=torch.bool), epsilon=0.1)
    >>> found.weights.tolist(), round(found.jsd.item(), 3), found.certified.item()
    ([[0.0, 1.0, 0.0]], 0.526, True)
    """
    epsilon = check("epsilon", epsilon, float, {"minimum": 0, "maximum": 1})
    own, says = own_weights(weights, mask), two_columns(item_says(item_logits, mask))
    logits = torch.einsum("bi,bic->bc", own, says)
    decided = decisions(logits)
    odds = log_odds(logits, decided)
    low, high = faces(odds, says, epsilon)
    if max_pairs is None:
        max_pairs = MAX_PAIRS if own.device.type == "cpu" else 2**24
    if says.shape[-1] == 2:
        z = (says[..., 1] - says[..., 0]) * (2 * decided - 1).unsqueeze(-1)
        point = farthest(own, z, mask, low, high, max_pairs)
        bound = point.value
    else:
        point, bound = farthest_of_several(own, says, mask, decided, low, high, max_pairs)
    # with more classes no item and no edge need keep the prediction: then nothing but α is known to
    found = torch.where(point.value.isfinite().unsqueeze(-1), point.weights(own), own)
    after = torch.einsum("bi,bic->bc", found, says)
    jsd = jensen_shannon(found, own).clamp(min=0)
    change = change_of(log_odds(after, decided), odds)
    met = (bound - jsd <= MET) & (change <= epsilon + _KEPT)
    return Adversary(
        found,
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
    """The farthest attention on one item that keeps the prediction; the own where there is none.

    For any head. No attention is farther than `farthest_anywhere`.

    Args:
        weights: (batch, items).
        item_logits: (batch, items, classes), what the head makes of each item alone.
        logits: (batch, classes), what it makes of them all under `weights`.
        mask: (batch, items) bool, True where there is an attended item.
        epsilon: how far the probability of the decision may move.
    """
    epsilon = check("epsilon", epsilon, float, {"minimum": 0, "maximum": 1})
    own, says = own_weights(weights, mask), two_columns(item_says(item_logits, mask))
    all_in_all = two_columns(logits.double())
    decided = decisions(all_in_all)
    odds = log_odds(all_in_all, decided)
    change = change_of(log_odds(says, decided.unsqueeze(-1).expand(mask.shape)), odds.unsqueeze(-1))
    point = best_vertex(at_vertices(own, mask), mask & (change <= epsilon))
    there = point.value.isfinite()
    place = point.first.unsqueeze(-1)
    found = torch.where(there.unsqueeze(-1), point.weights(own), own)
    alone = item_logits.double().take_along_dim(place.unsqueeze(-1), 1).squeeze(1)
    after = torch.where(there.unsqueeze(-1), alone, logits.double())
    jsd = jensen_shannon(found, own).clamp(min=0)
    bound = farthest_anywhere(weights, mask)
    return Adversary(
        found,
        jsd,
        torch.where(there, change.gather(-1, place).squeeze(-1), 0.0),
        decisions(after) == decided,
        bound - jsd <= MET,
        bound,
        after,
    )


def farthest_anywhere(weights: Tensor, mask: Tensor) -> Tensor:
    """(batch,): what no attention exceeds, whatever it makes of the prediction.

    That of all weight on the item with the least; it holds for any head.

    Args:
        weights: (batch, items).
        mask: (batch, items) bool, True where there is an attended item.
    """
    return best_vertex(at_vertices(own_weights(weights, mask), mask), mask).value


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

"""One item erased: the one ranked highest, against a random other."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from verax.divergence import jensen_shannon
from verax.exams.erasure.states import States, overtaken

RULES = ("paper", "authors")


@dataclass(frozen=True, eq=False)
class SingleErasures:
    """What erasing each of some single items does, all (batch, sets).

    flips  whether the decision changes
    js     Jensen–Shannon divergence in nats between the class distributions before and after
    """

    flips: Tensor
    js: Tensor


def erase_each(states: States, items: Tensor) -> SingleErasures:
    """Erase, one at a time, the items at positions `items` (batch, sets)."""
    logits = states.after_each(items)
    decision = states.decision.unsqueeze(-1).expand(items.shape)
    before = states.logits.softmax(-1).unsqueeze(1)
    return SingleErasures(overtaken(logits, decision), jensen_shannon(before, logits.softmax(-1)))


def top_item(importance: Tensor, mask: Tensor) -> Tensor:
    """(…, batch, items) scores → (…, batch) position of the highest, of equal ones the first."""
    keys = torch.where(mask, importance, -torch.inf)
    best = keys == keys.amax(-1, keepdim=True)
    # the earlier a position the higher its mark, so that the highest mark is the first
    width = mask.shape[-1]
    marks = torch.arange(width, 0, -1, dtype=torch.int32, device=mask.device)
    return width - ((best & mask) * marks).amax(-1).clamp(min=1).long()


def random_item(top: Tensor, uniform: Tensor, mask: Tensor, rule: str = "paper") -> Tensor:
    """The item to compare `top` with, from a number in [0, 1); all (…, batch).

    paper    any item other than `top`, all equally likely (Serrano & Smith 2019, section 4)
    authors  any item other than the first; it may be `top` itself, as in their code, which draws
             a rank among the others and then uses it as a position
    A row of one item has no other: its only item comes back.
    """
    rank = mask.cumsum(-1)
    count = rank[:, -1]
    drawn = (uniform * (count - 1)).long() + 1
    if rule == "paper":
        top_rank = rank.expand(*top.shape, -1).gather(-1, top.unsqueeze(-1)).squeeze(-1)
        # ranks 1 to n − 1, those from the top's on moved up by one to leave it out
        wanted = torch.where(drawn < top_rank, drawn, drawn + 1)
    else:
        wanted = drawn + 1
    wanted = torch.where(count > 1, wanted, 1)
    # the first position by which as many items have come
    by_row = wanted.reshape(-1, wanted.shape[-1]).T.contiguous()
    return torch.searchsorted(rank, by_row).T.reshape(wanted.shape).clamp(max=mask.shape[-1] - 1)

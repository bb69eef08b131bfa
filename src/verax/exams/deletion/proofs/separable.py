"""States that hold their own word only: the smallest sets by sorting."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from verax.exams.deletion.proofs.proof import Proof, all_masked, room, terms
from verax.models.kinds import MASK
from verax.models.trace import Trace


def proof(
    model: Any, trace: Trace, rows: Tensor, decision: Tensor, operator: str, keeping: bool
) -> Proof:
    """See `proof_of`. A word that goes leaves nothing, or what the unknown word says."""
    mask = trace.mask[rows]
    scores, logits = trace.scores[rows], trace.item_logits[rows]
    uniform = model.known_readout[0].projection == "uniform"
    masks = operator == MASK
    if masks:
        other = all_masked(model, trace)
        scores = torch.stack([scores, other.scores[rows]], 1)
        logits = torch.stack([logits, other.item_logits[rows]], 1)
        mask = mask.unsqueeze(1).expand(scores.shape)
    if uniform:
        scores = torch.zeros_like(scores)
    values, weights = terms(scores, logits, decision, mask)
    slack = (room(logits, mask) * (-1 if keeping else 1)).view(-1, *(1,) * (scores.dim() - 1))
    parts = []
    for sign in (1, -1):  # what is possible, then what is sure
        leaning = values - sign * slack * weights
        present, gone = (
            (leaning[:, :, 0], leaning[:, :, 1]) if masks else (leaning, torch.zeros_like(leaning))
        )
        parts.append(fewest(present, gone, trace.mask[rows], decision, keeping))
    (lower, members), (_, sure) = parts
    if not masks:  # with no word left the bias decides, which no term speaks of
        words = trace.mask[rows].sum(-1)
        lower = torch.zeros_like(lower) if keeping else torch.minimum(lower, words)
    return Proof(lower, torch.stack([members, sure]))


def fewest(
    present: Tensor, gone: Tensor, mask: Tensor, decision: Tensor, keeping: bool = False
) -> tuple[Tensor, Tensor]:
    """The fewest words to take out before a sum of terms is below 0, or to keep for it to be above.

    Args:
        present: (classes, rows, words): what each word adds to each class's sum.
        gone: (classes, rows, words): the same once it is taken out.
        mask: (rows, words) bool.
        decision: (rows,) long: the class whose sum does not count.
        keeping: count words that are kept, and ask for sums above 0 of all classes; else for a sum
            below 0 of some class.

    Returns:
        (rows,) the size, 1 at least (0 where words are kept), the number of words and one where no
        size will do; and (rows, words) bool, a set that reaches it: where words are kept it is
        that of the class that needs most. With two classes that is the smallest set; with more
        the size is a lower bound.
    """
    words = mask.sum(-1)
    never = words + 1
    present, gone = present.masked_fill(~mask, 0.0), gone.masked_fill(~mask, 0.0)
    helps = (present - gone).masked_fill(~mask, -torch.inf)
    ordered, order = helps.sort(dim=-1, descending=True, stable=True)
    sums = ordered.masked_fill(ordered == -torch.inf, 0.0).cumsum(-1)
    start = (gone if keeping else present).sum(-1)
    after = start.unsqueeze(-1) + (sums if keeping else -sums)
    inside = torch.arange(mask.shape[1], device=mask.device) < words.unsqueeze(-1)
    does = (after > 0 if keeping else after < 0) & inside
    size = torch.where(does.any(-1), does.long().argmax(-1) + 1, never)
    if keeping:
        size = torch.where(start > 0, 0, size)
    unknown = ~after.isfinite().all(-1)
    size = torch.where(unknown, 0 if keeping else 1, size)
    is_decision = torch.nn.functional.one_hot(decision, len(present)).T.bool()
    size = size.masked_fill(is_decision, -1) if keeping else torch.where(is_decision, never, size)
    best, rival = size.max(0) if keeping else size.min(0)
    places = order.gather(0, rival.view(1, -1, 1).expand(1, *mask.shape)).squeeze(0)
    chosen = torch.arange(mask.shape[1], device=mask.device) < best.unsqueeze(-1)
    members = torch.zeros_like(mask).scatter(-1, places, chosen) & mask
    return best, members & (best <= words).unsqueeze(-1)

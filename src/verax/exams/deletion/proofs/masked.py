"""Masked words under a convolution: a dynamic programme over positions.

A state's score and item logits depend on which of five words are masked: 32 patterns. So the sum
over words is a sum of terms that each depend on five neighbouring bits, and the lowest sum for so
many masked words follows position by position from the lowest sums by the last four bits.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from verax.exams.deletion.proofs.proof import Proof, all_masked, room, terms
from verax.exams.deletion.proofs.windows import REACH, Windows
from verax.models.trace import Trace

PATTERNS = 32
MOST = 1000
"""The most words that are counted: a smallest set may be larger, and is known to be."""


def proof(
    model: Any, trace: Trace, rows: Tensor, decision: Tensor, keeping: bool, max_tokens: int
) -> Proof:
    """See `proof_of`."""
    windows = Windows(model)
    other = all_masked(model, trace)
    read = trace.token_mask.unsqueeze(-1)
    plain, masked = trace.embedded * read, other.embedded * read
    width = max(1, trace.tokens.shape[1])
    together = max(1, max_tokens // (width * PATTERNS))
    parts = []
    for some, decided in zip(rows.split(together), decision.split(together), strict=True):
        words = trace.mask[some]
        scores, logits = _patterns(windows, plain[some], masked[some])
        inside = words.unsqueeze(-1).expand(scores.shape)
        values, weights = terms(scores, logits, decided, inside)
        slack = (room(logits, inside) * (-1 if keeping else 1)).view(-1, 1, 1)
        leaning = (values - sign * slack * weights for sign in (1, -1))
        parts.append([fewest_bits(one, words, decided, keeping) for one in leaning])
    lower = torch.cat([possible[0] for possible, _ in parts])
    tried = [torch.cat([part[which][1] for part in parts]) for which in (0, 1)]
    return Proof(lower, torch.stack(tried))


def _patterns(windows: Windows, plain: Tensor, masked: Tensor) -> tuple[Tensor, Tensor]:
    """Scores (rows, tokens, 32) and item logits (…, classes) for each pattern of masked words.

    Bit 4 of a pattern is of the word two places before, bit 0 of that two places behind.
    """
    width = plain.shape[1]
    both = functional.pad(torch.stack([plain, masked]), (0, 0, REACH, REACH))
    taps = windows.taps(both)
    parts = []
    for pattern in range(PATTERNS):
        bits = {o: pattern >> (REACH - o) & 1 for o in range(-REACH, REACH + 1)}
        sums = [
            sum(
                (by[bits[o], :, REACH + o : REACH + o + width] for o, by in one.items()),
                torch.zeros(()).to(plain),
            )
            for one in taps
        ]
        parts.append(windows.read(sums, both[bits[0], :, REACH : REACH + width]))
    return torch.stack([part[0] for part in parts], 2), torch.stack([part[1] for part in parts], 2)


def fewest_bits(
    values: Tensor, words: Tensor, decision: Tensor, keeping: bool = False
) -> tuple[Tensor, Tensor]:
    """The fewest words to mask for some class's sum to be below 0, or to keep for all to be above.

    Args:
        values: (classes, rows, tokens, 32): a word's term for each pattern of masked words around
            it; 0 where there is no word.
        words: (rows, tokens) bool: what can be masked.
        decision: (rows,) long: the class whose sum does not count.
        keeping: count words that are kept, and ask for sums above 0 of all classes.

    Returns:
        (rows,) the size, words + 1 where none will do, `MOST` + 1 where none of so many words will;
        and (rows, tokens) bool, the words masked, or kept. See `separable.fewest`.
    """
    terms = -values if keeping else values
    count = words.sum(-1)
    most = min(MOST, int(count.max()))
    lowest, choices = _lowest_sums(terms, words, most, counted=0 if keeping else 1)
    classes = len(values)
    never = torch.minimum(count, torch.full_like(count, most)) + 1
    does = lowest.amin(-1) < 0
    if not keeping:
        does[..., 0] = False
    size = torch.where(does.any(-1), does.long().argmax(-1), never)
    unknown = values.isnan().flatten(2).any(-1)
    size = torch.where(unknown, 0 if keeping else 1, size)
    is_decision = functional.one_hot(decision, classes).T.bool()
    size = size.masked_fill(is_decision, -1) if keeping else torch.where(is_decision, never, size)
    best, rival = size.max(0) if keeping else size.min(0)
    usable = (best < never) & ~unknown.any(0)
    taken = best.clamp(min=0, max=most)
    last = lowest[rival, torch.arange(len(rival), device=rival.device), taken].argmin(-1)
    bits = _traced(choices, rival, taken, last, words, counted=0 if keeping else 1)
    members = (words & ~bits if keeping else bits) & usable.unsqueeze(-1)
    return best, members


def _lowest_sums(
    values: Tensor, words: Tensor, most: int, counted: int
) -> tuple[Tensor, list[Tensor]]:
    """The lowest sums by counted words and last four bits, (classes, rows, most + 1, 16).

    The latest bit is the lowest of a state. The second value is for each token the oldest bit of
    the better way into each state, bool of the same shape.
    """
    classes, rows, width, _ = values.shape
    # two more tokens, which are no words, bring the last windows to their end
    words = functional.pad(words, (0, REACH))
    sums = values.new_full((classes, rows, most + 1, 16), torch.inf)
    sums[:, :, 0, 0] = 0.0
    choices = []
    for place in range(width + REACH):
        centre = place - REACH
        added = values[:, :, centre] if centre >= 0 else values.new_zeros(classes, rows, PATTERNS)
        # (…, oldest bit, other three, new bit)
        ways = (sums.unsqueeze(-1) + added.view(classes, rows, 1, 16, 2)).unflatten(3, (2, 8))
        is_word = words[:, place].view(1, rows, 1, 1, 1)
        masks = torch.where(is_word, ways[..., 1], torch.inf)
        keeps = ways[..., 0]
        if counted == 1:
            masks = _one_more(masks)
        else:
            keeps = torch.where(is_word, _one_more(keeps), keeps)
        both = torch.stack([keeps, masks], -1)  # (…, oldest, other three, new)
        better = both[..., 1, :, :] < both[..., 0, :, :]
        choices.append(better.flatten(-2))
        sums = both.amin(-3).flatten(-2)
    return sums, choices


def _one_more(sums: Tensor) -> Tensor:
    """Sums (classes, rows, counted, …) of one counted word more."""
    shifted = torch.full_like(sums, torch.inf)
    shifted[:, :, 1:] = sums[:, :, :-1]
    return shifted


def _traced(
    choices: list[Tensor], rival: Tensor, size: Tensor, state: Tensor, words: Tensor, counted: int
) -> Tensor:
    """(rows, tokens) bool: the bits of the lowest sum of a rival, (rows,), that ends in a state."""
    rows = torch.arange(len(rival), device=rival.device)
    width = words.shape[1]
    bits = torch.zeros_like(words)
    words = functional.pad(words, (0, REACH))
    left = size
    for place in range(len(choices) - 1, -1, -1):
        bit = state & 1
        if place < width:
            bits[:, place] = bit.bool()
        oldest = choices[place][rival, rows, left, state].long()
        is_word = words[:, place]
        left = (left - (is_word & (bit == counted)).long()).clamp(min=0)
        state = (oldest << 3) | (state >> 1)
    return bits

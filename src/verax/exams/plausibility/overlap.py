"""How far scores of words, or sets of words, match those that were marked.

`marked` and `mask` are (…, words) bool and broadcast against scores; `mask` is True at words.
"""

from __future__ import annotations

import torch
from torch import Tensor

IOU_THRESHOLD = 0.5
"""From which overlap on ERASER counts a span as found."""


def average_precision(scores: Tensor, marked: Tensor, mask: Tensor) -> Tensor:
    """Return the average precision of each document's scores against the marked words.

    AP = Σ_n (R_n − R_{n−1}) P_n over the distinct scores in descending order, without
    interpolation, as in scikit-learn: words with equal scores enter together. A constant score
    therefore gets the share of marked words.

    Args:
        scores: (…, words), higher for more important words.
        marked: (…, words) bool, True for marked words.
        mask: (…, words) bool, True where there is a word.

    Returns:
        (…,) float64; NaN where no word is marked.
    """
    marked, mask = (x.expand(scores.shape) for x in (marked, mask))
    values = scores.double().masked_fill(~mask, -torch.inf)
    values, order = values.sort(dim=-1, descending=True)
    hit = (marked & mask).gather(-1, order).double()
    real = mask.gather(-1, order)
    place = torch.arange(scores.shape[-1], device=scores.device)
    # the last place of those that have this score
    is_last = torch.ones_like(real)
    is_last[..., :-1] = values[..., 1:] != values[..., :-1]
    last = torch.where(is_last, place, len(place)).flip(-1).cummin(-1).values.flip(-1)
    precision = hit.cumsum(-1).gather(-1, last) / (last + 1)
    total = hit.sum(-1)
    found = (hit * precision * real).sum(-1)
    return torch.where(total > 0, found / total.clamp(min=1), torch.nan)


def top_words(scores: Tensor, counts: Tensor, mask: Tensor) -> Tensor:
    """Select the words with the highest scores in each document.

    Args:
        scores: (…, words).
        counts: (…,) long, the number of words to select.
        mask: (…, words) bool, True where there is a word.

    Returns:
        (…, words) bool. Between equal scores the earlier word is selected.
    """
    mask = mask.expand(scores.shape)
    values = scores.double().masked_fill(~mask, -torch.inf)
    order = values.sort(dim=-1, descending=True, stable=True).indices
    place = torch.arange(scores.shape[-1], device=scores.device).expand_as(order)
    rank = torch.empty_like(order).scatter_(-1, order, place)
    return (rank < counts.unsqueeze(-1)) & mask


def token_f1(chosen: Tensor, marked: Tensor) -> Tensor:
    """Return the F1 of the chosen words: 2 |chosen ∩ marked| / (|chosen| + |marked|).

    Args:
        chosen: (…, words) bool.
        marked: (…, words) bool.

    Returns:
        (…,) float64; NaN where both sets are empty.
    """
    both = (chosen & marked).sum(-1).double()
    sizes = chosen.sum(-1) + marked.sum(-1)
    return 2 * both / torch.where(sizes > 0, sizes, torch.nan)


def iou_f1(chosen: Tensor, marked: Tensor, threshold: float = IOU_THRESHOLD) -> Tensor:
    """Return the F1 of the chosen spans, as defined by ERASER (DeYoung et al. 2020).

    A span is a run of adjacent words. A chosen span is correct if its intersection over union with
    some marked span is at least `threshold`. With t correct spans, precision is t over the chosen
    spans, recall t over the marked ones, and F1 = 2t / (chosen + marked). ERASER computes F1 from
    the two means over documents; here each document has its own.

    Args:
        chosen: (…, words) bool.
        marked: (…, words) bool.
        threshold: the smallest intersection over union of a correct span.

    Returns:
        (…,) float64; NaN where both sets are empty.
    """
    chosen, marked = torch.broadcast_tensors(chosen, marked)
    width = chosen.shape[-1]
    rows = chosen.reshape(-1, width), marked.reshape(-1, width)
    numbers = [_span_numbers(one) for one in rows]
    spans = [int(n.max()) + 1 if n.numel() else 0 for n in numbers]
    lengths = [_counted(n[n >= 0], size) for n, size in zip(numbers, spans, strict=True)]
    both = (numbers[0] >= 0) & (numbers[1] >= 0)
    # spans of rows come in order, so that a pair is one number below the product of counts
    pair, overlap = (numbers[0][both] * spans[1] + numbers[1][both]).unique(return_counts=True)
    mine, theirs = pair.div(max(spans[1], 1), rounding_mode="floor"), pair % max(spans[1], 1)
    union = lengths[0][mine] + lengths[1][theirs] - overlap
    right = torch.zeros(spans[0], dtype=torch.bool, device=chosen.device)
    right[mine[overlap >= threshold * union]] = True
    starts = [_starts(one) for one in rows]
    row_of_span = starts[0].nonzero()[:, 0]
    hits = _counted(row_of_span[right], len(rows[0])).double()
    count = starts[0].sum(-1) + starts[1].sum(-1)
    f1 = 2 * hits / torch.where(count > 0, count, torch.nan)
    return f1.reshape(chosen.shape[:-1])


def _starts(members: Tensor) -> Tensor:
    """(rows, words) bool: the first word of each run."""
    before = torch.zeros_like(members)
    before[:, 1:] = members[:, :-1]
    return members & ~before


def _span_numbers(members: Tensor) -> Tensor:
    """(rows, words) long: the number of each member's run among all, from 0; −1 elsewhere."""
    starts = _starts(members)
    numbers = starts.flatten().cumsum(0).reshape(starts.shape) - 1
    return numbers.masked_fill(~members, -1)


def _counted(numbers: Tensor, size: int) -> Tensor:
    """(size,) long: how often each number occurs."""
    return torch.bincount(numbers, minlength=size)

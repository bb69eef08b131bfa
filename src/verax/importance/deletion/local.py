"""Leave-one-out where a state sees no further than its neighbours: convolution, or no encoder.

Deleting word i closes the gap, which changes the two states on either side of it (a window of five
reaches two words) and no other. A convolution is a sum of taps, T_o(x_{t+o}): these are worked out
once a word, and a changed state adds up those of its new neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor
from torch.nn import functional

from verax.importance.deletion.found import Found
from verax.importance.deletion.readout import Readout
from verax.importance.same_length import Alike, alike
from verax.models.classifier import AttentionClassifier
from verax.models.encoders import Convolution, Identity
from verax.models.grounding import ground
from verax.models.trace import Trace

_REACH = 2
_NEIGHBOURS = (-2, -1, 1, 2)
_TOKENS_PER_ROW = 4
_SCALARS_PER_TOKEN = 32


def fits(model: AttentionClassifier) -> bool:
    return isinstance(model.encoder, (Convolution, Identity)) and Readout.fits(model)


def logits_without_words(
    model: AttentionClassifier, trace: Trace, max_tokens: int
) -> Iterator[Found]:
    """See `Found`."""
    longest = max(1, int(trace.batch.lengths.max()))
    most = max(1, min(max_tokens // _TOKENS_PER_ROW, _SCALARS_PER_TOKEN * max_tokens // longest))
    readout = Readout(model)
    for group in alike(model, trace, most):
        scores = trace.scores[group.rows][:, group.columns]
        says = trace.item_logits[group.rows][:, group.columns]
        taps = _taps(model, group)
        block = max(1, most // len(group.rows))
        for places in group.places.split(block):
            new = _neighbours(model, group, readout, taps, places)
            logits = _decide(model, group, scores, says, new, places)
            yield Found(group.rows, places, logits)


def _taps(model: AttentionClassifier, group: Alike) -> list[list[Tensor]]:
    """For each filter width, offset −r … r: (documents, length + padding, size) products."""
    encoder = model.encoder
    if not isinstance(encoder, Convolution):
        return []
    # a state two words off sees two words further, and the gap makes it one more
    padded = functional.pad(group.embedded, (0, 0, _PAD, _PAD))
    return [
        [padded @ filters.weight[:, :, k].T for k in range(filters.weight.shape[-1])]
        for filters in (encoder.narrow, encoder.wide)
    ]


_PAD = 2 * _REACH + 1


def _neighbours(
    model: AttentionClassifier,
    group: Alike,
    readout: Readout,
    taps: list[list[Tensor]],
    places: Tensor,
) -> dict[int, tuple[Tensor, Tensor]]:
    """Neighbour r → score (documents, places) and item logits of the state at place + r."""
    if not taps:
        return {}
    encoder = model.encoder
    assert isinstance(encoder, Convolution)
    first, many = int(places[0]) + _PAD, len(places)
    padded = functional.pad(group.embedded, (0, 0, _PAD, _PAD))
    found = {}
    for r in _NEIGHBOURS:
        halves = []
        for filters, products in zip((encoder.narrow, encoder.wide), taps, strict=True):
            assert filters.bias is not None
            reach = len(products) // 2
            total = filters.bias.expand(len(group.rows), many, -1).clone()
            for o, product in zip(range(-reach, reach + 1), products, strict=True):
                off = r + o
                off += int(r < 0 <= off) - int(r > 0 >= off)  # over the gap
                total += product[:, first + off : first + off + many]
            halves.append(total.relu_())
        vectors = padded[:, first + r : first + r + many]
        states = ground(torch.cat(halves, dim=-1), vectors, model.options)
        found[r] = readout.finish(readout.features(states))
    return found


def _decide(
    model: AttentionClassifier,
    group: Alike,
    scores: Tensor,
    says: Tensor,
    new: dict[int, tuple[Tensor, Tensor]],
    places: Tensor,
) -> Tensor:
    """(documents, places, classes) logits: all words as they were, but for new neighbours."""
    start, many, n = int(places[0]) - group.first, len(places), group.words
    documents = len(group.rows)
    changed = scores.unsqueeze(1).repeat(1, many, 1)
    for r, (score, _) in new.items():
        _put(changed, start + r, score)
    left = torch.arange(n, device=places.device) != (places - group.first).unsqueeze(-1)
    left = left.repeat(documents, 1)
    weights = model.attention.weigh(changed.view(-1, n), left).view(documents, many, n)
    logits = weights @ says
    for r, (_, logit) in new.items():
        weight = weights.diagonal(start + r, 1, 2).unsqueeze(-1)
        before = says[:, max(0, start + r) :][:, : weight.shape[1]]
        skipped = max(0, -(start + r))
        now = logit[:, skipped : skipped + weight.shape[1]]
        logits[:, skipped : skipped + weight.shape[1]] += weight * (now - before)
    return logits if n > 1 else model.head.bias.expand_as(logits)


def _put(matrix: Tensor, offset: int, values: Tensor) -> None:
    """Set matrix[:, p, p + offset] = values[:, p] wherever there is such a column."""
    there = matrix.diagonal(offset, 1, 2)
    skipped = max(0, -offset)
    there.copy_(values[:, skipped : skipped + there.shape[-1]])

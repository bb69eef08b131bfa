"""Which documents go together: similar lengths, little padding, bounded memory."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from verax.budget import MAX_TOKENS as MAX_TOKENS
from verax.options import check

Rows = NDArray[np.int64]

_JITTER = 0.04
_MIN_DOCUMENTS = 32


def training_batches(lengths: Rows, batch_size: int, seed: int, epoch: int) -> list[Rows]:
    """An epoch's batches of `batch_size` documents, in random order, each longest first.

    Documents are sorted by their length jittered by 4% and cut in order: neighbours differ from
    epoch to epoch, and padding stays well under 10% on corpora of a few thousand documents.
    """
    random = np.random.Generator(np.random.PCG64([seed, epoch]))
    jittered = (lengths + random.uniform(-0.5, 0.5, len(lengths))) * random.uniform(
        1 - _JITTER, 1 + _JITTER, len(lengths)
    )
    order = np.argsort(jittered, kind="stable")
    # the one batch that comes up short is not always the one of the longest documents
    sizes = np.full(len(order) // batch_size, batch_size)
    if len(order) % batch_size:
        sizes = np.insert(sizes, random.integers(len(sizes) + 1), len(order) % batch_size)
    batches = [_longest_first(rows, lengths) for rows in np.split(order, np.cumsum(sizes)[:-1])]
    return [batches[i] for i in random.permutation(len(batches))]


def micro_batches(rows: Rows, lengths: Rows, max_tokens: int) -> list[Rows]:
    """A batch (longest first) cut into pieces of at most `max_tokens` padded tokens.

    A document longer than the budget is a piece by itself.
    """
    pieces = []
    first = 0
    while first < len(rows):
        fits = max(1, max_tokens // int(lengths[rows[first]]))
        pieces.append(rows[first : first + fits])
        first += fits
    return pieces


def reading_batches(lengths: Rows, max_tokens: int) -> list[Rows]:
    """Batches for evaluation: all documents once, longest first, as many as the budget allows.

    A batch is cut early where the next document is under 85% as long as its longest, unless that
    would leave it with fewer than 32 documents.
    """
    max_tokens = check("max_tokens", max_tokens, int, {"minimum": 1})
    order = _longest_first(np.arange(len(lengths)), lengths)
    descending = lengths[order]
    batches = []
    first = 0
    while first < len(order):
        longest = int(descending[first])
        fits = first + max(1, max_tokens // longest)
        similar = int(np.searchsorted(-descending, -0.85 * longest, side="right"))
        last = min(fits, max(similar, first + _MIN_DOCUMENTS))
        batches.append(order[first:last])
        first = last
    return batches


def padding_share(batches: list[Rows], lengths: Rows) -> float:
    """The share of a set of padded batches that is padding."""
    padded = sum(len(rows) * int(lengths[rows].max()) for rows in batches)
    return 1 - sum(int(lengths[rows].sum()) for rows in batches) / padded


def _longest_first(rows: Rows, lengths: Rows) -> Rows:
    return rows[np.argsort(-lengths[rows], kind="stable")]

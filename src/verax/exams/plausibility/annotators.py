"""How far annotators of a document agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from verax.corpora.ragged import Ragged


def pairwise_f1(
    marked: NDArray[np.bool_], words: Ragged, annotators: NDArray[np.int64]
) -> NDArray[np.float64]:
    """(documents,): the mean token-F1 over all pairs of a document's annotators.

    Args:
        marked: (annotators, words) bool, as `Rationales.marked` gives it.
        words: a row per document, a value per word.
        annotators: (documents,): how many each document has.

    F1 of two sets is 2 |a ∩ b| / (|a| + |b|). A pair of which neither marked a word is left out;
    NaN where no pair is left.
    """
    row, documents = words.row_of_value, len(words)

    def counted(chosen: NDArray[np.bool_]) -> NDArray[np.float64]:
        return np.bincount(row[chosen], minlength=documents).astype(np.float64)

    sizes = [counted(one) for one in marked]
    total, pairs = np.zeros(documents), np.zeros(documents)
    for a, b in combinations(range(len(marked)), 2):
        both, size = counted(marked[a] & marked[b]), sizes[a] + sizes[b]
        counts = (annotators > b) & (size > 0)
        total[counts] += 2 * both[counts] / size[counts]
        pairs += counts
    return np.divide(total, pairs, out=np.full(documents, np.nan), where=pairs > 0)

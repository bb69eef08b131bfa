"""How surprising a document's attention is: in three ways, and by its best rank in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.divergence import MOST
from verax.exams.gallery.looking import Look

MEASURES = ("excess", "jsd", "tau")
"""The three ways, by the names of their columns."""


def surprises(look: Look) -> Tensor:
    """(batch, 3), each the higher the more surprising; NaN where there is nothing to be surprised.

    1. the items attention erases beyond the smallest flipping set. Attention that never flips a
       decision which something flips counts as erasing all; where nothing flips it, NaN
    2. JSD of the most divergent attention, less `by_length`: a long text has a far one anyway
    3. −τ-b of attention and gradient

    A document of one item has one attention: NaN in all three.
    """
    items = look.states.mask.sum(-1)
    size = look.flips.size[0]
    least = look.least.size
    excess = (torch.where(size < 0, items, size) - least).double()
    excess = excess.masked_fill(least < 0, torch.nan)
    surprise = torch.stack([excess, look.adversary.jsd - by_length(items), -look.tau], dim=-1)
    return surprise.masked_fill((items < 2).unsqueeze(-1), torch.nan)


def by_length(items: Tensor) -> Tensor:
    """JSD, in nats, of uniform attention over so many items from all of it on one of them.

    With m = (1 + 1/n)/2 at that one: ½ (n−1)/n ln 2 for the others, which it leaves empty, and
    ½ (ln(1/m) + 1/n ln(1/(n m))) there.
    """
    n = items.double()
    middle = (1 + 1 / n) / 2
    here = -middle.log() - (n * middle).log() / n
    return ((n - 1) / n * MOST + here) / 2


def best_ranks(surprise: NDArray[np.float64]) -> NDArray[np.float64]:
    """(documents, measures) → (documents,): each document's best rank, those of one by their mean.

    Rank 1 is the highest value; equals share the mean of their ranks, and what is NaN the mean of
    the last ones. A document that is extreme in one way is surprising, however plain it is in the
    others: the mean of all ranks would put the middling before it. The mean parts those whose best
    is the same, as a fraction below a half, which is the least by which best ranks differ.

    >>> best_ranks(np.array([[3.0, 0.2], [1.0, 0.7], [np.nan, 0.1]]))
    array([1.1875, 1.1875, 3.375 ])
    """
    ranks = _ranks(surprise)
    return ranks.min(axis=1) + ranks.mean(axis=1) / (2 * (len(ranks) + 1))


def best_measures(surprise: NDArray[np.float64]) -> list[str]:
    """(documents, 3) → the name of the measure by which each ranks best, of equals the first.

    Empty where all three are NaN.

    >>> best_measures(np.array([[3.0, 0.2, 0.1], [1.0, 0.7, np.nan], [np.nan] * 3]))
    ['excess', 'jsd', '']
    """
    ranks = np.where(np.isnan(surprise), np.inf, _ranks(surprise))
    best = ranks.argmin(axis=1)
    is_ranked = np.isfinite(ranks.min(axis=1))
    return [
        MEASURES[place] if any_of else "" for place, any_of in zip(best, is_ranked, strict=True)
    ]


def _ranks(surprise: NDArray[np.float64]) -> NDArray[np.float64]:
    ranks = pd.DataFrame(surprise).rank(ascending=False, method="average", na_option="bottom")
    return ranks.to_numpy(dtype=np.float64)

"""How surprising a document's attention is: in three ways, and by the mean of its ranks in them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.divergence import MOST
from verax.exams.gallery.looking import Look


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
    found = torch.stack([excess, look.adversary.jsd - by_length(items), -look.tau], dim=-1)
    return found.masked_fill((items < 2).unsqueeze(-1), torch.nan)


def by_length(items: Tensor) -> Tensor:
    """JSD, in nats, of uniform attention over so many items from all of it on one of them.

    With m = (1 + 1/n)/2 at that one: ½ (n−1)/n ln 2 for the others, which it leaves empty, and
    ½ (ln(1/m) + 1/n ln(1/(n m))) there.
    """
    n = items.double()
    middle = (1 + 1 / n) / 2
    here = -middle.log() - (n * middle).log() / n
    return ((n - 1) / n * MOST + here) / 2


def mean_ranks(surprise: NDArray[np.float64]) -> NDArray[np.float64]:
    """(documents, measures) → (documents,): the mean over measures of each document's rank.

    Rank 1 is the highest value; equals share the mean of their ranks, and what is NaN the mean of
    the last ones.

    >>> mean_ranks(np.array([[3.0, 0.2], [1.0, 0.7], [np.nan, 0.1]]))
    array([1.5, 1.5, 3. ])
    """
    ranks = pd.DataFrame(surprise).rank(ascending=False, method="average", na_option="bottom")
    return ranks.to_numpy(dtype=np.float64).mean(axis=1)

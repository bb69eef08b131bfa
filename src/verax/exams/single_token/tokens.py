"""What single tokens of some documents say, kept as it is: the data of a curve."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from verax.exams.item_evidence import ItemEvidence


class Tokens:
    """The items of the documents with the `first` smallest ids, in whatever order these come.

    id      of the document
    item    its place among the attended items, from 0
    p       probability of the class decided for, had attention been on this item alone
    weight  the attention it gets
    """

    def __init__(self, first: int) -> None:
        self.first = first
        self._ids = np.zeros(0, dtype=np.int64)
        self._parts: list[pd.DataFrame] = []
        self._held = 0

    def add(self, evidence: ItemEvidence, p: Tensor) -> None:
        """Take some documents; p (batch, items), meaningless where masked."""
        self._ids = np.sort(np.concatenate([self._ids, evidence.ids]))[: self.first]
        rows = np.flatnonzero(evidence.ids <= self._ids[-1])
        if not len(rows):
            return
        chosen = torch.from_numpy(rows).to(p.device)
        there, alone, weights = (
            t[chosen].cpu().numpy() for t in (evidence.mask, p, evidence.weights)
        )
        document = np.broadcast_to(evidence.ids[rows, None], there.shape)
        columns = {
            "id": document[there],
            "item": (there.cumsum(-1) - 1)[there],
            "p": alone[there].astype(np.float64),
            "weight": weights[there].astype(np.float64),
        }
        self._parts.append(pd.DataFrame(columns))
        self._held += len(rows)
        if self._held > 2 * self.first:  # smaller ids came later: let go of what they displaced
            self._parts, self._held = [self.table()], len(self._ids)

    def table(self) -> pd.DataFrame:
        """A row for each item, by id and place."""
        whole = pd.concat(self._parts, ignore_index=True)
        whole = whole[whole["id"].isin(self._ids)]
        return whole.sort_values("id", kind="stable", ignore_index=True)

"""The agreement table with a column per pair, for tests."""

from __future__ import annotations

import pandas as pd
import torch

import verax

LABELS = ["on", "first", "second", "over"]


def values(verdict: verax.Verdict, measure: str = "kendall") -> pd.DataFrame:
    """A row per document, a column per (on, first, second, over)."""
    table = verdict.tables["agreement"]
    own = table[table["measure"] == measure]
    return own.pivot(index="id", columns=LABELS, values="value")


def by_sentence(scores: torch.Tensor, trace: verax.Trace) -> torch.Tensor:
    """The sum over each item's words, one word after the other."""
    if trace.batch.layout is None:
        return scores
    total = torch.zeros(trace.mask.shape, dtype=torch.float64)
    for row in range(len(trace)):
        for token in range(trace.tokens.shape[1]):
            item = int(trace.item_of_token[row, token])
            if item >= 0:
                total[row, item] += scores[row, token]
    return total

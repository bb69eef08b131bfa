"""Attention: items to scores (the alignment), to weights, to their weighted mean."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from verax.models.options import ModelOptions
from verax.models.projections import project


class Additive(nn.Module):
    """a_i = v · tanh(W h_i + b), with v free of bias (Bahdanau et al. 2015; Jain & Wallace 2019).

    W maps an item to `attention_size`: half an item's size in Jain & Wallace and Tutek & Šnajder,
    the whole in Serrano & Smith.
    """

    def __init__(self, item_size: int, attention_size: int | None) -> None:
        super().__init__()
        attention_size = attention_size or max(1, item_size // 2)
        self.transform = nn.Linear(item_size, attention_size)
        self.query = nn.Linear(attention_size, 1, bias=False)

    def forward(self, items: Tensor) -> Tensor:
        """(batch, items, size) → (batch, items)"""
        return self.query(torch.tanh(self.transform(items))).squeeze(-1)


class Dot(nn.Module):
    """a_i = q · h_i / √size, or without that division, with a learned query q.

    q is drawn from N(0, 1); PyTorch's default for a linear map, U(−1/√size, 1/√size), can be
    chosen instead: attention then tends to stay uniform (Tutek & Šnajder 2020, appendix C).
    """

    def __init__(self, item_size: int, query_init: str, scaled: bool = True) -> None:
        super().__init__()
        self.scale = math.sqrt(item_size) if scaled else 1.0
        self.query = nn.Parameter(torch.empty(item_size))
        if query_init == "normal":
            nn.init.normal_(self.query)
        else:
            bound = 1 / math.sqrt(item_size)
            nn.init.uniform_(self.query, -bound, bound)

    def forward(self, items: Tensor) -> Tensor:
        """(batch, items, size) → (batch, items)"""
        return items @ self.query / self.scale


class Attention(nn.Module):
    """An alignment and a projection, pooling items into one context vector."""

    def __init__(self, item_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.alignment: nn.Module
        if options.attention == "additive":
            self.alignment = Additive(item_size, options.attention_size)
        else:
            scaled = options.attention == "dot"
            self.alignment = Dot(item_size, options.query_init, scaled)
        self.projection = options.projection
        self.lam = options.lam
        self.alpha = options.alpha

    def weigh(self, scores: Tensor, mask: Tensor) -> Tensor:
        """(batch, items) scores to weights on the simplex; again after an item is taken away."""
        return project(self.projection, scores, mask, lam=self.lam, alpha=self.alpha)

    def forward(self, items: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, items, size) → scores and weights, both (batch, items)."""
        scores = self.alignment(items)
        return scores, self.weigh(scores, mask)


def pool(weights: Tensor, items: Tensor) -> Tensor:
    """Return the attention-weighted sum of the items, Σ_i α_i h_i.

    Args:
        weights: (batch, items).
        items: (batch, items, size).

    Returns:
        (batch, size).
    """
    return (weights.unsqueeze(-2) @ items).squeeze(-2)

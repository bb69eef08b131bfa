"""Attention: items to scores to weights to their weighted mean."""

from __future__ import annotations

from torch import Tensor, nn

from verax.models.alignment import Additive, Dot
from verax.models.options import ModelOptions
from verax.models.projections import project


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
    """Σ_i α_i h_i: (batch, items) and (batch, items, size) → (batch, size)"""
    return (weights.unsqueeze(-2) @ items).squeeze(-2)

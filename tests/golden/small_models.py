"""Models that Verax did not make: a module with one attention, and a function of texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

SIZE = 8


class SmallModule(nn.Module):
    """h_t = tanh(W e_t + U ē + b), ē the mean word vector; α = softmax(q·h); logits = head(Σ α h).

    With two classes the head has a hidden layer and a single logit, with more it is linear.
    """

    def __init__(self, words: int, classes: int) -> None:
        super().__init__()
        self.vectors = nn.Embedding(words, SIZE)
        self.own, self.mean = nn.Linear(SIZE, SIZE), nn.Linear(SIZE, SIZE, bias=False)
        self.query = nn.Linear(SIZE, 1, bias=False)
        linear = nn.Linear(SIZE, classes)
        hidden = nn.Sequential(nn.Linear(SIZE, SIZE), nn.Tanh(), nn.Linear(SIZE, 1))
        self.head = hidden if classes == 2 else linear

    def encode(self, vectors: Tensor, mask: Tensor) -> Tensor:
        """(batch, words, size) → (batch, words, size)"""
        there = mask.unsqueeze(-1).to(vectors.dtype)
        mean = (vectors * there).sum(1) / there.sum(1).clamp(min=1)
        return torch.tanh(self.own(vectors) + self.mean(mean).unsqueeze(1))

    def attend(self, states: Tensor, mask: Tensor) -> Tensor:
        """(batch, words, size) → (batch, words)"""
        scores = self.query(states).squeeze(-1)
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    def forward(self, rows: Tensor, mask: Tensor) -> Tensor:
        states = self.encode(self.vectors(rows), mask)
        return self.head((self.attend(states, mask).unsqueeze(-1) * states).sum(1))


def word_sums(
    weights: Mapping[str, Sequence[float]], bias: Sequence[float]
) -> Callable[[list[str]], NDArray[np.float64]]:
    """A function from texts to logits: weights of words, added; after *not*, subtracted."""

    def logits(texts: list[str]) -> NDArray[np.float64]:
        rows = np.tile(np.array(bias, dtype=np.float64), (len(texts), 1))
        for row, text in zip(rows, texts, strict=True):
            sign = 1.0
            for word in re.findall(r"[a-z]+", text.lower()):
                row += sign * np.array(weights.get(word, [0.0] * len(bias)))
                sign = -1.0 if word in ("not", "isn") else 1.0
        return rows

    return logits

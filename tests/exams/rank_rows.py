"""Rows of two importances that are hard to rank, and batches of them, for tests."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

Row = tuple[np.ndarray, np.ndarray]
Batch = tuple[Tensor, Tensor, Tensor]

KINDS = ("plain", "zeros", "ties", "infinite", "neighbours", "constant", "single")
RUBBISH = (np.nan, np.inf, -np.inf, 0.0, 1e300)


def importance(random: np.random.Generator, kind: str, n: int) -> np.ndarray:
    """Numbers of a kind that is hard in its own way."""
    values = random.normal(size=n)
    if kind == "zeros":  # as sparse attention has it, some of it with a sign
        values = np.where(random.random(n) < 0.5, random.choice([0.0, -0.0], n), abs(values))
    elif kind == "ties":
        values = random.integers(-2, 3, size=n).astype(float)
    elif kind == "infinite":
        values = random.choice([-np.inf, -1.0, 0.0, 1e-320, 2.0, np.inf], n)
    elif kind == "neighbours":  # apart by the last bit, on both sides of zero
        values = (1.0 + random.integers(0, 2 * n + 1, size=n) * 2**-52) * random.choice([-1, 1], n)
    elif kind == "constant":
        values = np.full(n, random.normal())
    elif kind == "single":
        values = values.astype(np.float32).astype(float)
    return values


def random_row(random: np.random.Generator, n: int) -> Row:
    a, b = (importance(random, str(random.choice(KINDS)), n) for _ in range(2))
    if random.random() < 0.3:  # something to agree on
        b = np.where(random.random(n) < 0.5, a, b)
    return a, b


def stack(rows: list[Row], random: np.random.Generator, extra: int = 3) -> Batch:
    """Rows of different lengths in one batch, with holes; anything where the mask is False."""
    width = max((len(a) for a, _ in rows), default=0) + int(random.integers(0, extra + 1))
    a, b = random.choice(RUBBISH, (2, len(rows), width))
    mask = np.zeros((len(rows), width), dtype=bool)
    for number, row in enumerate(rows):
        places = np.sort(random.choice(width, size=len(row[0]), replace=False))
        a[number, places], b[number, places] = row
        mask[number, places] = True
    return torch.tensor(a), torch.tensor(b), torch.tensor(mask)

"""Entropy and support against SciPy and by counting."""

from __future__ import annotations

import math

import numpy as np
import torch
from scipy import stats

from verax.functional import normalised_entropy, support_size


def test_entropy_against_scipy() -> None:
    random = np.random.default_rng(0)
    for n in (2, 5, 30):
        p = random.dirichlet(np.ones(n))
        row = torch.tensor(np.concatenate([p, [0.0, 0.0]]))[None]
        mask = torch.tensor([True] * n + [False] * 2)[None]
        expected = stats.entropy(p) / math.log(n)
        assert abs(normalised_entropy(row, mask).item() - expected) < 1e-12


def test_uniform_one_hot_and_undefined() -> None:
    p = torch.tensor([[0.25, 0.25, 0.25, 0.25], [0, 1, 0, 0], [1, 0, 0, 0]])
    mask = torch.tensor([[True] * 4, [True] * 4, [True, False, False, False]])
    found = normalised_entropy(p, mask)
    assert found[0].item() == 1.0
    assert found[1].item() == 0.0
    assert math.isnan(found[2].item())
    assert support_size(p, mask).tolist() == [4, 1, 1]

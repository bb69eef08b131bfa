"""Divergences: values against SciPy, ends, digits, and gradients against numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy.spatial.distance import jensenshannon

from support.internals import MOST_DIVERGENCE as MOST
from verax.functional import jensen_shannon, total_variation


def test_jensen_shannon_against_scipy_and_at_its_ends() -> None:
    random = np.random.default_rng(0)
    p, q = random.dirichlet(np.ones(5), size=50), random.dirichlet(np.ones(5), size=50)
    expected = [jensenshannon(a, b) ** 2 for a, b in zip(p, q, strict=True)]
    assert np.allclose(jensen_shannon(torch.tensor(p), torch.tensor(q)), expected, atol=1e-15)
    ends = torch.eye(2, dtype=torch.float64)
    assert jensen_shannon(ends[0], ends[1]).item() == pytest.approx(math.log(2), abs=1e-15)
    assert jensen_shannon(ends[0], ends[0]).item() == 0.0


@pytest.mark.parametrize("small", [1e-5, 1e-12, 1e-16, 1e-17, 1e-40, 1e-300, 0.0])
def test_jensen_shannon_of_a_class_next_to_nothing(small: float) -> None:
    """As p₂ goes to 0, JS((1 − p₂, p₂), (½, ½)) goes to ½ ln(4/3) + ¼ ln(2/3) + ¼ ln 2."""
    p = torch.tensor([1 - small, small], dtype=torch.float64)
    q = torch.tensor([0.5, 0.5], dtype=torch.float64)
    limit = math.log(4 / 3) / 2 + math.log(2 / 3) / 4 + math.log(2) / 4
    for found in (jensen_shannon(p, q), jensen_shannon(q, p)):
        assert found.item() == pytest.approx(limit, abs=1e-3 if small > 1e-6 else 1e-10)
    single = jensen_shannon(p.float(), q.float()).item()
    assert single == pytest.approx(limit, abs=1e-3)


def test_jensen_shannon_keeps_the_digits_of_small_changes() -> None:
    """For p = (½ + d, ½ − d) against ½, ½ it is d²/2 + O(d⁴)."""
    for d in (1e-3, 1e-5, 1e-7):
        p = torch.tensor([0.5 + d, 0.5 - d], dtype=torch.float64)
        q = torch.tensor([0.5, 0.5], dtype=torch.float64)
        assert jensen_shannon(p, q).item() == pytest.approx(d * d / 2, rel=1e-5)


def test_the_gradient_of_jensen_shannon_is_that_of_its_value() -> None:
    random = torch.Generator().manual_seed(0)
    p = torch.rand(4, 6, generator=random, dtype=torch.float64).softmax(-1).requires_grad_()
    q = torch.rand(4, 6, generator=random, dtype=torch.float64).softmax(-1).requires_grad_()
    assert torch.autograd.gradcheck(jensen_shannon, (p, q))
    broadcast = q[:1].detach().requires_grad_()
    assert torch.autograd.gradcheck(jensen_shannon, (p, broadcast))


def test_the_gradient_stays_finite_at_zeros() -> None:
    p = torch.tensor([[0.0, 0.5, 0.5, 0.0]], requires_grad=True)
    q = torch.tensor([[0.5, 0.5, 0.0, 0.0]], requires_grad=True)
    jensen_shannon(p, q).sum().backward()
    for gradient in (p.grad, q.grad):
        assert gradient is not None
        assert gradient.isfinite().all()
    assert p.grad[0, 1:].tolist() == pytest.approx([0.0, math.log(2) / 2, 0.0])


def test_the_gradient_of_small_weights_is_not_cut_off() -> None:
    q = torch.tensor([0.5, 0.5], dtype=torch.float64)
    for small, expected in ((1e-12, math.log(4e-12) / 2), (0.0, -17.5)):
        p = torch.tensor([small, 1 - small], dtype=torch.float64, requires_grad=True)
        jensen_shannon(p, q).backward()
        assert p.grad is not None
        assert p.grad[0].item() == pytest.approx(expected, rel=1e-6)


def test_total_variation_of_two_classes_is_the_change_of_either() -> None:
    p, q = torch.tensor([[0.2, 0.8], [1.0, 0.0]]), torch.tensor([[0.5, 0.5], [0.0, 1.0]])
    assert total_variation(p, q).tolist() == pytest.approx([0.3, 1.0])
    assert jensen_shannon(p[1], q[1]).item() == pytest.approx(MOST)

"""p-values of Kendall's τ-b against SciPy, and against trying all orders."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rank_rows import Batch, random_row, stack
from scipy import stats

from support.errors import raises
from support.internals import kendall_test, undefined
from verax.functional import kendall_p_value, kendall_tau_b

Row = tuple[np.ndarray, np.ndarray]


def scipys(a: np.ndarray, b: np.ndarray) -> float:
    """NaN where there is no τ-b, of which SciPy may warn."""
    if len(set(a)) < 2 or len(set(b)) < 2:
        return math.nan
    return float(stats.kendalltau(a, b).pvalue)


def close(found: torch.Tensor, expected: list[float]) -> None:
    """Far below what a threshold could notice, and to nine digits however small it is."""
    assert found.dtype == torch.float64
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-300)


def shuffled(random: np.random.Generator, n: int, swaps: int) -> Row:
    """Neighbours change places so many times: orders that chance makes likely, and hardly."""
    order = np.arange(n)
    for place in random.integers(0, n - 1, size=swaps):
        order[[place, place + 1]] = order[[place + 1, place]]
    return np.arange(n, dtype=float), order * random.choice([-1.0, 1.0])


@pytest.mark.slow
def test_against_scipy_with_and_without_ties() -> None:
    """Lengths 0 to 60, on both sides of the 33 up to which p is exact, in mixed batches."""
    random = np.random.default_rng(0)
    rows = [random_row(random, n) for n in range(61) for _ in range(6)]
    rows += [(random.normal(size=n), random.normal(size=n)) for n in range(2, 61)]
    rows += [shuffled(random, n, swaps) for n in range(2, 61) for swaps in (0, 1, 2, 5, n)]
    random.shuffle(rows)  # type: ignore[arg-type]
    for first in range(0, len(rows), 200):
        some = rows[first : first + 200]
        close(kendall_p_value(*stack(some, random)), [scipys(*row) for row in some])


@pytest.mark.slow
def test_every_count_of_pairs_in_order() -> None:
    """Without ties p hangs on n and the number of inversions alone: all of both."""
    random = np.random.default_rng(1)
    for n in (2, 3, 4, 5, 9, 20, 32, 33, 34, 35):
        order = np.arange(n)
        rows = [(np.arange(n), order.copy())]
        for last in range(n - 1, 0, -1):  # the lowest of the rest goes to the back, by steps
            for place in range(last):
                order[[place, place + 1]] = order[[place + 1, place]]
                rows.append((np.arange(n), order.copy()))
        pairs = n * (n - 1) / 2
        taus = [1 - 2 * inversions / pairs for inversions in range(int(pairs) + 1)]
        found, p = kendall_test(*stack(rows, random))
        np.testing.assert_allclose(found, taus, atol=1e-12)
        close(p, [scipys(*row) for row in rows])


@pytest.mark.parametrize("n", [170, 171, 172, 300])
def test_hardly_an_order_is_as_likely_as_one_pair_in_or_out_of_place(n: int) -> None:
    """2 / n! and 2 / (n − 1)!, also where n! is no double any more, and SciPy says 0."""
    order = np.arange(n, dtype=float)
    swapped = order.copy()
    swapped[[3, 4]] = swapped[[4, 3]]
    rows = [(order, y) for y in (order, -order, swapped, -swapped)]
    found = kendall_p_value(*stack(rows, np.random.default_rng(2)))
    np.testing.assert_allclose(found, [scipys(*row) for row in rows], rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("kind", ["plain", "ties"])
def test_long_rows(kind: str) -> None:
    """Products of counts that no whole number of 64 bits holds."""
    random = np.random.default_rng(3)
    a = random.normal(size=70_000) if kind == "plain" else random.integers(0, 3, 70_000) * 1.0
    b = 0.01 * a + random.normal(size=70_000)
    b = b if kind == "plain" else b.round()
    expected = scipys(a, b)
    assert 1e-9 < expected < 0.9
    close(kendall_p_value(*stack([(a, b)], random)), [expected])


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 7])
def test_against_all_orders(n: int) -> None:
    """p is the share of the n! orders whose τ-b is as far from 0."""
    orders = np.array(list(permutations(range(n))), dtype=float)
    first = torch.arange(n, dtype=torch.float64).expand(len(orders), -1)
    batch = first, torch.tensor(orders), torch.ones(orders.shape, dtype=torch.bool)
    far = kendall_tau_b(*batch).abs().numpy()
    expected = [(far > x - 1e-9).mean() for x in far]
    close(kendall_p_value(*batch), expected)


def test_by_hand() -> None:
    """Three in order: one of six orders, and its reverse.

    1 1 2 with 1 2 3: two pairs agree and one ties, so that the balance is 2 and its variance
    (6 · 11 − 2 · 9) / 18 = 8/3.
    """
    a = torch.tensor([[1.0, 2, 3], [1, 1, 2], [5, 5, 5]])
    b = torch.tensor([[4.0, 5, 6], [1, 2, 3], [1, 2, 3]])
    found = kendall_p_value(a, b, torch.ones(3, 3, dtype=torch.bool))
    assert found[0].item() == pytest.approx(1 / 3)
    assert found[1].item() == pytest.approx(math.erfc(2 / math.sqrt(8 / 3) / math.sqrt(2)))
    assert math.isnan(found[2])


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    longest = draw(st.sampled_from([3, 12, 40, 150]))
    lengths = random.integers(0, longest + 1, size=draw(st.integers(1, 6)))
    return stack([random_row(random, int(n)) for n in lengths], random)


@pytest.mark.slow
@given(batches())
def test_a_share_wherever_there_is_a_tau_and_blind_to_its_sign(batch: Batch) -> None:
    a, b, mask = batch
    tau, p = kendall_test(a, b, mask)
    assert torch.equal(tau.nan_to_num(9.0), kendall_tau_b(a, b, mask).nan_to_num(9.0))
    assert torch.equal(p.isnan(), undefined(a, b, mask) > 0)
    assert ((p >= 0) & (p <= 1))[~p.isnan()].all()
    for other in (kendall_p_value(b, a, mask), kendall_p_value(a, -b, mask)):
        torch.testing.assert_close(other, p, rtol=1e-12, atol=0, equal_nan=True)


@pytest.mark.slow
@given(batches(), st.integers(1, 40))
def test_padding_and_company_change_nothing(batch: Batch, pad: int) -> None:
    a, b, mask = (torch.nn.functional.pad(t, (0, pad)) for t in batch)
    together = kendall_p_value(*batch)
    torch.testing.assert_close(kendall_p_value(a, b, mask), together, equal_nan=True)
    for row in range(len(mask)):
        alone = kendall_p_value(*(t[row : row + 1] for t in batch))
        torch.testing.assert_close(alone, together[row : row + 1], equal_nan=True)


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0), (3, 1)])
def test_nothing_to_rank(shape: tuple[int, int]) -> None:
    a, mask = torch.rand(shape), torch.ones(shape, dtype=torch.bool)
    for found in kendall_test(a, a, mask):
        assert found.shape == shape[:1]
        assert found.isnan().all()


def test_bad_input_names_the_argument() -> None:
    good = torch.rand(2, 3)
    with raises("tensor.wrong-shape", "b"):
        kendall_p_value(good, good[:1], torch.ones(2, 3, dtype=torch.bool))

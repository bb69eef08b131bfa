"""Rank agreement against SciPy and against counting pairs by definition."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from rank_rows import KINDS, RUBBISH, Batch, importance, random_row, stack
from scipy import stats
from torch import Tensor

from support.errors import raises
from support.internals import AGREEMENT_ELEMENTS, undefined
from support.internals import AGREEMENT_REASONS as REASONS
from verax.functional import kendall_tau_b, spearman, top_k_overlap


def order(x: float, y: float) -> int:
    return int(x > y) - int(x < y)


def tau_by_definition(a: np.ndarray, b: np.ndarray) -> float:
    """Σ sign · sign over all pairs, over √(pairs untied in a · pairs untied in b)."""
    signs = [(order(a[i], a[j]), order(b[i], b[j])) for i, j in combinations(range(len(a)), 2)]
    untied = sum(abs(x) for x, _ in signs) * sum(abs(y) for _, y in signs)
    return sum(x * y for x, y in signs) / math.sqrt(untied) if untied else math.nan


def overlap_by_definition(a: np.ndarray, b: np.ndarray, k: int) -> float:
    tops = [set(sorted(range(len(x)), key=lambda i: (-x[i], i))[:k]) for x in (a, b)]
    return len(tops[0] & tops[1]) / min(k, len(a)) if len(a) else math.nan


def reason_by_definition(a: np.ndarray, b: np.ndarray) -> str:
    if len(a) < 2:
        return "one position"
    if any(math.isnan(x) for x in (*a, *b)):
        return "not a number"
    if all(x == a[0] for x in a):
        return "first constant"
    return "second constant" if all(x == b[0] for x in b) else "defined"


def close(found: Tensor, expected: list[float]) -> None:
    assert found.dtype == torch.float64
    wanted = torch.tensor(expected, dtype=torch.float64)
    torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12, equal_nan=True)


@pytest.mark.slow
def test_against_counting_pairs_and_scipy() -> None:
    """Lengths 0 to 50, twenty rows of each, in batches of mixed lengths."""
    random = np.random.default_rng(0)
    rows = [random_row(random, n) for n in range(51) for _ in range(20)]
    random.shuffle(rows)  # type: ignore[arg-type]
    for first in range(0, len(rows), 170):
        some = rows[first : first + 170]
        batch = stack(some, random)
        close(kendall_tau_b(*batch), [tau_by_definition(*row) for row in some])
        reasons = [reason_by_definition(*row) for row in some]
        assert [REASONS[code] for code in undefined(*batch).tolist()] == reasons
        defined = [number for number, reason in enumerate(reasons) if reason == "defined"]
        taus = [stats.kendalltau(*some[number]).statistic for number in defined]
        close(kendall_tau_b(*batch)[defined], taus)
        close(spearman(*batch)[defined], [stats.spearmanr(*some[n]).statistic for n in defined])
        assert torch.equal(spearman(*batch).isnan(), kendall_tau_b(*batch).isnan())
        for k in (1, 3, 10, 60):
            a_t, b_t, mask = batch
            expected = [overlap_by_definition(*row, k) for row in some]
            close(top_k_overlap(a_t, b_t, k, mask), expected)


@pytest.mark.parametrize(
    "n", [31, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257, 300, 511, 513, 1500]
)
def test_long_rows_against_scipy(n: int) -> None:
    random = np.random.default_rng(n)
    rows = [
        (importance(random, kind, n), importance(random, other, n))
        for kind in KINDS
        for other in KINDS
        if "constant" not in (kind, other)
    ]
    rows += [(np.arange(n) * 1.0, -np.arange(n)), (np.arange(n) * 1.0, np.arange(n) ** 2.0)]
    batch = stack(rows, random)
    close(kendall_tau_b(*batch), [stats.kendalltau(a, b).statistic for a, b in rows])
    close(spearman(*batch), [stats.spearmanr(a, b).statistic for a, b in rows])


@pytest.mark.parametrize("kind", ["plain", "zeros", "ties"])
def test_a_row_that_does_not_fit_in_one_piece(kind: str) -> None:
    random = np.random.default_rng(7)
    a, b = (importance(random, kind, 70_000) for _ in range(2))
    batch = stack([(a, b + 0.3 * a)], random)
    close(kendall_tau_b(*batch), [stats.kendalltau(a, b + 0.3 * a).statistic])
    close(spearman(*batch), [stats.spearmanr(a, b + 0.3 * a).statistic])


def test_more_rows_than_fit_in_one_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(3)
    a, b, mask = stack([random_row(random, int(random.integers(0, 90))) for _ in range(40)], random)
    whole = [kendall_tau_b(a, b, mask), spearman(a, b, mask), top_k_overlap(a, b, 5, mask)]
    for elements in (1, 250, 1000):
        monkeypatch.setattr(AGREEMENT_ELEMENTS, elements)
        cut = [kendall_tau_b(a, b, mask), spearman(a, b, mask), top_k_overlap(a, b, 5, mask)]
        for one, other in zip(whole, cut, strict=True):
            assert same(one, other)


def same(found: Tensor, expected: Tensor) -> bool:
    """Bit by bit, NaN where NaN is."""
    return torch.equal(found.view(torch.int64), expected.view(torch.int64))


@st.composite
def batches(draw: st.DrawFn) -> Batch:
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    longest = draw(st.sampled_from([3, 12, 40, 150]))
    rows = [
        random_row(random, int(random.integers(0, longest + 1)))
        for _ in range(draw(st.integers(1, 6)))
    ]
    return stack(rows, random)


@pytest.mark.slow
@given(batches())
def test_symmetric_bounded_and_turned_with_the_sign(batch: Batch) -> None:
    a, b, mask = batch
    for measure in (kendall_tau_b, spearman):
        found = measure(a, b, mask)
        assert same(found, measure(b, a, mask))
        there = ~found.isnan()
        assert (found[there].abs() <= 1).all()
        assert torch.equal(measure(a, -b, mask)[there], -found[there])
        assert torch.equal(~there, undefined(a, b, mask) > 0)


@pytest.mark.slow
@given(batches())
def test_whatever_is_not_constant_agrees_with_itself(batch: Batch) -> None:
    a, _, mask = batch
    ranked = undefined(a, a, mask) == 0
    for measure in (kendall_tau_b, spearman):
        assert (measure(a, a, mask)[ranked] == 1.0).all()
        assert (measure(a, -a, mask)[ranked] == -1.0).all()
        assert measure(a, a, mask)[~ranked].isnan().all()
    overlap = top_k_overlap(a, a, 4, mask)
    assert torch.equal(overlap == 1.0, mask.any(-1))
    assert overlap[~mask.any(-1)].isnan().all()


@pytest.mark.slow
@given(batches())
def test_monotone_transforms_change_nothing(batch: Batch) -> None:
    """Each number becomes its place among all distinct numbers, which keeps order and ties."""
    a, b, mask = batch
    ranks = a.nan_to_num(0.0, posinf=torch.inf, neginf=-torch.inf).unique(return_inverse=True)[1]
    for measure in (kendall_tau_b, spearman):
        assert same(measure(a, b, mask), measure(2.0 * ranks - 7.0, b, mask))
        assert same(measure(a, b, mask), measure(a, b / 4, mask))
    assert same(top_k_overlap(a, b, 3, mask), top_k_overlap(ranks.float(), b, 3, mask))


@pytest.mark.slow
@given(batches(), st.integers(0, 2**32 - 1))
def test_the_order_of_positions_does_not_matter(batch: Batch, seed: int) -> None:
    shuffled = torch.randperm(batch[0].shape[1], generator=torch.Generator().manual_seed(seed))
    there = tuple(t[:, shuffled] for t in batch)
    assert same(kendall_tau_b(*batch), kendall_tau_b(*there))
    assert same(spearman(*batch), spearman(*there))
    assert torch.equal(undefined(*batch), undefined(*there))


@pytest.mark.slow
@given(batches(), st.integers(1, 70), st.sampled_from(RUBBISH))
def test_padding_and_company_change_nothing(batch: Batch, pad: int, rubbish: float) -> None:
    a, b, mask = batch
    together = [kendall_tau_b(a, b, mask), spearman(a, b, mask), top_k_overlap(a, b, 4, mask)]
    reasons = undefined(a, b, mask)
    for row in range(len(mask)):
        wide_a, wide_b = (
            torch.nn.functional.pad(t[row : row + 1], (0, pad), value=rubbish) for t in (a, b)
        )
        wide_mask = torch.nn.functional.pad(mask[row : row + 1], (0, pad))
        alone = [
            kendall_tau_b(wide_a, wide_b, wide_mask),
            spearman(wide_a, wide_b, wide_mask),
            top_k_overlap(wide_a, wide_b, 4, wide_mask),
        ]
        for one, all_ in zip(alone, together, strict=True):
            assert same(one, all_[row : row + 1])
        assert undefined(wide_a, wide_b, wide_mask).item() == reasons[row].item()


@pytest.mark.slow
@given(batches())
def test_single_precision_is_ranked_as_it_is(batch: Batch) -> None:
    a, b, mask = batch[0].clamp(-1e30, 1e30).float(), batch[1].clamp(-1e30, 1e30).float(), batch[2]
    for measure in (kendall_tau_b, spearman):
        assert same(measure(a, b, mask), measure(a.double(), b.double(), mask))
        assert same(measure(a, b, mask), measure(a, b.double(), mask))


def test_every_reason() -> None:
    nan = math.nan
    cases = [
        ("defined", [1, 2, 3], [3, 1, 1], [1, 1, 1]),
        ("one position", [1, 2, 3], [3, 1, 1], [0, 1, 0]),
        ("one position", [1, 2, 3], [3, 1, 1], [0, 0, 0]),
        ("one position", [nan, 2, 3], [3, 1, 1], [1, 0, 0]),
        ("first constant", [1, 1, 3], [3, 1, 1], [1, 1, 0]),
        ("first constant", [0.0, -0.0, 3], [3, 3, 1], [1, 1, 0]),
        ("first constant", [math.inf] * 3, [3, 1, 1], [1, 1, 1]),
        ("second constant", [1, 2, nan], [3, 3, nan], [1, 1, 0]),
        ("not a number", [1, 2, nan], [3, 3, 3], [1, 1, 1]),
        ("not a number", [1, 1, 1], [3, nan, 3], [1, 1, 1]),
        ("not a number", [nan, nan, nan], [3, 2, 3], [1, 1, 1]),
    ]
    a, b = (torch.tensor([case[i] for case in cases], dtype=torch.float64) for i in (1, 2))
    mask = torch.tensor([case[3] for case in cases]).bool()
    found = undefined(a, b, mask)
    assert [REASONS[code] for code in found.tolist()] == [case[0] for case in cases]
    for measure in (kendall_tau_b, spearman):
        assert torch.equal(measure(a, b, mask).isnan(), found > 0)
    overlap = top_k_overlap(a, b, 1, mask)
    lacking = ((a.isnan() | b.isnan()) & mask).any(-1) | ~mask.any(-1)
    assert torch.equal(overlap.isnan(), lacking)


def test_equals_at_the_border_go_to_the_earlier_position() -> None:
    a = torch.tensor([[0.5, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 9.0]])
    b = torch.tensor([[0.1, 0.9, 0.1, 0.0], [0.0, 0.0, 0.0, 9.0]])
    mask = torch.tensor([[True] * 4, [False, True, True, False]])
    # tops of two: {0, 1} and {1, 0}; then {1, 2} and {1, 2}, all there is
    assert top_k_overlap(a, b, 2, mask).tolist() == [1.0, 1.0]
    # tops of one: {0} and {1}; then {1} and {1}
    assert top_k_overlap(a, b, 1, mask).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("shape", [(0, 0), (0, 5), (3, 0), (3, 1)])
def test_nothing_to_rank(shape: tuple[int, int]) -> None:
    a, mask = torch.rand(shape), torch.ones(shape, dtype=torch.bool)
    for found in (kendall_tau_b(a, a, mask), spearman(a, a, mask)):
        assert found.shape == shape[:1]
        assert found.isnan().all()
    assert undefined(a, a, mask).tolist() == [1] * shape[0]
    overlap = top_k_overlap(a, a, 2, mask)
    assert overlap.nan_to_num(-1.0).tolist() == [1.0 if shape[1] else -1.0] * shape[0]


def test_inputs_are_left_alone_in_any_layout_and_may_ask_for_gradients() -> None:
    random = np.random.default_rng(5)
    a, b, mask = stack([random_row(random, 30) for _ in range(8)], random)
    copies = [t.clone() for t in (a, b, mask)]
    across = [t.T.contiguous().T for t in (a, b, mask)]
    across[0].requires_grad_()
    for measure in (kendall_tau_b, spearman, lambda x, y, there: top_k_overlap(x, y, 3, there)):
        found = measure(*across)
        assert same(found, measure(a, b, mask))
        assert not found.requires_grad
    assert torch.equal(undefined(*across), undefined(a, b, mask))
    for tensor, copy in zip((a, b, mask), copies, strict=True):
        assert torch.equal(tensor.nan_to_num(), copy.nan_to_num())
    one = a[:1].expand(8, -1)
    assert same(kendall_tau_b(one, b, mask), kendall_tau_b(one.clone(), b, mask))


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("a", np.zeros((2, 3))),
        ("a", torch.zeros(2, 4)),
        ("a", torch.zeros(2, 3).long()),
        ("b", torch.zeros(3)),
        ("b", torch.zeros(2, 3).bool()),
        ("mask", torch.zeros(2, 3)),
        ("mask", torch.zeros(3).bool()),
        ("k", 0),
    ],
)
def test_bad_input_names_the_argument(argument: str, value: object) -> None:
    good = {"a": torch.rand(2, 3), "b": torch.rand(2, 3), "mask": torch.ones(2, 3).bool()}
    functions = [kendall_tau_b, spearman, undefined] if argument != "k" else []
    for function in (*functions, top_k_overlap):
        arguments = {**good, "k": 2} if function is top_k_overlap else good
        with raises(
            "option.out-of-range" if argument == "k" else "tensor.wrong-shape", argument
        ) as error:
            function(**{**arguments, argument: value})  # type: ignore[operator]
        assert "\n" not in str(error.value)


if torch.cuda.is_available():

    def test_cuda_gives_what_the_cpu_gives() -> None:
        random = np.random.default_rng(6)
        batch = stack([random_row(random, n) for n in range(40)], random)
        there = tuple(t.cuda() for t in batch)
        for measure in (kendall_tau_b, spearman):
            assert measure(*there).device == there[0].device
            assert same(measure(*there).cpu(), measure(*batch))
        assert torch.equal(undefined(*there).cpu(), undefined(*batch))

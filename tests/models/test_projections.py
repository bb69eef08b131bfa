"""The projections against the entmax library, their optimisation problems and their properties."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import entmax as library
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from support.errors import raises
from verax.functional import entmax, project, softmax, sparsegen, sparsemax, uniform
from verax.models import PROJECTIONS

Projection = Callable[..., Tensor]

ALPHAS = (1.0, 1.001, 1.3, 1.5, 1.9, 2.0, 3.0, 8.0)
LAMBDAS = (-1e3, -1.0, 0.0, 0.5, 0.99)
SHAPES = ((1, 1), (7, 3), (16, 64), (2, 3, 130), (4, 600), (3, 4096))
# Widths on both sides of the one from which the solver starts from the highest scores.
WIDTHS = (1, 2, 5, 40, 511, 512, 700)


def with_alpha(alpha: float) -> Projection:
    return lambda scores, mask=None: entmax(scores, mask, alpha=alpha)


def with_lam(lam: float) -> Projection:
    return lambda scores, mask=None: sparsegen(scores, mask, lam=lam)


EVERY: dict[str, Projection] = {
    "softmax": softmax,
    "sparsemax": sparsemax,
    **{f"sparsegen {lam}": with_lam(lam) for lam in LAMBDAS},
    **{f"entmax {alpha}": with_alpha(alpha) for alpha in ALPHAS},
    "uniform": uniform,
}
# Far above 2 a rounding of the scores can move weights and gradients by any amount.
SMOOTH_ENOUGH = {name: EVERY[name] for name in EVERY if name != "entmax 8.0"}
quick = settings(deadline=None, max_examples=15)
every_projection = pytest.mark.parametrize("projection", EVERY.values(), ids=EVERY.keys())


@pytest.fixture(autouse=True)
def _the_same_numbers_every_time() -> None:
    torch.default_generator.manual_seed(0)  # others' are not used, and slow to seed


@st.composite
def batches(draw: st.DrawFn) -> tuple[Tensor, Tensor]:
    """Float64 scores, at times with ties, and a mask that may leave rows empty."""
    rows, width = draw(st.integers(1, 4)), draw(st.sampled_from(WIDTHS))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**32)))
    scores = torch.randn(rows, width, generator=generator, dtype=torch.float64)
    scores = scores * draw(st.sampled_from([0.0, 1e-3, 0.3, 1.0, 4.0, 1e3]))
    if draw(st.booleans()):
        scores = scores.round()
    share = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    return scores, torch.rand(rows, width, generator=generator) < share


def assert_on_simplex(weights: Tensor, mask: Tensor, tolerance: float) -> None:
    assert not weights.isnan().any()
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    expected = mask.any(-1).to(weights.dtype)
    torch.testing.assert_close(weights.sum(-1), expected, atol=tolerance, rtol=0)


# The entmax library.


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("alpha", [1.3, 1.5, 2.0, 3.0])
def test_values_and_gradients_agree_with_the_entmax_library(
    alpha: float, spread: float, shape: tuple[int, ...]
) -> None:
    """In single and double precision."""
    generator = torch.Generator().manual_seed(1)
    scores = spread * torch.randn(shape, generator=generator, dtype=torch.float64)
    upstream = torch.randn(shape, generator=generator, dtype=torch.float64)
    theirs = {1.5: library.entmax15, 2.0: library.sparsemax}.get(
        alpha, lambda z: library.entmax_bisect(z, alpha, n_iter=70)
    )
    reference = scores.clone().requires_grad_()
    expected = theirs(reference)
    expected.backward(upstream)
    # Above 2 the map has infinite slope at the edge of its support, below it is well conditioned.
    for dtype, rounding in ((torch.float32, 1e-3 if alpha > 2 else 1e-5), (torch.float64, 1e-9)):
        own = scores.to(dtype, copy=True).requires_grad_()
        weights = entmax(own, alpha=alpha)
        weights.backward(upstream.to(dtype))
        torch.testing.assert_close(weights.double(), expected, atol=rounding, rtol=0)
        if dtype == torch.float64 or alpha in (1.3, 1.5):
            torch.testing.assert_close(
                own.grad.double(), reference.grad, atol=rounding * 10, rtol=0
            )


def test_scores_need_not_be_contiguous_and_are_left_as_they_were() -> None:
    scores = torch.randn(600, 5, dtype=torch.float64)
    before = scores.clone()
    mask = torch.rand(600, 5) < 0.7
    for projection in EVERY.values():
        torch.testing.assert_close(
            projection(scores.t(), mask.t()),
            projection(scores.t().contiguous(), mask.t().contiguous()),
        )
    assert torch.equal(scores, before)


# The optimisation problems.


def objective(weights: Tensor, scores: Tensor, alpha: float, lam: float) -> Tensor:
    """What the maps maximise: p·z + H(p), the quadratic one with λ written as in Laha et al."""
    if alpha == 1:
        entropy = -torch.special.xlogy(weights, weights).sum(-1)
    elif alpha == 2:
        return ((lam * weights**2).sum(-1) - ((weights - scores) ** 2).sum(-1)) / 2
    else:
        entropy = (weights - weights**alpha).sum(-1) / (alpha * (alpha - 1))
    return (weights * scores).sum(-1) + entropy


@pytest.mark.parametrize(
    ("alpha", "lam"), [(alpha, 0.0) for alpha in ALPHAS] + [(2.0, lam) for lam in LAMBDAS]
)
@given(seed=st.integers(0, 2**32), width=st.integers(1, 30), spread=st.sampled_from([0.2, 1.0, 3]))
@quick
def test_no_other_point_of_the_simplex_is_better(
    alpha: float, lam: float, seed: int, width: int, spread: float
) -> None:
    generator = torch.Generator().manual_seed(seed)
    scores = spread * torch.randn(width, generator=generator, dtype=torch.float64)
    weights = sparsegen(scores, lam=lam) if alpha == 2 else entmax(scores, alpha=alpha)
    others = torch.rand(200, width, generator=generator, dtype=torch.float64) ** 4 + 1e-12
    others = others / others.sum(-1, keepdim=True)
    others = torch.cat([others, torch.eye(width, dtype=torch.float64)])
    # Points on the way are nearly as good, so they are the ones that would show an error.
    steps = torch.tensor([1.0, 0.1, 1e-3], dtype=torch.float64)[:, None, None]
    others = weights + steps * (others - weights)
    best = objective(weights, scores, alpha, lam)
    assert (objective(others, scores, alpha, lam) <= best + 1e-10 * (1 + abs(lam))).all()


@pytest.mark.parametrize("alpha", [alpha for alpha in ALPHAS if alpha > 1])
@given(batch=batches())
@quick
def test_entmax_meets_the_optimality_conditions(alpha: float, batch: tuple[Tensor, Tensor]) -> None:
    """p^(alpha - 1) / (alpha - 1) = z - μ on the support and z ≤ μ off it, for one μ per row."""
    scores, mask = batch
    weights = entmax(scores, mask, alpha=alpha)
    for z, p in zip(scores, weights, strict=True):
        # Below about 1e-308 floats lose digits, and a power near 0 would bring them to the fore.
        if not (support := p > 1e-290).any():
            continue
        multiplier = z[support] - p[support] ** (alpha - 1) / (alpha - 1)
        tolerance = 1e-9 * (1 + z.abs().max().item() + 1 / (alpha - 1))
        assert multiplier.max() - multiplier.min() <= tolerance
    attended_off = mask & (weights == 0)
    lowest_on = torch.where(weights > 0, scores, math.inf).amin(-1, keepdim=True)
    assert (torch.where(attended_off, scores, -math.inf) <= lowest_on).all()


def test_scores_that_make_newton_slow_are_still_solved_exactly() -> None:
    for alpha in (1.1, 1.5, 1.7, 2.0):
        geometric = -torch.logspace(-14, 0, 3000, base=2.0, dtype=torch.float64).repeat(2, 1)
        weights = entmax(geometric, alpha=alpha)
        expected = library.entmax_bisect(geometric, alpha, n_iter=80)
        torch.testing.assert_close(weights, expected, atol=1e-13, rtol=0)
        crowded = torch.full((2, 3000), -0.9999 / (alpha - 1), dtype=torch.float64)
        crowded[:, 0] = 0.0
        weights = entmax(crowded.float(), alpha=alpha).double()
        expected = library.entmax_bisect(crowded, alpha, n_iter=80)
        torch.testing.assert_close(weights, expected, atol=2e-4, rtol=0)


# Properties.


@every_projection
@given(batch=batches())
@quick
def test_weights_are_on_the_simplex_and_zero_where_masked(
    projection: Projection, batch: tuple[Tensor, Tensor]
) -> None:
    scores, mask = batch
    assert_on_simplex(projection(scores, mask), mask, 1e-12)
    assert_on_simplex(projection(scores.float(), mask), mask, 2e-6)


@pytest.mark.slow
@every_projection
@given(batch=batches(), shift=st.integers(-1000, 1000))
@quick
def test_a_shift_of_the_scores_changes_nothing(
    projection: Projection, batch: tuple[Tensor, Tensor], shift: int
) -> None:
    scores, mask = batch
    # Sums of multiples of 2^-20 are exact, so that rounding cannot pass for a change.
    scores = (scores * 2**20).round() / 2**20
    assert torch.equal(projection(scores + shift, mask), projection(scores, mask))


@every_projection
@given(batch=batches(), seed=st.integers(0, 2**32))
@quick
def test_permuted_items_get_permuted_weights(
    projection: Projection, batch: tuple[Tensor, Tensor], seed: int
) -> None:
    scores, mask = batch
    order = torch.randperm(scores.shape[-1], generator=torch.Generator().manual_seed(seed))
    torch.testing.assert_close(
        projection(scores[:, order], mask[:, order]),
        projection(scores, mask)[:, order],
        atol=1e-9,
        rtol=0,
    )


@every_projection
@pytest.mark.parametrize("width", [5, 600])
def test_garbage_under_the_mask_changes_neither_weights_nor_gradients(
    projection: Projection, width: int
) -> None:
    scores = torch.randn(6, width, dtype=torch.float64)
    mask = torch.rand(6, width) < 0.5
    mask[0] = False
    upstream = torch.randn_like(scores)
    found = []
    for garbage in (0.0, math.inf, -math.inf, math.nan, 1e300):
        leaf = scores.masked_fill(~mask, garbage).requires_grad_()
        weights = projection(leaf, mask)
        (gradient,) = torch.autograd.grad(weights, leaf, upstream)
        assert (gradient[~mask] == 0).all()
        found.append((weights.detach(), gradient))
    for weights, gradient in found[1:]:
        assert torch.equal(weights, found[0][0])
        assert torch.equal(gradient, found[0][1])


@pytest.mark.slow
@every_projection
@given(batch=batches(), extra=st.integers(1, 9))
@quick
def test_padding_a_row_with_masked_garbage_changes_nothing(
    projection: Projection, batch: tuple[Tensor, Tensor], extra: int
) -> None:
    scores, mask = batch
    garbage = torch.tensor([math.nan, math.inf, -math.inf, 7.0]).double().repeat(3)[:extra]
    padded = torch.cat([scores, garbage.expand(len(scores), -1)], -1)
    padded_mask = torch.cat([mask, torch.zeros(len(mask), extra, dtype=torch.bool)], -1)
    weights = projection(padded, padded_mask)
    assert (weights[:, scores.shape[-1] :] == 0).all()
    torch.testing.assert_close(
        weights[:, : scores.shape[-1]], projection(scores, mask), atol=1e-9, rtol=0
    )


@given(batch=batches())
@quick
def test_special_parameters_give_the_maps_they_generalise(batch: tuple[Tensor, Tensor]) -> None:
    assert torch.equal(sparsegen(*batch, lam=0.0), sparsemax(*batch))
    assert torch.equal(entmax(*batch, alpha=2), sparsemax(*batch))
    assert torch.equal(entmax(*batch, alpha=1), softmax(*batch))
    torch.testing.assert_close(entmax(*batch, alpha=1 + 1e-13), softmax(*batch), atol=1e-6, rtol=0)


@given(batch=batches(), lam=st.sampled_from(LAMBDAS))
@quick
def test_sparsegen_is_sparsemax_of_stretched_scores(
    batch: tuple[Tensor, Tensor], lam: float
) -> None:
    scores, mask = batch
    expected = sparsemax(scores / (1 - lam), mask)
    torch.testing.assert_close(sparsegen(scores, mask, lam=lam), expected, atol=1e-9, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lam", [0.999999, 0.999999999, 1 - 2**-53])
@given(batch=batches())
@quick
def test_lambda_near_one_is_uniform_over_the_ties_of_the_maximum(
    lam: float, dtype: torch.dtype, batch: tuple[Tensor, Tensor]
) -> None:
    scores, mask = batch[0].round().to(dtype), batch[1]
    highest = torch.where(mask, scores, -math.inf).amax(-1, keepdim=True)
    ties = (scores == highest) & mask
    expected = ties / ties.sum(-1, keepdim=True).clamp(min=1)
    weights = sparsegen(scores, mask, lam=lam)
    torch.testing.assert_close(weights, expected.to(dtype))
    assert torch.equal(weights > 0, ties)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lam", [-1e12, -1e30, -1e300])
@given(batch=batches())
@quick
def test_lambda_towards_minus_infinity_is_uniform_over_the_mask(
    lam: float, dtype: torch.dtype, batch: tuple[Tensor, Tensor]
) -> None:
    scores, mask = batch
    expected = mask / mask.sum(-1, keepdim=True).clamp(min=1)
    weights = sparsegen(scores.to(dtype), mask, lam=lam)
    torch.testing.assert_close(weights, expected.to(dtype), atol=1e-7, rtol=0)


@given(batch=batches(), lams=st.tuples(*[st.floats(-100, 0.999)] * 2))
@quick
def test_a_larger_lambda_never_has_a_larger_support(
    batch: tuple[Tensor, Tensor], lams: tuple[float, float]
) -> None:
    smaller, larger = (sparsegen(*batch, lam=lam) for lam in sorted(lams))
    assert ((larger <= 1e-9) | (smaller > 0)).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("magnitude", [0.0, 1e-30, 1e4, 1e30])
@every_projection
def test_extreme_scores_stay_on_the_simplex_with_finite_gradients(
    projection: Projection, magnitude: float, dtype: torch.dtype
) -> None:
    for width in (3, 50, 1000):
        scores = magnitude * torch.randn(5, width, dtype=dtype)
        scores[1] = magnitude
        scores[2, 1:] = -magnitude
        leaf = scores.requires_grad_()
        weights = projection(leaf)
        assert_on_simplex(weights.detach(), torch.ones_like(scores, dtype=torch.bool), 3e-6)
        torch.testing.assert_close(weights[1].detach(), torch.full_like(weights[1], 1 / width))
        assert torch.autograd.grad(weights[:, 0].sum(), leaf)[0].isfinite().all()


@pytest.mark.parametrize("alpha", [20.0, 500.0, 1e6, 1e300])
def test_huge_alpha_stays_on_the_simplex_with_finite_gradients(alpha: float) -> None:
    scores, mask = torch.randn(4, 100), torch.rand(4, 100) < 0.5
    scores[1], mask[2] = 0.0, torch.arange(100) == 7
    leaf = scores.requires_grad_()
    weights = entmax(leaf, mask, alpha=alpha)
    assert_on_simplex(weights.detach(), mask, 1e-5)
    assert torch.autograd.grad(weights[:, 0].sum(), leaf)[0].isfinite().all()


# Derivatives.


@pytest.mark.slow
@pytest.mark.parametrize("projection", SMOOTH_ENOUGH.values(), ids=SMOOTH_ENOUGH.keys())
def test_gradients_agree_with_finite_differences_once_and_twice(projection: Projection) -> None:
    generator = torch.Generator().manual_seed(3)
    scores = torch.randn(4, 6, generator=generator, dtype=torch.float64).requires_grad_()
    mask = torch.rand(4, 6, generator=generator) < 0.7
    mask[0], mask[1] = False, torch.arange(6) == 2
    two = scores[2:].detach().requires_grad_()  # rows know nothing of each other
    for given_scores, attended in ((two, None), (scores, mask)):
        assert torch.autograd.gradcheck(lambda z, m=attended: projection(z, m), given_scores)
        assert torch.autograd.gradgradcheck(lambda z, m=attended: projection(z, m), given_scores)


def test_gradients_of_wide_rows_agree_with_finite_differences() -> None:
    scores = torch.randn(1, 520, dtype=torch.float64).requires_grad_()
    for projection in (sparsemax, with_alpha(1.5), with_alpha(1.3)):
        assert torch.autograd.gradcheck(projection, scores, fast_mode=True)


@every_projection
def test_gradients_are_the_same_with_and_without_a_graph_of_them(projection: Projection) -> None:
    scores = torch.randn(5, 20, dtype=torch.float64).requires_grad_()
    upstream = torch.randn(5, 20, dtype=torch.float64)
    plain, graphed = (
        torch.autograd.grad(projection(scores), scores, upstream, create_graph=graph)[0]
        for graph in (False, True)
    )
    torch.testing.assert_close(plain, graphed.detach(), rtol=1e-7, atol=1e-9)


# Edges.


@every_projection
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_one_item_gets_exactly_one_and_no_item_exactly_nothing(
    projection: Projection, dtype: torch.dtype
) -> None:
    for width in WIDTHS:
        scores = torch.randn(4, width, dtype=dtype).requires_grad_()
        only = torch.tensor([[0], [width // 2], [width - 1], [-1]])
        mask = torch.arange(width) == only
        weights = projection(scores, mask)
        assert torch.equal(weights, mask.to(dtype)), width
        (gradient,) = torch.autograd.grad(weights, scores, torch.randn_like(scores))
        assert (gradient == 0).all(), width


@every_projection
def test_a_score_of_minus_infinity_is_no_item(projection: Projection) -> None:
    scores = torch.randn(3, 6, dtype=torch.float64)
    mask = torch.rand(3, 6) < 0.5
    mask[1] = False
    lowered = scores.masked_fill(~mask, -math.inf).requires_grad_()
    weights = projection(lowered)
    assert torch.equal(weights, projection(scores, mask))
    (gradient,) = torch.autograd.grad(weights, lowered, torch.randn_like(scores))
    assert (gradient[~mask] == 0).all()


@every_projection
def test_an_attended_nan_spoils_its_own_row_alone(projection: Projection) -> None:
    for width in (6, 600):
        scores = torch.randn(3, width, dtype=torch.float64)
        spoilt = scores.clone()
        spoilt[1, 2] = math.nan
        weights = projection(spoilt)
        assert weights[1].isnan().any()
        torch.testing.assert_close(weights[[0, 2]], projection(scores)[[0, 2]])


@every_projection
@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 4), (0, 0), (2, 0, 5), (2, 5, 0), (0, 600)])
def test_zero_items_and_zero_rows_give_an_empty_result(
    projection: Projection, shape: tuple[int, ...]
) -> None:
    for mask in (None, torch.ones(shape, dtype=torch.bool)):
        scores = torch.zeros(shape).requires_grad_()
        weights = projection(scores, mask)
        assert weights.shape == shape
        weights.sum().backward()
        assert scores.grad is not None
        assert scores.grad.shape == shape


# The registry and bad parameters.


def test_project_calls_each_projection_by_its_name_with_its_own_parameter() -> None:
    scores, mask = torch.randn(2, 9), torch.rand(2, 9) < 0.6
    assert set(PROJECTIONS) == {"softmax", "sparsemax", "sparsegen", "entmax", "uniform"}
    expected = {
        "softmax": softmax(scores, mask),
        "sparsemax": sparsemax(scores, mask),
        "sparsegen": sparsegen(scores, mask, lam=0.7),
        "entmax": entmax(scores, mask, alpha=1.2),
        "uniform": mask / mask.sum(-1, keepdim=True),
    }
    for name, weights in expected.items():
        assert torch.equal(project(name, scores, mask, lam=0.7, alpha=1.2), weights)


@pytest.mark.parametrize("lam", [1.0, 1.5, math.nan, math.inf, -math.inf])
def test_lambda_must_be_finite_and_below_one(lam: float) -> None:
    with raises("option.out-of-range", "lam"):
        sparsegen(torch.zeros(2, 3), lam=lam)


@pytest.mark.parametrize("alpha", [0.99, -1.0, math.nan, math.inf, -math.inf])
def test_alpha_must_be_finite_and_at_least_one(alpha: float) -> None:
    with raises("option.out-of-range", "alpha"):
        entmax(torch.zeros(2, 3), alpha=alpha)


@every_projection
def test_bad_tensors_are_refused_by_name(projection: Projection) -> None:
    scores = torch.zeros(2, 3)
    with raises("tensor.wrong-shape", "mask"):
        projection(scores, torch.ones(3, dtype=torch.bool))
    with raises("tensor.wrong-shape", "mask"):
        projection(scores, torch.ones(2, 3))
    with raises("tensor.wrong-shape", "scores"):
        projection(scores.long())
    with raises("tensor.wrong-shape", "scores"):
        projection(torch.tensor(1.0))


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    with raises("option.unknown-value", "sparsemax"):
        project("sparsmax", torch.zeros(2, 3), None)


if torch.cuda.is_available():

    @pytest.mark.parametrize("projection", SMOOTH_ENOUGH.values(), ids=SMOOTH_ENOUGH.keys())
    def test_cuda_gives_what_the_cpu_gives(projection: Projection) -> None:
        for width in (5, 64, 600, 4096):
            scores, mask = torch.randn(8, width), torch.rand(8, width) < 0.7
            mask[0] = False
            upstream = torch.randn(8, width)
            found = []
            for device in ("cpu", "cuda"):
                leaf = scores.to(device, torch.float64).requires_grad_()
                weights = projection(leaf, mask.to(device))
                (gradient,) = torch.autograd.grad(weights, leaf, upstream.to(leaf))
                found.append((weights.detach().cpu(), gradient.cpu()))
            torch.testing.assert_close(found[0], found[1], atol=1e-8, rtol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lam", [-1.7e308, -1e308, -1e300, -1e39, -1e38, -1e37, -1e3])
def test_sparsegen_of_scores_near_the_largest_number_is_that_of_fractions(
    lam: float, dtype: torch.dtype
) -> None:
    """Scores at both ends of the type are nearer than 1 once they are scaled by 1 / (1 − λ)."""
    most = torch.finfo(dtype).max
    for scores in ([most, 0.0, -most], [most, most / 2], [-most, -most / 3, 1.0], [most, most]):
        row = torch.tensor([scores], dtype=dtype)
        exact = _sparsegen_in_fractions(row[0].tolist(), lam)
        weights = sparsegen(row, lam=lam)[0].double()
        reach = float(min(1, Fraction(most) / (1 - Fraction(lam))))
        near = 64 * torch.finfo(dtype).eps * (1 + reach)
        assert torch.allclose(weights, torch.tensor(exact, dtype=torch.float64), atol=near, rtol=0)
    row, mask = torch.tensor([[most, -most]], dtype=dtype), torch.tensor([[False, True]])
    assert sparsegen(row, mask, lam=lam).tolist() == [[0.0, 1.0]]


def _sparsegen_in_fractions(scores: list[float], lam: float) -> list[float]:
    """The threshold over the longest prefix of scores in descending order that it leaves weight."""
    scaled = [Fraction(score) / (1 - Fraction(lam)) for score in scores]
    threshold = Fraction(0)
    for number in range(1, len(scaled) + 1):
        part = sorted(scaled, reverse=True)[:number]
        if 1 + number * part[-1] > sum(part):
            threshold = (sum(part) - 1) / number
    return [float(max(Fraction(0), score - threshold)) for score in scaled]

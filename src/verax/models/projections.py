"""Projections: from scores over a bag's items to attention weights on the simplex.

Four solve a problem of their own over p ≥ 0, Σp = 1, row by row over the last dimension; the fifth,
`uniform`, asks the scores nothing.  Each takes `scores` of shape (..., items) and an optional
boolean `mask` of the same shape, True where there is an attended item, and returns weights of that
shape.  Whatever the scores:

- A masked position gets exactly 0 and no gradient, even where its score is inf or NaN.
- An attended score of -inf is read as "no item", the same as a masked one.
- A row with one item gives it exactly 1; a row with none gives zeros and zero gradients.
- A NaN or +inf among the attended scores makes its own row NaN, and no other.

How they are solved.  Write a for alpha and q = 1 / (a - 1), shift z so that its maximum is 0, and
scale it by a - 1.  The weights are then p_i = (z_i + θ)₊^q for the one θ in (0, 1] that makes them
sum to 1.  For 1 < a ≤ 2 the norm ‖(z + θ)₊‖_q is convex and increasing in θ, so Newton's method
on "norm = 1" comes down from θ = 1 to the root without passing it; and being nearly linear, the
norm takes five to seven steps where Σp takes seven to ten.  Sparsemax is a = 2.

The Jacobian of these is diag(s) - s sᵀ / Σs with s = p^(2 - a) on the support and 0 off it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.plugins import Names, Registry

__all__ = [
    "DENSE",
    "PROJECTIONS",
    "Projection",
    "entmax",
    "project",
    "register_projection",
    "softmax",
    "sparsegen",
    "sparsemax",
    "uniform",
]

# On a CPU a look at the error is nearly free; on an accelerator it stalls the queue.
_STEPS_BETWEEN_CHECKS = 8
# Torch's topk is a partial sort, about twice as fast, while 64 k ≤ width.
_PARTIAL, _HIGHEST, _WIDE = 64, 32, 8 * 64

F = TypeVar("F", bound=Callable[..., Tensor])

PROJECTION_OPTIONS = ("lam", "alpha")
"""The options of a model that are its projection's alone."""


@dataclass(frozen=True)
class Projection:
    """A function of (scores, mask), both (..., items), to weights, on the simplex and 0 if masked.

    uses        which of `PROJECTION_OPTIONS` it takes as keywords; the others have no effect on it
    dense       whether every item has weight, whatever the scores
    replayable  whether a training step can be captured on a GPU and replayed: it asks the device
                for no value
    """

    function: Callable[..., Tensor]
    uses: tuple[str, ...] = ()
    dense: bool = False
    replayable: bool = False

    def __call__(self, scores: Tensor, mask: Tensor | None = None, **options: float) -> Tensor:
        return self.function(scores, mask, **options)


PROJECTIONS: Registry[Projection] = Registry("projection", "verax.projections")
"""The registered projections, by name."""
DENSE = Names(PROJECTIONS, only=lambda projection: projection.dense)
"""Those that give every item weight, whatever the scores."""


def register_projection(
    name: str, *, uses: tuple[str, ...] = (), dense: bool = False, replayable: bool = False
) -> Callable[[F], F]:
    """Register a projection under a name, so that `projection=name` is valid everywhere.

    A projection is a function of (scores, mask) that returns weights on the simplex.

    Args:
        name: its name in options, flags, study files and saved models.
        uses: which of the options `lam` and `alpha` it takes as keyword arguments.
        dense: whether every item gets a positive weight for any scores.
        replayable: whether it never copies a value from the device, so that training steps can be
            captured and replayed on a GPU.

    >>> @register_projection("cold", dense=True)
    ... def cold(scores, mask=None):
    ...     return softmax(2 * scores, mask)
    >>> from verax.models.projections import project, softmax
    >>> import torch
    >>> project("cold", torch.zeros(1, 2)).tolist()
    [[0.5, 0.5]]
    >>> PROJECTIONS.unregister("cold")
    """

    def register(function: F) -> F:
        unknown = set(uses) - set(PROJECTION_OPTIONS)
        if unknown:
            raise VeraxError(
                f"projection {name!r} uses {', '.join(sorted(unknown))}: a projection's options "
                f"are {', '.join(PROJECTION_OPTIONS)}",
                code="plugin.invalid",
            )
        origin = f"{function.__module__}.{function.__qualname__}"
        PROJECTIONS.register(name, Projection(function, tuple(uses), dense, replayable), origin)
        return function

    return register


@register_projection("softmax", dense=True, replayable=True)
def softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Softmax: argmax_p  p·z - Σ p log p, so p_i ∝ exp(z_i).

    Args:
        scores: (..., items).
        mask: (..., items) bool, True where there is an item; all of them, unless given.
    """
    _check(scores, mask)
    kept = _kept(scores, mask)
    if kept.shape[-1] == 0:
        return kept.clone()
    if kept.device.type == "cpu":
        # One sum tells whether any row went wrong; on an accelerator asking would stall the queue.
        weights = torch.softmax(kept, -1)
        if not math.isnan(weights.detach().sum().item()):
            return weights
    empty = kept.detach().amax(-1, keepdim=True) == -math.inf
    # Zeroing the scores as well keeps NaN out of the backward pass, not only out of the weights.
    return torch.softmax(kept.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)


@register_projection("sparsemax", replayable=True)
def sparsemax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Sparsemax: argmin_p ‖p - z‖², the nearest point of the simplex; low scores get exactly 0.

    Where a score stands exactly at the threshold the map has a kink; the gradient there is the one
    of an item off the support.

    Args:
        scores: (..., items).
        mask: (..., items) bool, True where there is an item; all of them, unless given.

    Martins & Astudillo, "From Softmax to Sparsemax", ICML 2016.
    """
    return _project_row_wise(scores, mask, alpha=2.0, scale=1.0)


@register_projection("sparsegen", uses=("lam",), replayable=True)
def sparsegen(scores: Tensor, mask: Tensor | None = None, *, lam: float = 0.0) -> Tensor:
    """Sparsegen-lin: argmin_p ‖p - z‖² - λ‖p‖² for finite λ < 1, equal to sparsemax(z / (1 - λ)).

    λ = 0 is sparsemax; λ → 1 shares the weight evenly among the items tied for the maximum;
    λ → -∞ shares it evenly among all items.

    Args:
        scores: (..., items).
        mask: (..., items) bool, True where there is an item; all of them, unless given.
        lam: λ.

    Laha et al., "On Controllable Sparse Alternatives to Softmax", NeurIPS 2018.
    """
    if not (math.isfinite(lam) and lam < 1):
        raise VeraxError(
            f"lam is {lam}, expected a finite number < 1: choose one, such as 0.0",
            code="option.out-of-range",
        )
    return _project_row_wise(scores, mask, alpha=2.0, scale=1.0 / (1.0 - lam))


@register_projection("entmax", uses=("alpha",), replayable=True)
def entmax(scores: Tensor, mask: Tensor | None = None, *, alpha: float = 1.5) -> Tensor:
    """Entmax: argmax_p  p·z + H(p), with the Tsallis entropy H(p) = Σ(p - p^a) / (a (a - 1)).

    Above a = 2 the slope at the edge of the support is infinite: gradients there are large, but
    kept finite.

    Args:
        scores: (..., items).
        mask: (..., items) bool, True where there is an item; all of them, unless given.
        alpha: a, finite and at least 1. 1 is softmax (there H is Shannon's entropy), 2 is
            sparsemax; a larger one gives fewer items weight.

    Peters, Niculae & Martins, "Sparse Sequence-to-Sequence Models", ACL 2019.
    """
    if not (math.isfinite(alpha) and alpha >= 1):
        raise VeraxError(
            f"alpha is {alpha}, expected a finite number ≥ 1: choose one, such as 1.5",
            code="option.out-of-range",
        )
    if alpha == 1:
        return softmax(scores, mask)
    # Beyond 1e30 no float tells the difference, and factors of it would overflow.
    return _project_row_wise(scores, mask, alpha=min(float(alpha), 1e30), scale=1.0)


@register_projection("uniform", dense=True, replayable=True)
def uniform(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """1/n on each of a row's n items, whatever their scores.

    Attention that is there and learns nothing: the control of Wiegreffe & Pinter (EMNLP 2019,
    section 3.2).  Weights hang on the scores in the graph, with a gradient of zero.

    Args:
        scores: (..., items).
        mask: (..., items) bool, True where there is an item; all of them, unless given.
    """
    _check(scores, mask)
    kept = _kept(scores, mask)
    is_item = kept != -math.inf
    weights = is_item / is_item.sum(-1, keepdim=True).clamp(min=1).to(scores.dtype)
    # Nothing, unless a score is no number: then its row is to be none either.
    return weights + (torch.where(is_item, kept, 0.0) * 0.0).sum(-1, keepdim=True)


def project(
    name: str, scores: Tensor, mask: Tensor | None = None, *, lam: float = 0.0, alpha: float = 1.5
) -> Tensor:
    """The projection called `name` of scores to weights.

    Args:
        name: softmax, sparsemax, sparsegen, entmax, uniform, or one that is registered.
        scores: (..., items).
        mask: (..., items) bool, True where there is an item; all of them, unless given.
        lam: λ of sparsegen.
        alpha: a of entmax.
    """
    projection = PROJECTIONS[name]
    values = {"lam": lam, "alpha": alpha}
    return projection(scores, mask, **{option: values[option] for option in projection.uses})


def _check(scores: Tensor, mask: Tensor | None) -> None:
    """Refuse tensors that the maps are not defined for, by the name of the argument."""
    if scores.dtype not in (torch.float32, torch.float64):
        raise VeraxError(
            f"scores is {scores.dtype}, expected float32 or float64: convert it first",
            code="tensor.wrong-shape",
        )
    if scores.dim() == 0:
        raise VeraxError(
            "scores has no dimension, expected (..., items): give it at least one",
            code="tensor.wrong-shape",
        )
    if mask is not None and mask.dtype != torch.bool:
        raise VeraxError(
            f"mask is {mask.dtype}, expected bool: pass True where there is an item",
            code="tensor.wrong-shape",
        )
    if mask is not None and mask.shape != scores.shape:
        shape, expected = tuple(mask.shape), tuple(scores.shape)
        raise VeraxError(
            f"mask has shape {shape}, expected {expected} as scores: expand it first",
            code="tensor.wrong-shape",
        )


def _kept(scores: Tensor, mask: Tensor | None) -> Tensor:
    """The scores with -inf at masked positions, whatever stood there."""
    # A product with the mask would let inf and NaN through; a selection does not.
    return scores if mask is None else torch.where(mask, scores, -math.inf)


def _project_row_wise(scores: Tensor, mask: Tensor | None, alpha: float, scale: float) -> Tensor:
    """Entmax of `scale` · scores for alpha > 1, after the checks that all maps share."""
    _check(scores, mask)
    if scores.shape[-1] == 0:
        return scores.clone()
    apply = cast(Callable[[Tensor, Tensor | None, float, float], Tensor], _Entmax.apply)
    return apply(scores, mask, alpha, scale)


class _Entmax(torch.autograd.Function):
    """Entmax of `scale` · scores for alpha > 1, differentiable twice."""

    @staticmethod
    def forward(
        ctx: Any, scores: Tensor, mask: Tensor | None, alpha: float, scale: float
    ) -> Tensor:
        kept, factor = _kept(scores, mask), scale * (alpha - 1)
        if factor < 4 * torch.finfo(kept.dtype).tiny:
            # Scores that such a factor brings near one another may be too far apart to subtract.
            kept = torch.where(kept == -math.inf, -math.inf, kept * factor)
            factor = 1.0
        # A row with no item has maximum -inf, and -inf - (-inf) is NaN.
        top = kept.amax(-1, keepdim=True).clamp_(min=torch.finfo(kept.dtype).min)
        # Shifting first keeps the maximum at exactly 0 however large the scale is.
        shifted = kept - top if mask is None else kept.sub_(top)
        if factor != 1:
            shifted *= factor
        weights, slopes = _bisect(shifted, alpha) if alpha > 2 else _newton(shifted, alpha)
        ctx.save_for_backward(weights, slopes)
        ctx.alpha, ctx.scale = alpha, scale
        return weights

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None, None, None]:
        weights, slopes = ctx.saved_tensors
        if torch.is_grad_enabled():
            # The saved slopes carry no graph; a second derivative needs them as made from p.
            slopes = _slopes(weights, ctx.alpha)
        sloped = slopes * upstream
        total = slopes.sum(-1, keepdim=True).clamp(min=torch.finfo(slopes.dtype).tiny)
        mean = sloped.sum(-1, keepdim=True) / total
        gradient = torch.addcmul(sloped, slopes, mean, value=-1)
        return gradient if ctx.scale == 1 else gradient * ctx.scale, None, None, None


def _slopes(weights: Tensor, alpha: float) -> Tensor:
    """s = p^(2 - a) on the support and 0 off it, in operations that can be differentiated."""
    if alpha == 2:
        return weights.sign()
    support = weights > 0
    # A power of 0 has an infinite derivative, and infinity times 0 is NaN: stand in a 1 for it.
    powers = torch.where(support, weights, 1.0) ** (2 - alpha)
    # For large alpha they overflow; the square root leaves room to multiply two of them.
    return torch.where(support, powers.clamp(max=math.sqrt(torch.finfo(powers.dtype).max)), 0.0)


def _newton(z: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Weights and slopes for 1 < a ≤ 2, from scores shifted to maximum 0 and scaled by a - 1.

    Leaving scores out lowers the sum of the weights, so the root for a part of them is a safe
    start for the whole; where the part holds the support it is the root of the whole.
    """
    width, on_cpu = z.shape[-1], z.device.type == "cpu"
    # No running sum off the CPU where results are to be deterministic: its order may vary.
    unsorted = width < _WIDE if on_cpu else torch.are_deterministic_algorithms_enabled()
    if unsorted or alpha not in (1.5, 2.0):
        theta = _descend(z, z.new_ones((*z.shape[:-1], 1)), alpha)
    elif not on_cpu:
        # Twice the digits, as over many items the terms under the root all but cancel.
        theta = _root_of_sorted(z.sort(descending=True)[0].double(), alpha).to(z.dtype)
    else:
        part = z.topk(min(width // _PARTIAL, _HIGHEST) if alpha == 2 else _HIGHEST)[0]
        theta = _root_of_sorted(part, alpha)
        beyond = (part[..., -1:] + theta > 0).squeeze(-1)
        if bool(beyond.any()):
            theta[beyond] = _descend(z[beyond], theta[beyond], alpha)
    weights, slopes = _weigh(z, theta, alpha)
    return weights.div_(_at_least_tiny(weights.sum(-1, keepdim=True))), slopes


def _root_of_sorted(z: Tensor, alpha: float) -> Tensor:
    """θ in closed form for a = 1.5 or 2 and scores in descending order.

    Were the support the first j scores, with sum C and sum of squares Q, then θ would be
    (1 - C) / j for a = 2 and (√(j + C² - jQ) - C) / j for a = 1.5.  The first is smallest where j
    is the size of the support; so is the second among those j with z_j + θ > 0.
    """
    count = torch.arange(1, z.shape[-1] + 1, dtype=z.dtype, device=z.device)
    total = z.cumsum(-1)
    if alpha == 2:
        return ((1 - total) / count).amin(-1, keepdim=True).clamp_(max=1.0)
    squares = (z * z).cumsum(-1)
    inside = torch.addcmul(count, total, total).addcmul_(count, squares, value=-1)
    # Low scores may overflow or leave no root: then this is NaN, and so not above 0.
    theta = (inside * inside.rsqrt()).sub_(total).div_(count)
    return torch.where(z + theta > 0, theta, 1.0).amin(-1, keepdim=True)


def _descend(z: Tensor, theta: Tensor, alpha: float) -> Tensor:
    """The root θ of ‖(z + θ)₊‖_q = 1, by Newton's method from a θ not below it.

    With W = Σp and S = Σs the step is (W - W^(2 - a)) / S.

    Each step at least quarters the product of excess and derivative, as their ratios to the ones
    before add up to at most 1 on a convex function.  Both start at no more than n^(a - 1), the
    derivative stays above 1 and θ above 1 / n^(a - 1), which bounds the steps that are needed.
    """
    precision = torch.finfo(z.dtype).eps
    most = math.log(z.shape[-1], 4) * 3 * (alpha - 1) - math.log(precision, 4)
    period = 1 if z.device.type == "cpu" else _STEPS_BETWEEN_CHECKS
    # A step that is being captured cannot be asked; a root that is found stays found.
    asks = z.device.type == "cpu" or not torch.cuda.is_current_stream_capturing()
    for step in range(1, math.ceil(most) + 1):
        weights, slopes = _weigh(z, theta, alpha)
        total = _at_least_tiny(weights.sum(-1, keepdim=True))
        excess = total - (total * total.rsqrt() if alpha == 1.5 else total ** (2 - alpha))
        change = excess / _at_least_tiny(slopes.sum(-1, keepdim=True))
        # Past the root by a rounding, Newton would turn back; staying put makes it end.
        theta = theta - change.clamp_(min=0.0)
        if asks and step % period == 0 and not bool((change > 8 * precision * theta).any()):
            break
    return theta


def _weigh(z: Tensor, theta: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Weights p = (z + θ)₊^q and slopes s = p^(2 - a) = (z + θ)₊^(q - 1), for 1 < a ≤ 2."""
    if alpha == 2:
        weights = (z + theta).relu_()
        # Several times faster than a comparison: kernels for floats use vector instructions.
        return weights, weights.sign()
    if alpha == 1.5:
        slopes = (z + theta).relu_()
        return slopes * slopes, slopes
    weights = _power(z / theta, alpha) * theta ** (1 / (alpha - 1))
    return weights, weights / _at_least_tiny(z + theta)


def _power(x: Tensor, alpha: float) -> Tensor:
    """(1 + x)₊^q, by way of log1p because for a near 1 x is small and q large."""
    # exp2 here, rsqrt above: on a busy machine exp and sqrt were seen to stall for milliseconds.
    return x.clamp(min=-1.0).log1p_().mul_(1 / (alpha - 1) / math.log(2)).exp2_()


def _bisect(z: Tensor, alpha: float) -> tuple[Tensor, Tensor]:
    """Weights and slopes for a > 2, where the norm is not convex, by halving.

    What is halved is the largest weight w = θ^q, which lies in [1/n, 1], rather than θ itself,
    which for large a comes too near 0: the weights are w (1 + z / w^(a - 1))₊^q.
    """
    finfo = torch.finfo(z.dtype)
    low = z.new_full((*z.shape[:-1], 1), 1 / z.shape[-1])
    high = torch.ones_like(low)

    def weigh(largest: Tensor) -> Tensor:
        # Finite, because infinity times the 0 of the maximum is NaN.
        stretch = (largest ** (1 - alpha)).clamp_(max=finfo.max)
        return largest * _power(z * stretch, alpha)

    for _ in range(math.ceil(math.log2(z.shape[-1] / finfo.eps)) + 1):
        middle = (low + high) / 2
        heavy = weigh(middle).sum(-1, keepdim=True) > 1
        low, high = torch.where(heavy, low, middle), torch.where(heavy, middle, high)
    weights = weigh(high)
    slopes = _slopes(weights, alpha)
    # The last bit of w moves steep weights by far more than a bit: they take up the excess.
    excess = (weights.sum(-1, keepdim=True) - 1) / _at_least_tiny(slopes.sum(-1, keepdim=True))
    weights = (weights - slopes * excess).relu_()
    weights /= _at_least_tiny(weights.sum(-1, keepdim=True))
    return weights, _slopes(weights, alpha)


def _at_least_tiny(divisor: Tensor) -> Tensor:
    """The divisor, moved off 0 in place: in a row with no item 0 / 0 is to be 0."""
    return divisor.clamp_(min=torch.finfo(divisor.dtype).tiny)

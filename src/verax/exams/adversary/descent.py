"""The descent of several attentions at once, away from a document's own and from one another.

With K of them, α^k = softmax(w^k), and Δp_k what α^k changes about the probability of the class
decided for, each document's loss is

    Σ_k [ −JSD(α^k, α) + λ max(0, |Δp_k| − margin) ] − (1/K²) Σ_{k,l} JSD(α^k, α^l)

With g its slope towards α^k, that towards w^k is α^k (g − Σ α^k g), which is blind to constants in
g: w^k may stand for ln α^k, and no middle need be halved,

    2g = ln(α^k + α) + (2/K²) Σ_{l≠k} ln(α^k + α^l) − (1 + 2(K−1)/K²) w^k + 2λ d|Δp_k|/dα^k

Everything here is float32 and (restarts, items, batch): sums over items then run along whole rows
of documents, and one restart's numbers are next to each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from verax.models.layers import HashedDropout, decisions, two_columns

Answer = Callable[[Tensor], Tensor]
"""(restarts, batch, items) weights, float64 → (restarts, batch, classes) logits."""

_PLACE = 701
_BETAS, _EPSILON = (0.9, 0.999), 1e-8
_NOWHERE = -70.0
"""Log-weight of what is masked: nothing beside 1, and above where exponentials become slow."""
_LEAST = 1e-36
"""What a product of weights is raised to: float32 ends at 1e-38, and zero has no logarithm."""
_RINGS = 2
"""So many times two sums of weights are multiplied and stay, but for next to nothing, float32."""
_SAFE = 16.0
"""How far log-weights may rise before they are brought down again."""


@dataclass(frozen=True)
class SearchOptions:
    """The authors' constants.

    restarts  K, attentions sought at once    steps, lr  of Adam
    margin    |Δp| left free of penalty       penalty    λ
    spread    standard deviation of the log-weights at the start
    """

    restarts: int = 5
    steps: int = 500
    lr: float = 0.01
    margin: float = 0.01
    penalty: float = 500.0
    spread: float = 3.0


class Slope(Protocol):
    """The penalty's part of the slope."""

    def add(self, weights: Tensor, slope: Tensor, room: Tensor) -> None:
        """2λ d max(0, |Δp| − margin)/dα added to `slope`; all (restarts, items, batch).

        What is in `room` may be overwritten.
        """


def start(keys: Tensor, width: int, seed: int, options: SearchOptions) -> Tensor:
    """(restarts, batch, items) float64: normal log-weights, by Box and Muller.

    A document's hang on its key, the seed, the restart and the position. The authors' are around
    ln(1/n), a constant that leaves the weights as they are.
    """
    pairs = (options.restarts + 1) // 2
    uniform = HashedDropout.of(keys, width, seed, 0).uniforms(range(_PLACE, _PLACE + 2 * pairs))
    radius = (-2 * torch.log1p(-uniform[::2])).sqrt_()
    angle = 2 * math.pi * uniform[1::2]
    normal = torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1).flatten(0, 1)
    return normal[: options.restarts].mul_(options.spread)


def descend(
    log_weights: Tensor, original: Tensor, mask: Tensor, penalty: Slope, options: SearchOptions
) -> Tensor:
    """(restarts, batch, items) log-weights → the weights they end at, float64.

    original, mask  (batch, items)
    """
    restarts = options.restarts
    hidden = ~mask.T.contiguous()
    w = log_weights.transpose(1, 2).float().contiguous().masked_fill_(hidden, -torch.inf)
    original = original.T.float().contiguous() + 1e-10  # as in their logarithms
    weights, slope, room, product = (torch.empty_like(w) for _ in range(4))
    pairs = _Pairs(weights, room, product)
    adam = _Adam(w, options.lr)
    # no step is longer than 3.2 lr = lr (1 − β₁) / √(1 − β₂), so a maximum is seldom taken off
    often = max(1, int(_SAFE / (3.2 * options.lr)))
    for step in range(options.steps):
        if step % often == 0:
            w.sub_(w.amax(1, keepdim=True)).masked_fill_(hidden, _NOWHERE)
        torch.exp(w, out=weights)
        weights /= weights.sum(1, keepdim=True)
        torch.add(weights, original, out=slope).log_()
        slope.add_(w, alpha=-(1 + 2 * (restarts - 1) / restarts**2))
        pairs.add(slope)
        penalty.add(weights, slope, room)
        torch.mul(weights, slope, out=room)
        slope.sub_(room.sum(1, keepdim=True)).mul_(weights)
        adam.step(slope, room)
    return w.transpose(1, 2).double().masked_fill(~mask, -torch.inf).softmax(-1)


class _Adam:
    """Adam with AMSGrad, of slopes that are twice what they should be: only its ε would notice.

    torch's own, the first time it takes a step, loads a compiler for longer than a search takes.
    """

    def __init__(self, values: Tensor, lr: float) -> None:
        self.values, self.lr, self.steps = values, lr, 0
        self.mean, self.square = torch.zeros_like(values), torch.zeros_like(values)
        # next to ε² nothing, but the root of zero takes a slow way
        self.largest = torch.full_like(values, 1e-30)

    def step(self, slope: Tensor, room: Tensor) -> None:
        self.steps += 1
        self.mean.lerp_(slope, 1 - _BETAS[0])
        self.square.mul_(_BETAS[1]).addcmul_(slope, slope, value=1 - _BETAS[1])
        torch.maximum(self.largest, self.square, out=self.largest)
        first, second = (1 - beta**self.steps for beta in _BETAS)
        root = math.sqrt(second)
        torch.sqrt(self.largest, out=room).add_(2 * _EPSILON * root)
        self.values.addcdiv_(self.mean, room, value=-self.lr * root / first)


class _Pairs:
    """(2/K²) Σ_{l≠k} ln(α^k + α^l), added to the slope of each k.

    In a ring of restarts k meets the one `by` further on, for all k at once, and their sum serves
    both. Some sums are multiplied before a logarithm is taken, which costs more than all else.
    """

    def __init__(self, weights: Tensor, sums: Tensor, product: Tensor) -> None:
        self.sums, self.product, self.restarts = sums, product, len(weights)
        # a view costs as much as arithmetic on a short row: all are made once
        self.rings = [_Ring(weights, sums, product, by) for by in range(1, self.restarts // 2 + 1)]

    def add(self, slope: Tensor) -> None:
        for at, ring in enumerate(self.rings, start=1):
            for left, right, total in ring.meetings:
                torch.add(left, right, out=total)
            if at % _RINGS == 1:
                self.product.copy_(self.sums)
            else:
                self.product.mul_(self.sums)
            for theirs, total in ring.others:
                theirs.mul_(total)
            if at % _RINGS == 0 or at == len(self.rings):
                logs = self.product.clamp_(min=_LEAST).log_()
                slope.add_(logs, alpha=2 / self.restarts**2)


class _Ring:
    def __init__(self, weights: Tensor, sums: Tensor, product: Tensor, by: int) -> None:
        self.meetings = [
            (weights[:-by], weights[by:], sums[:-by]),
            (weights[-by:], weights[:by], sums[-by:]),
        ]
        self.others = [(product[by:], sums[:-by]), (product[:by], sums[-by:])]
        if 2 * by == len(weights):  # both have met already
            self.others = []


class TwoClasses:
    """An affine head over two classes: σ of Σ α_i z_i, z_i the log-odds of item i.

    z (batch, items); before (batch,), the log-odds without a change
    """

    def __init__(self, z: Tensor, before: Tensor, options: SearchOptions) -> None:
        self.z = z.T.float().contiguous()
        self.p_before = before.sigmoid().float()
        self.options = options

    def add(self, weights: Tensor, slope: Tensor, room: Tensor) -> None:
        p = torch.mul(weights, self.z, out=room).sum(1, keepdim=True).sigmoid_()
        push = _push(p - self.p_before, self.options)
        slope.addcmul_(push.mul_(p).mul_(1 - p), self.z)


class SeveralClasses:
    """An affine head over more classes.

    says (batch, items, classes); before (batch, classes), the logits without a change
    """

    def __init__(self, says: Tensor, before: Tensor, options: SearchOptions) -> None:
        self.says = says.permute(2, 1, 0).float().contiguous()
        decided = decisions(before)
        self.p_before = before.softmax(-1).gather(-1, decided.unsqueeze(-1)).T.float()
        self.decided = functional.one_hot(decided, before.shape[-1]).T.float()
        self.options = options

    def add(self, weights: Tensor, slope: Tensor, room: Tensor) -> None:
        sums = [torch.mul(weights, says, out=room).sum(1) for says in self.says]
        shares = torch.stack(sums, dim=1).softmax(1)
        p = (shares * self.decided).sum(1, keepdim=True)
        push = _push(p - self.p_before, self.options) * p * (self.decided - shares)
        for column, says in enumerate(self.says):
            slope.addcmul_(push[:, column : column + 1], says)


class AnyHead:
    """Any head, by autograd; asked about `at_once` restarts at a time."""

    def __init__(
        self, answer: Answer, before: Tensor, at_once: int, options: SearchOptions
    ) -> None:
        self.answer, self.at_once, self.options = answer, at_once, options
        self.decided = decisions(before)
        self.p_before = self._share(before.unsqueeze(0))

    def add(self, weights: Tensor, slope: Tensor, room: Tensor) -> None:
        for k in range(0, len(weights), self.at_once):
            rows = slice(k, k + self.at_once)
            leaf = weights[rows].transpose(1, 2).double().contiguous().requires_grad_()
            with torch.enable_grad():
                p = self._share(self.answer(leaf))
            push = _push(p.detach() - self.p_before, self.options)
            (gradient,) = torch.autograd.grad(p, leaf, push)
            slope[rows] += gradient.transpose(1, 2)

    def _share(self, logits: Tensor) -> Tensor:
        """(…, batch, classes) → (…, batch), the probability of the class decided for."""
        shares = two_columns(logits.double()).softmax(-1)
        return shares.gather(-1, self.decided.view(-1, 1).expand(*shares.shape[:-1], 1)).squeeze(-1)


def _push(change: Tensor, options: SearchOptions) -> Tensor:
    """The doubled penalty's slope towards p: ±2λ where |Δp| has left the margin."""
    return functional.hardshrink(change, options.margin).sign_().mul_(2 * options.penalty)

"""Extreme numbers in pure functions, held against exact arithmetic or a bound that must hold."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fuzz.harness import Act
from fuzz.samples import Samples
from verax import functional, statistics
from verax.errors import VeraxError

_LAMS = (
    -1e308,
    -1.7e308,
    -1e300,
    -1e39,
    -3.5e38,
    -1e38,
    -1e10,
    -1.0,
    0.0,
    0.5,
    0.999999,
    1 - 1e-16,
)
_ALPHAS = (1.0, 1 + 1e-9, 1.2, 1.5, 2.0, 2.5, 10.0, 1e6, 1e308)


def make(rng: random.Random, samples: Samples, folder: Path) -> tuple[str, Act]:
    """A projection, a divergence, an adversary or a statistic of extreme numbers."""
    return rng.choice((_sparsegen, _sparsegen, _projected, _divergent, _statistic, _ranked))(rng)


def _scores(rng: random.Random, kind: torch.dtype) -> list[float]:
    most = torch.finfo(kind).max
    each = (0.0, -0.0, 1.0, -1.0, most, -most, most / 2, torch.finfo(kind).tiny, 1e-30, 1e30)
    near = [most * rng.random() for _ in range(3)]
    count = rng.choice((1, 2, 3, 5, 700))
    drawn = [rng.choice([*each, *near, rng.gauss(0, 1)]) for _ in range(count)]
    return torch.tensor(drawn, dtype=torch.float64).to(kind).tolist()


def _sparsegen(rng: random.Random) -> tuple[str, Act]:
    kind = rng.choice((torch.float32, torch.float64))
    scores, lam = _scores(rng, kind), rng.choice(_LAMS)
    alone = [s for s in scores if math.isfinite(s)] or [0.0]

    def act() -> str | None:
        row = torch.tensor([alone], dtype=kind)
        found = functional.sparsegen(row, lam=lam)[0].double().tolist()
        exact = exact_sparsegen(alone, lam)
        # a row's distance in scores that its floating point can tell, in weights
        eps = torch.finfo(kind).eps
        reach = max(abs(Fraction(s)) for s in alone) / (1 - Fraction(lam))
        tolerance = float(min(Fraction(1), Fraction(64 * eps) * (1 + reach))) + 64 * eps
        worst = max(abs(a - float(b)) for a, b in zip(found, exact, strict=True))
        if not worst <= tolerance:
            return f"sparsegen λ={lam} of {alone[:5]}: off by {worst}"
        return None

    return f"sparsegen λ={lam}, {kind}, {len(alone)} scores", act


def exact_sparsegen(scores: Sequence[float], lam: float) -> list[Fraction]:
    """argmin_p ‖p − z‖² − λ‖p‖² on the simplex, in fractions: sparsemax of z / (1 − λ).

    With scores in descending order, the support is the longest prefix of j scores with
    1 + j z_j > Σ_{i≤j} z_i, and the threshold is (Σ − 1) / j over it.
    """
    scaled = [Fraction(score) / (1 - Fraction(lam)) for score in scores]
    ordered = sorted(scaled, reverse=True)
    total, threshold = Fraction(0), Fraction(0)
    for number, value in enumerate(ordered, 1):
        total += value
        if 1 + number * value > total:
            threshold = (total - 1) / number
    return [max(Fraction(0), value - threshold) for value in scaled]


def _projected(rng: random.Random) -> tuple[str, Act]:
    kind = rng.choice((torch.float32, torch.float64))
    name = rng.choice(("softmax", "sparsemax", "entmax", "uniform", "sparsegen"))
    alpha, lam = rng.choice(_ALPHAS), rng.choice(_LAMS)
    scores = _scores(rng, kind) + rng.choice(([], [-math.inf], [math.nan], [math.inf]))
    mask = [rng.random() < 0.8 for _ in scores]

    def act() -> str | None:
        row, kept = torch.tensor([scores], dtype=kind), torch.tensor([mask])
        weights = functional.project(name, row, kept, lam=lam, alpha=alpha)[0].double()
        inside = [s for s, m in zip(scores, mask, strict=True) if m]
        if any(math.isnan(s) or s == math.inf for s in inside):
            return None if bool(weights.isnan().any()) else f"{name}: no number gave weights"
        items = sum(s > -math.inf for s in inside)
        total = float(weights.sum())
        if bool((weights[~kept[0]] != 0).any()) or bool((weights < 0).any()):
            return f"{name}: weight where there is no item, or a negative one"
        if abs(total - (items > 0)) > 1e-3:
            return f"{name} α={alpha} λ={lam}: weights sum to {total} of {inside[:5]}"
        order = torch.tensor(inside, dtype=torch.float64).argsort()
        ranked = weights[kept[0]][order]
        if name != "uniform" and bool((ranked.diff() < -1e-6).any()):
            return f"{name}: a higher score has less weight"
        return None

    return f"{name} α={alpha} λ={lam} of {len(scores)}", act


def _divergent(rng: random.Random) -> tuple[str, Act]:
    batch, items, classes = (
        rng.choice((0, 1, 2)),
        rng.choice((0, 1, 2, 4)),
        rng.choice((0, 1, 2, 3)),
    )
    epsilon = rng.choice((0.0, 0.05, 1.0, -1.0, math.nan, 1e-320, 2.0))
    scale = rng.choice((1.0, 1e30, 1e300, 0.0, math.inf, math.nan))
    function = rng.choice(
        ("most_divergent", "farthest_item", "farthest_anywhere", "flips", "erase")
    )
    seed = rng.randrange(1 << 30)

    def act() -> str | None:
        generator = torch.Generator().manual_seed(seed)
        weights = torch.rand(batch, items, generator=generator, dtype=torch.float64)
        weights = weights / weights.sum(-1, keepdim=True) if items else weights
        logits = (
            torch.randn(batch, items, classes, generator=generator, dtype=torch.float64) * scale
        )
        mask = torch.ones(batch, items, dtype=torch.bool)
        calls: dict[str, Any] = {
            "most_divergent": lambda: functional.most_divergent(weights, logits, mask, epsilon),
            "farthest_item": lambda: functional.farthest_item(
                weights, logits, logits.sum(1), mask, epsilon
            ),
            "farthest_anywhere": lambda: functional.farthest_anywhere(weights, mask),
            "flips": lambda: functional.minimal_flip_sets(weights, logits, mask),
            "erase": lambda: functional.erase(weights, mask, mask),
        }
        found = calls[function]()
        if function == "most_divergent":
            if not 0 <= epsilon <= 1 or not math.isfinite(scale):
                return f"ε={epsilon}, scale {scale}: accepted"
            if bool((found.weights.sum(-1) - 1).abs().gt(1e-6).any()):
                return "the farthest attention is no attention"
        return None

    return f"{function} {batch}×{items}×{classes} ε={epsilon} of {scale}", act


def _statistic(rng: random.Random) -> tuple[str, Act]:
    each = (0.0, 1.0, -1.0, math.nan, math.inf, 1e308, -1e308, 1e-320, 5.0)
    values = np.array(rng.choices(each, k=rng.choice((0, 1, 2, 3, 8))))
    other = np.array(rng.choices(each, k=len(values)))
    finite = values[np.isfinite(values)]
    count = rng.choice((0, 1, 5, 10**6))
    calls: dict[str, Any] = {
        "mean": lambda: statistics.mean(finite),
        "quantile": lambda: statistics.quantile(finite, 0.5),
        "proportion": lambda: statistics.proportion(min(count, 5), count),
        "holm": lambda: statistics.holm(np.clip(np.nan_to_num(values), 0, 1)),
        "correlations": lambda: statistics.correlations(values, other),
        "paired": lambda: statistics.paired(values, other, "wilcoxon"),
        "describe": lambda: statistics.describe(values),
    }
    name = rng.choice(sorted(calls))

    def act() -> str | None:
        found = calls[name]()
        if name == "proportion" and count:
            share, low, high = found
            if not 0 <= low <= share <= high <= 1:
                return f"a share of {found}"
        if name == "holm" and bool((np.asarray(found) > 1).any()):
            return f"p-values of {found}"
        return None

    return f"{name} of {values.tolist()[:8]}", act


def _ranked(rng: random.Random) -> tuple[str, Act]:
    items = rng.choice((0, 1, 2, 3, 6))
    each = (0.0, -0.0, 1.0, -1.0, 1e308, -1e308, 1e-320, math.nan, math.inf)
    rows = [rng.choices(each, k=items) for _ in range(2)]
    name = rng.choice(("kendall_tau_b", "spearman", "jensen_shannon", "total_variation", "entropy"))

    def act() -> str | None:
        a, b = (torch.tensor([row], dtype=torch.float64) for row in rows)
        mask = torch.ones(1, items, dtype=torch.bool)
        if name == "entropy":
            found = functional.normalised_entropy(a.softmax(-1), mask)
        elif name in ("jensen_shannon", "total_variation"):
            one, two = a.nan_to_num(0, 50, -50).softmax(-1), b.nan_to_num(0, 50, -50).softmax(-1)
            found = getattr(functional, name)(one, two)
            most = math.log(2) if name == "jensen_shannon" else 1.0
            if items and not bool(((found >= 0) & (found <= most + 1e-12)).all()):
                return f"{name} is {found.tolist()}"
            return None
        else:
            found = getattr(functional, name)(a, b, mask)
        value = float(found.reshape(-1)[0]) if found.numel() else math.nan
        return None if math.isnan(value) or -1 - 1e-9 <= value <= 1 + 1e-9 else f"{name} is {value}"

    return f"{name} of {rows!r:.100}", act


__all__ = ["VeraxError", "exact_sparsegen", "make"]

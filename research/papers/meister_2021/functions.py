"""Projections, correlations with λ and adversaries; paper.yaml names these functions."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from research.papers.numbers import SeedMean, combined
from research.papers.points import Point, Value
from research.papers.words import lambda_words, value_of
from verax.statistics import correlations

SUPPORT = "dispersion.documents/support_share/value"
LEAST = 3
"""The fewest values of λ for a correlation."""
FAMILY = ("sparsemax", "sparsegen")
"""Projections with a λ: sparsemax is sparsegen at 0, and softmax is none of them."""


def projections(point: Point) -> list[Value]:
    """Softmax, then from dense to sparse."""
    cells = point.results.select(**point.where, projection="sparsegen")
    lams = {float(lam) for lam in cells["lam"]} if len(cells) else set()
    # by name, too: sparsemax and sparsegen at λ = 0 need a fixed order, or sums differ by a digit
    sparse = sorted([(lam, "sparsegen") for lam in lams] + [(0.0, "sparsemax")])
    return [_projection(name, lam) for lam, name in [(math.nan, "softmax"), *sparse]]


def _projection(name: str, lam: float) -> Value:
    where: dict[str, Any] = {"projection": name}
    text = name
    if name == "sparsegen":
        where, text = {**where, "lam": lam}, f"{name} λ = {lam:g}"
    facts = {"lam": lam, "symlog": symlog(lam), "text": text, "is_sparse": lam >= 0}
    return Value(name, where, facts)


def symlog(lam: float) -> float:
    """λ on an axis that is linear from 0 to 1 and logarithmic below: −log10(1 − λ) there.

    >>> [round(symlog(lam), 3) for lam in (-99.0, -9.0, 0.0, 0.75)]
    [-2.0, -1.0, 0.0, 0.75]
    """
    return -math.log10(1 - lam) if lam < 0 else lam


def along(point: Point, kind: str, source: str) -> SeedMean | None:
    """The correlation of a number with λ, a value per seed: tau, spearman or pearson.

    The paper does not say over what it correlates. Here it is over λ and the mean over documents at
    each λ, seed by seed. Sparsemax is λ = 0. Softmax is not of the family, and is left out. So is a
    number that is the same at every λ, which has no correlation.

    support_tau and the like are with the measured share of items in the support, which is larger
    for denser attention. None if no seed has `LEAST` values of λ, or of that share.
    """
    seeds = dict(zip(point.results.cells["cell"], point.results.cells["seed"], strict=True))
    sweeps: dict[int, list[tuple[float, float, float, str]]] = {}
    for model in point.over({"projection": list(FAMILY)}):
        number, support = model.number(source), model.number(SUPPORT)
        if number is None:
            continue
        shares = {} if support is None else dict(zip(support.cells, support.values, strict=True))
        for cell, value in zip(number.cells, number.values, strict=True):
            place = (model.values["projection"].lam, value, shares.get(cell, math.nan), cell)
            sweeps.setdefault(seeds[cell], []).append(place)
    enough = [list(zip(*sweeps[s], strict=True)) for s in sorted(sweeps) if len(sweeps[s]) >= LEAST]
    by_lam = [correlations(lams, values) for lams, values, _, _ in enough]
    by_support = [correlations(shares, values) for _, values, shares, _ in enough]
    name = kind.removeprefix("support_")
    if all(math.isnan(c.tau) for c in by_lam):
        return None
    if name != kind and not any(c.n >= LEAST for c in by_support):
        return None
    values = [getattr(c, name) for c in (by_lam if name == kind else by_support)]
    return SeedMean.of(values, [cell for *_, cells in enough for cell in cells])


def farthest(point: Point) -> Iterator[Value]:
    """The trained adversary whose attention is farthest, of those with λ > 0.

    None if it is no farther than a model of another seed.
    """
    distances = [
        (distance.value, row)
        for row in point.rows("adversaries/jsd")
        if value_of(row) > 0 and (distance := point.number(f"adversaries/{row}/jsd")) is not None
    ]
    jsd, row = max(distances, default=(0.0, ""))
    yardstick = point.number("adversaries.seeds/mean/jsd")
    if row and (yardstick is None or jsd > yardstick.value):
        yield Value(lambda_words(row), {}, {"id": row})


def change(point: Point, row: str) -> SeedMean | None:
    """The accuracy of an adversary less that of its base, in points."""
    adversary = point.number(f"adversaries/{row}/accuracy")
    if adversary is None:
        return None
    base = point.results.fact("test_accuracy", **point.where, cell=adversary.cells)
    return None if base is None else combined([(1.0, adversary), (-100.0, base)])

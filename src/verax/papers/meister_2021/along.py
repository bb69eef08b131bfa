"""Correlations of a number with λ, over the models of one corpus and encoder."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from verax.papers.meister_2021.models import ENCODERS, FAMILY, models
from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults
from verax.statistics import correlations

LEAST = 3
"""The fewest values of λ for a correlation."""
SUPPORT = ("dispersion.documents", "support_share", "value")


@dataclass(frozen=True)
class Along:
    """Correlations over λ, with a value per seed: τ-b, Spearman's, Pearson's.

    tau, spearman, pearson  of the number with λ; attention is sparser for a larger λ
    support_…               of the number with the measured share of items in the support, which is
                            larger for denser attention; None if that was not measured
    lams                    the most values of λ that a seed has
    """

    corpus: str
    encoder: str
    lams: int
    tau: SeedMean
    spearman: SeedMean
    pearson: SeedMean
    support_tau: SeedMean | None
    support_spearman: SeedMean | None
    support_pearson: SeedMean | None

    def __str__(self) -> str:
        return f"{self.corpus}, {ENCODERS[self.encoder]}"


@dataclass
class _SeedSweep:
    """The models of one seed along λ."""

    lams: list[float]
    values: list[float]
    supports: list[float]
    cells: list[str]


def along(results: PaperResults, table: str, row: str, column: str) -> list[Along]:
    """Correlations of a number with λ, for every corpus and encoder with `LEAST` values of λ.

    The paper does not say over what it correlates. Here it is over λ and the mean over documents at
    each λ, seed by seed. Sparsemax is λ = 0. Softmax is not of the family, and is left out. So is a
    number that is the same at every λ, which has no correlation.
    """
    seeds = dict(zip(results.cells["cell"], results.cells["seed"], strict=True))
    sweeps: dict[tuple[str, str], dict[int, _SeedSweep]] = defaultdict(dict)
    for model in models(results, FAMILY):
        number = model.find(results, table, row, column)
        if number is None:
            continue
        support = model.find(results, *SUPPORT)
        shares = {} if support is None else dict(zip(support.cells, support.values, strict=True))
        by_seed = sweeps[model.corpus, model.encoder]
        for cell, value in zip(number.cells, number.values, strict=True):
            sweep = by_seed.setdefault(seeds[cell], _SeedSweep([], [], [], []))
            sweep.lams.append(model.lam)
            sweep.values.append(value)
            sweep.supports.append(shares.get(cell, float("nan")))
            sweep.cells.append(cell)
    correlated = []
    for (corpus, encoder), by_seed in sweeps.items():
        enough = [sweep for _, sweep in sorted(by_seed.items()) if len(sweep.lams) >= LEAST]
        if enough:
            correlated.append(_along(corpus, encoder, enough))
    return [numbers for numbers in correlated if not math.isnan(numbers.tau.value)]


def _along(corpus: str, encoder: str, seeds: list[_SeedSweep]) -> Along:
    cells = [cell for sweep in seeds for cell in sweep.cells]
    by_lam = [correlations(sweep.lams, sweep.values) for sweep in seeds]
    by_support = [correlations(sweep.supports, sweep.values) for sweep in seeds]

    def number(values: list[float]) -> SeedMean:
        return SeedMean.of(values, cells)

    has_support = any(c.n >= LEAST for c in by_support)
    return Along(
        corpus,
        encoder,
        max(len(sweep.lams) for sweep in seeds),
        number([c.tau for c in by_lam]),
        number([c.spearman for c in by_lam]),
        number([c.pearson for c in by_lam]),
        number([c.tau for c in by_support]) if has_support else None,
        number([c.spearman for c in by_support]) if has_support else None,
        number([c.pearson for c in by_support]) if has_support else None,
    )

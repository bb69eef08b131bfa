"""How a number moves along λ: correlations over the models of one corpus and encoder."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from verax.papers.meister_2021.models import ENCODERS, FAMILY, models
from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults
from verax.statistics import correlations

LEAST = 3
"""Values of λ below which there is no correlation to speak of."""
SUPPORT = ("dispersion.documents", "support_share", "value")


@dataclass(frozen=True)
class Along:
    """Correlations over λ, each a value a seed: τ-b, Spearman's, Pearson's.

    tau, spearman, pearson  of λ, which is larger the sparser attention is, with the number
    support_…               of the measured share of items in the support with the number: larger
                            the denser, so that a number which goes with it falls with sparsity.
                            None where that was not measured
    lams                    how many values of λ, at most
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
class _Points:
    """Of one seed."""

    lams: list[float]
    values: list[float]
    supports: list[float]
    cells: list[str]


def along(results: PaperResults, table: str, row: str, column: str) -> list[Along]:
    """A number against λ, for every corpus and encoder whose sweep has `LEAST` values or more.

    The paper does not say over what it correlates: here over λ and the mean of documents at each,
    seed by seed. Sparsemax is λ = 0; softmax is not of the family, and has no part. What is the
    same at every λ has no correlation, and is left out.
    """
    seeds = dict(zip(results.cells["cell"], results.cells["seed"], strict=True))
    points: dict[tuple[str, str], dict[int, _Points]] = defaultdict(dict)
    for model in models(results, FAMILY):
        number = model.find(results, table, row, column)
        if number is None:
            continue
        support = model.find(results, *SUPPORT)
        shares = {} if support is None else dict(zip(support.cells, support.values, strict=True))
        by_seed = points[model.corpus, model.encoder]
        for cell, value in zip(number.cells, number.values, strict=True):
            one = by_seed.setdefault(seeds[cell], _Points([], [], [], []))
            one.lams.append(model.lam)
            one.values.append(value)
            one.supports.append(shares.get(cell, float("nan")))
            one.cells.append(cell)
    sweeps = []
    for (corpus, encoder), seed_points in points.items():
        enough = [one for _, one in sorted(seed_points.items()) if len(one.lams) >= LEAST]
        if enough:
            sweeps.append(_along(corpus, encoder, enough))
    return [sweep for sweep in sweeps if not math.isnan(sweep.tau.value)]


def _along(corpus: str, encoder: str, seeds: list[_Points]) -> Along:
    cells = [cell for one in seeds for cell in one.cells]
    by_lam = [correlations(one.lams, one.values) for one in seeds]
    by_support = [correlations(one.supports, one.values) for one in seeds]

    def number(values: list[float]) -> SeedMean:
        return SeedMean.of(values, cells)

    has_support = any(correlated.n >= LEAST for correlated in by_support)
    return Along(
        corpus,
        encoder,
        max(len(one.lams) for one in seeds),
        number([one.tau for one in by_lam]),
        number([one.spearman for one in by_lam]),
        number([one.pearson for one in by_lam]),
        number([one.tau for one in by_support]) if has_support else None,
        number([one.spearman for one in by_support]) if has_support else None,
        number([one.pearson for one in by_support]) if has_support else None,
    )

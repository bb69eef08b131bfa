"""Intervals, means over seeds, and tests.

NaN marks a missing result: every function leaves it out and counts it.
"""

from verax.statistics.bootstrap import Bootstrapped, BootstrappedSeeds, bootstrap, bootstrap_seeds
from verax.statistics.intervals import (
    LEVEL,
    Interval,
    clopper_pearson,
    mean,
    mean_share,
    proportion,
    quantile,
    within_one,
)
from verax.statistics.ratios import RatioEstimate, average, f1, ratio, share
from verax.statistics.seeds import Description, SeedMean, describe, over_seeds, seed_means
from verax.statistics.separation import auroc
from verax.statistics.significance import (
    TESTS,
    Correlations,
    Paired,
    Welch,
    correlations,
    holm,
    paired,
    welch,
)

__all__ = [
    "LEVEL",
    "TESTS",
    "Bootstrapped",
    "BootstrappedSeeds",
    "Correlations",
    "Description",
    "Interval",
    "Paired",
    "RatioEstimate",
    "SeedMean",
    "Welch",
    "auroc",
    "average",
    "bootstrap",
    "bootstrap_seeds",
    "clopper_pearson",
    "correlations",
    "describe",
    "f1",
    "holm",
    "mean",
    "mean_share",
    "over_seeds",
    "paired",
    "proportion",
    "quantile",
    "ratio",
    "seed_means",
    "share",
    "welch",
    "within_one",
]

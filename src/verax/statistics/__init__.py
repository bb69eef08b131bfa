"""Intervals, means over seeds, and tests.

NaN is a missing result: it is left out of a number and counted beside it.
"""

from verax.statistics.bootstrap import Bootstrapped, BootstrappedSeeds, bootstrap, bootstrap_seeds
from verax.statistics.correlation import Correlations, correlations
from verax.statistics.independent import Independent, independent
from verax.statistics.intervals import (
    LEVEL,
    Interval,
    mean,
    mean_share,
    proportion,
    quantile,
    within_one,
)
from verax.statistics.multiple import holm
from verax.statistics.paired import TESTS, Paired, paired
from verax.statistics.ratios import RatioEstimate, average, f1, ratio, share
from verax.statistics.seeds import Description, describe, over_seeds, seed_means

__all__ = [
    "LEVEL",
    "TESTS",
    "Bootstrapped",
    "BootstrappedSeeds",
    "Correlations",
    "Description",
    "Independent",
    "Interval",
    "Paired",
    "RatioEstimate",
    "average",
    "bootstrap",
    "bootstrap_seeds",
    "correlations",
    "describe",
    "f1",
    "holm",
    "independent",
    "mean",
    "mean_share",
    "over_seeds",
    "paired",
    "proportion",
    "quantile",
    "ratio",
    "seed_means",
    "share",
    "within_one",
]

"""From results to what may be said of them: intervals, means over seeds, tests.

A NaN is a result that is not there: it is left out of a number and counted beside it.
"""

from verax.statistics.bootstrap import Bootstrapped, BootstrappedSeeds, bootstrap, bootstrap_seeds
from verax.statistics.correlation import Correlations, correlations
from verax.statistics.intervals import LEVEL, Interval, mean, proportion, quantile
from verax.statistics.multiple import holm
from verax.statistics.paired import TESTS, Paired, paired
from verax.statistics.seeds import Description, describe, over_seeds, seed_means

__all__ = [
    "LEVEL",
    "TESTS",
    "Bootstrapped",
    "BootstrappedSeeds",
    "Correlations",
    "Description",
    "Interval",
    "Paired",
    "bootstrap",
    "bootstrap_seeds",
    "correlations",
    "describe",
    "holm",
    "mean",
    "over_seeds",
    "paired",
    "proportion",
    "quantile",
    "seed_means",
]

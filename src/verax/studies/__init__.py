"""Many models, one question: sweeps, comparisons, adversaries, over seeds and documents."""

from verax.studies.adversaries import (
    Adversaries,
    load_adversaries,
    run_adversaries,
    seed_variance,
)
from verax.studies.comparison import Comparison, compare
from verax.studies.sweep import LAMS, Sweep, run_sweep, sweep_of

__all__ = [
    "LAMS",
    "Adversaries",
    "Comparison",
    "Sweep",
    "compare",
    "load_adversaries",
    "run_adversaries",
    "run_sweep",
    "seed_variance",
    "sweep_of",
]

"""Many models, one question: sweeps of a setting, and comparisons, over seeds and documents."""

from verax.studies.comparison import Comparison, compare
from verax.studies.sweep import LAMS, Sweep, run_sweep, sweep_of

__all__ = ["LAMS", "Comparison", "Sweep", "compare", "run_sweep", "sweep_of"]

"""Many models, one question: sweeps of a setting, with statistics over seeds and documents."""

from verax.studies.sweep import LAMS, Sweep, run_sweep, sweep_of

__all__ = ["LAMS", "Sweep", "run_sweep", "sweep_of"]

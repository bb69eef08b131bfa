"""Adversaries of a model, and what they are to be read by (Wiegreffe & Pinter 2019)."""

from verax.studies.adversaries.adversaries import Adversaries, load_adversaries
from verax.studies.adversaries.run import LAMS, run_adversaries
from verax.studies.adversaries.scores import Chosen
from verax.studies.adversaries.variance import seed_variance

__all__ = [
    "LAMS",
    "Adversaries",
    "Chosen",
    "load_adversaries",
    "run_adversaries",
    "seed_variance",
]

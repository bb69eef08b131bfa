"""Objective, loop, early stopping, metrics; adversaries, and models guided by another."""

from verax.models.divergence_between import divergences
from verax.training.adversary import train_adversary
from verax.training.guided import train_guided
from verax.training.metrics import evaluate
from verax.training.options import TrainingOptions
from verax.training.training import train

__all__ = [
    "TrainingOptions",
    "divergences",
    "evaluate",
    "train",
    "train_adversary",
    "train_guided",
]

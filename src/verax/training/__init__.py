"""Objective, loop, early stopping, metrics; adversaries, and models guided by another."""

from verax.training.adversary import divergences, train_adversary
from verax.training.loop import evaluate
from verax.training.options import TrainingOptions
from verax.training.train import train, train_guided

__all__ = [
    "TrainingOptions",
    "divergences",
    "evaluate",
    "train",
    "train_adversary",
    "train_guided",
]

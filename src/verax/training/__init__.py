"""Objective, loop, early stopping, metrics."""

from verax.training.metrics import evaluate
from verax.training.options import TrainingOptions
from verax.training.training import train

__all__ = ["TrainingOptions", "evaluate", "train"]

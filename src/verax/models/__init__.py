"""The classifier's slots: embedding, encoders, alignment, projections, grounding, head."""

from verax.models.classifier import AttentionClassifier
from verax.models.guided import GuidedClassifier
from verax.models.head import Head, decisions, probabilities
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.options import ModelOptions
from verax.models.pooled import PooledClassifier
from verax.models.saving import load, make_classifier
from verax.models.trace import Trace

__all__ = [
    "AttentionClassifier",
    "GuidedClassifier",
    "Head",
    "HierarchicalClassifier",
    "ModelOptions",
    "PooledClassifier",
    "Trace",
    "decisions",
    "load",
    "make_classifier",
    "probabilities",
]

"""The classifier's slots: embedding, encoders, alignment, projections, grounding, head."""

from verax.models.classifier import AttentionClassifier
from verax.models.counterfactual import logits_under
from verax.models.encoders import ENCODERS, Encoder, register_encoder
from verax.models.guided import GuidedClassifier
from verax.models.hierarchical import HierarchicalClassifier
from verax.models.layers import HashedDropout, Head, decisions, probabilities
from verax.models.options import ModelOptions
from verax.models.pooled import PooledClassifier
from verax.models.projections import PROJECTIONS, register_projection
from verax.models.saving import load, make_classifier
from verax.models.trace import Trace

__all__ = [
    "ENCODERS",
    "PROJECTIONS",
    "AttentionClassifier",
    "Encoder",
    "GuidedClassifier",
    "HashedDropout",
    "Head",
    "HierarchicalClassifier",
    "ModelOptions",
    "PooledClassifier",
    "Trace",
    "decisions",
    "load",
    "logits_under",
    "make_classifier",
    "probabilities",
    "register_encoder",
    "register_projection",
]

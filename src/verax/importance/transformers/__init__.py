"""Importances for Transformers: derived from attention in layers and heads, and controls.

Each is a function of (model, trace) that gives (batch, words). r is the readout: the positions of
the last states that the classifier reads. A_l is the attention of layer l, heads averaged unless
one is named. Pieces of a word are summed, or the largest is taken where scores are norms.
"""

# In the order in which help lists them.
# isort: off
from verax.importance.transformers.attention import (
    attention,
    attention_mean,
    attention_norm,
    rollout,
)
from verax.importance.transformers.attention_gradients import attention_gradient, chefer
from verax.importance.transformers.gradients import gradient, gradient_input
from verax.importance.transformers.integrated import convergence_delta, integrated_gradients
from verax.importance.transformers.leaving_out import leave_one_out, logits_without_each
from verax.importance.transformers.rows import layer_head_rows, special_share
# isort: on

DERIVED = (
    *("attention", "attention-mean", "rollout"),
    *("attention-norm", "attention-gradient", "chefer"),
)
"""Names of the scores that are derived from attention."""

__all__ = [
    "DERIVED",
    "attention",
    "attention_gradient",
    "attention_mean",
    "attention_norm",
    "chefer",
    "convergence_delta",
    "gradient",
    "gradient_input",
    "integrated_gradients",
    "layer_head_rows",
    "leave_one_out",
    "logits_without_each",
    "rollout",
    "special_share",
]

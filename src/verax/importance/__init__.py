"""What could explain a decision: a score for every word, or for every attended item.

An importance is a function of (model, batch), or (model, trace) where there is one already. `on`
says where the scores are: "inputs" gives (batch, tokens), zero at SOS, EOS and PAD; "items" gives
(batch, items), zero where there is none. They are about the class decided for, the higher the more
important, and take no side unless `signed` is asked for. The model is left as it was: mode,
parameters and their `.grad`.
"""

# In the order in which help lists them.
# isort: off
from verax.importance.registry import (
    IMPORTANCES,
    Importance,
    find_importance,
    known_names,
    names_of,
    register_importance,
    score,
)
from verax.importance.weights import (
    attention,
    attention_gradient,
    attention_product,
    weight_gradient,
)
from verax.importance.gradients import gradient, gradients, integrated_gradients
from verax.importance.deletion import leave_one_out, logits_without_words
from verax.importance.deletion.several import logits_without_sets
from verax.importance.chance import random, random_draws
from verax.importance.transformers import (
    DERIVED,
    convergence_delta,
    layer_head_rows,
    special_share,
)
from verax.importance.explanation import explain
from verax.importance.jacobian import Influence, influence, influences
# isort: on

__all__ = [
    "DERIVED",
    "IMPORTANCES",
    "Importance",
    "Influence",
    "attention",
    "attention_gradient",
    "attention_product",
    "convergence_delta",
    "explain",
    "find_importance",
    "gradient",
    "gradients",
    "influence",
    "influences",
    "integrated_gradients",
    "known_names",
    "layer_head_rows",
    "leave_one_out",
    "logits_without_sets",
    "logits_without_words",
    "names_of",
    "random",
    "random_draws",
    "register_importance",
    "score",
    "special_share",
    "weight_gradient",
]

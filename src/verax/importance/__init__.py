"""What could explain a decision: a score for every attended item.

An importance is a function of (model, trace) that gives (batch, items) scores, the higher the more
important, with their signs; what it says where `trace.mask` is False is not looked at.
"""

from verax.importance.items import (
    IMPORTANCES,
    Importance,
    attention,
    gradient,
    product,
    random,
    random_draws,
    weight_gradient,
)

__all__ = [
    "IMPORTANCES",
    "Importance",
    "attention",
    "gradient",
    "product",
    "random",
    "random_draws",
    "weight_gradient",
]

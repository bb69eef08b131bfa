"""Importance by chance: what any other has to be better than."""

from __future__ import annotations

from torch import Tensor

from verax.importance.registry import register_importance
from verax.importance.tracing import BatchOrTrace, check_level, traced
from verax.models.kinds import PREDICT, TRANSFORMER
from verax.models.layers import HashedDropout
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace

_PLACE, _WORDS = 1 << 20, 1 << 21


# the last decorator registers first
@register_importance(
    "random",
    "chance",
    levels=("inputs",),
    takes=("seed",),
    kinds=(TRANSFORMER, PREDICT),
    on="inputs",
)
@register_importance("random", "chance", takes=("seed",))
def random(
    model: PooledClassifier, source: BatchOrTrace, on: str = "items", *, seed: int = 0
) -> Tensor:
    """Scores by chance; a document's depend on the seed and on nothing else in its batch."""
    check_level(on)
    trace = traced(model, source)
    if on == "items":
        return random_draws(trace, seed, 1)[0].masked_fill(~trace.mask, 0.0)
    words = trace.batch.words
    noise = HashedDropout.of(trace.batch.row_index, words.shape[1], seed, 0)
    return noise.uniform(_WORDS).masked_fill(~words, 0.0)


def random_draws(trace: Trace, seed: int, draws: int) -> Tensor:
    """(draws, batch, items): several random scores at once, `random` on items being the first."""
    noise = HashedDropout.of(trace.batch.row_index, trace.mask.shape[1], seed, 0)
    return noise.uniforms(range(_PLACE, _PLACE + draws))

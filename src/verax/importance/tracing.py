"""What every importance starts from: a frozen model, and a trace of a forward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
from torch import nn

from verax.corpora.batch import Batch
from verax.device import full_precision
from verax.errors import VeraxError, nearest
from verax.models.base import WordTrace
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace

BatchOrTrace = Batch | Trace
"""What is explained: a batch, or its trace, which saves a forward pass."""

LEVELS = ("inputs", "items")
T = TypeVar("T")


def traced(model: PooledClassifier, source: BatchOrTrace) -> Trace:
    """The trace of `source`: itself, or that of a forward pass over a batch."""
    if not isinstance(source, Batch):  # a trace, also of a model that Verax did not train
        return source
    with frozen_for_gradients(model), torch.no_grad():
        return model(source)


def check_level(on: str) -> None:
    if on not in LEVELS:
        raise VeraxError(f"on is {on!r}: {nearest(on, LEVELS)}", code="option.unknown-value")


@contextmanager
def frozen_for_gradients(model: nn.Module) -> Iterator[None]:
    """The model as it predicts, ready to be differentiated; afterwards as it was.

    Nothing is dropped, no number is cut to TF32, and no parameter asks for a gradient: a quarter of
    a backward pass would go into gradients of weights that nobody reads. Recurrent modules are put
    in training mode, without which a GPU cannot go back through them, unless they drop anything.
    """
    modes = [(module, module.training) for module in model.modules()]
    wanted = [p for p in model.parameters() if p.requires_grad]
    try:
        for module, _ in modes:
            module.training = isinstance(module, nn.RNNBase) and not module.dropout
        for parameter in wanted:
            parameter.requires_grad_(False)
        with full_precision():
            yield
    finally:
        for module, mode in modes:
            module.training = mode
        for parameter in wanted:
            parameter.requires_grad_(True)


def once(trace: Trace | WordTrace, key: tuple[Any, ...], work: Callable[[], T]) -> T:
    """What `work` gives, worked out once for a trace: several exams may ask for the same."""
    if key not in trace.cache:
        trace.cache[key] = work()
    return trace.cache[key]

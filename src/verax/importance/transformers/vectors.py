"""The vectors that a Transformer reads instead of pieces: to differentiate by, or to replace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from verax.errors import VeraxError
from verax.external.pieces import PieceBatch
from verax.external.transformer import TransformerClassifier
from verax.importance.transformers.positions import Positions


def read_vectors(
    model: TransformerClassifier,
    pieces: PieceBatch,
    positions: Positions,
    vectors: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Logits of a batch, and the vectors that were read, (batch, positions, size).

    Args:
        model: a Transformer.
        pieces: the batch.
        positions: its positions.
        vectors: what to read; the model's own vectors of the pieces, unless given.

    Vectors are taken at the module that looks pieces up, not by `inputs_embeds`, which some
    architectures refuse: what follows, such as position vectors, is added as ever.
    """
    given = None if vectors is None else list(vectors.split(positions.widths, dim=1))
    with _looked_up(model, given) as seen:
        logits = model.run(pieces).logits
    if [part.shape[1] for part in seen] != list(positions.widths):
        raise VeraxError(
            f"the vectors of pieces could not be found in {type(model.module).__name__}: choose an "
            "importance without gradients, such as leave-one-out"
        )
    return logits, vectors if vectors is not None else torch.cat(seen, dim=1)


@contextmanager
def _looked_up(model: TransformerClassifier, given: list[Tensor] | None) -> Iterator[list[Tensor]]:
    """What a model looks up, call by call; where given, that is read instead."""
    seen: list[Tensor] = []

    def replace(module: nn.Module, inputs: Any, output: Tensor) -> Tensor:
        seen.append(output)
        return output if given is None or len(seen) > len(given) else given[len(seen) - 1]

    handles = [module.register_forward_hook(replace) for module in _tables(model)]
    try:
        yield seen
    finally:
        for handle in handles:
            handle.remove()


def _tables(model: TransformerClassifier) -> list[nn.Module]:
    """The modules that look pieces up: encoder and decoder may have one each, of one matrix."""
    table = model.module.get_input_embeddings()
    same = getattr(table, "weight", None)
    every = model.module.modules()
    return [m for m in every if m is table or (same is not None and _shares(m, same))]


def _shares(module: nn.Module, weight: Tensor) -> bool:
    mine = getattr(module, "weight", None)
    return (
        isinstance(module, nn.Embedding)
        and isinstance(mine, Tensor)
        and mine.data_ptr() == weight.data_ptr()
    )

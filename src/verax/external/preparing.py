"""A model as it predicts, for the time of a pass; afterwards exactly as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn

from verax.errors import VeraxError
from verax.external.attention.interface import NAME, implemented
from verax.external.pieces import PieceBatch

PLAIN = (None, "eager", "sdpa", NAME)
"""Implementations of attention that run anywhere; others are kernels of some GPUs."""


@contextmanager
def prepared(module: Any, head: nn.Module | None = None) -> Iterator[None]:
    """Within this, nothing is dropped, recomputed or left to special kernels.

    No parameter asks for a gradient: gradients are those of what was read.
    """
    modules = [module, *([head] if head is not None else [])]
    modes = [(part, part.training) for one in modules for part in one.modules()]
    wanted = [p for one in modules for p in one.parameters() if p.requires_grad]
    own = getattr(getattr(module, "config", None), "_attn_implementation", None)
    plain: AbstractContextManager[None]
    plain = nullcontext() if own in PLAIN else implemented(module, "eager")
    try:
        for part, _ in modes:
            part.training = False
        for parameter in wanted:
            parameter.requires_grad_(False)
        with plain:
            yield
    finally:
        for parameter in wanted:
            parameter.requires_grad_(True)
        for part, mode in modes:
            part.training = mode


def padding_id(module: Any, tokenizer: Any) -> int:
    """The piece to pad with: the model's own, else the tokenizer's, else its end of text."""
    own = _own_padding(module)
    ids = [own, getattr(tokenizer, "pad_token_id", None), getattr(tokenizer, "eos_token_id", None)]
    return next((int(piece) for piece in ids if piece is not None), 0)


@contextmanager
def padding_known(module: Any, pieces: PieceBatch, pad: int) -> Iterator[Tensor]:
    """The input ids of a batch whose padding the model knows as such.

    A model without a padding piece reads the last position of a lone text, whatever piece is
    there. So its batches are padded with a piece that none of their texts has, and for the time of
    the pass the configuration names it.
    """
    if _own_padding(module) is not None:
        yield pieces.input_ids
        return
    input_ids, config = pieces.input_ids, module.config.get_text_config()
    if bool((input_ids == pad)[pieces.mask].any()):
        is_used = torch.zeros(len(pieces.input_ids.unique()) + 1, dtype=torch.bool)
        is_used[input_ids[input_ids < len(is_used)].cpu()] = True
        other = int((~is_used).nonzero()[0])
        input_ids, pad = input_ids.masked_fill((input_ids == pad) & ~pieces.mask, other), other
    own = config.pad_token_id
    try:
        config.pad_token_id = pad
        yield input_ids
    finally:
        config.pad_token_id = own


def _own_padding(module: Any) -> int | None:
    """The padding piece that a model's configuration names; None where it names none."""
    config = module.config.get_text_config()
    pad = getattr(config, "pad_token_id", None)
    return pad if pad is not None and 0 <= pad < getattr(config, "vocab_size", pad + 1) else None


@contextmanager
def embedding(module: Any, input_ids: Tensor, embedded: Tensor | None) -> Iterator[None]:
    """Within this, a model reads given vectors in place of those of its pieces.

    The model gets the pieces, too: those with a last-position readout look for padding in them.
    The decoder of a pair reads the pieces one position later.
    """
    if embedded is None:
        yield
        return
    weight = module.get_input_embeddings().weight
    calls = 0

    def give(part: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        nonlocal calls
        ids = inputs[0]
        if ids.shape != input_ids.shape:
            return None
        calls += 1
        if torch.equal(ids, input_ids):
            return embedded.to(output.dtype)
        if torch.equal(ids[:, 1:], input_ids[:, :-1]):
            return torch.cat([output[:, :1], embedded[:, :-1].to(output.dtype)], 1)
        calls -= 1
        return None

    parts = [part for part in module.modules() if getattr(part, "weight", None) is weight]
    handles = [p.register_forward_hook(give) for p in parts if isinstance(p, nn.Embedding)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
    if not calls:
        raise VeraxError(
            f"{type(module).__name__} does not look its pieces up in its embeddings: gradients of "
            "what it reads cannot be had",
            code="importance.not-applicable",
        )

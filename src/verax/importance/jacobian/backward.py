"""Influence through any encoder: a backward pass a target, as many targets at once as fit."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.importance.budget import copies_within, repeated
from verax.importance.jacobian.targets import Piece, Targets
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace


def pieces(
    model: PooledClassifier, trace: Trace, targets: Targets, kind: str, max_tokens: int
) -> Iterator[Piece]:
    """See `Piece`. The batch is read once, in as many copies as the budget holds."""
    rows = torch.arange(len(trace), device=trace.tokens.device)
    wanted = targets.mask.any(0).nonzero().squeeze(-1)
    size = trace.items.shape[-1]
    copies = copies_within(trace.batch, max_tokens)
    copies = max(1, min(copies, len(wanted) if kind == "norm" else size))
    with torch.enable_grad():
        embedded = trace.embedded.detach().repeat(copies, 1, 1).requires_grad_()
        _, items = model.encode_states(repeated(trace.batch, copies), embedded)
        if not items.requires_grad:
            yield Piece(rows, wanted, _nothing(trace, wanted))
            return
        outputs = torch.linalg.vector_norm(items, dim=-1) if kind == "norm" else items
    if kind == "norm":
        for block in wanted.split(copies):
            places = targets.items[:, block].T
            chosen = outputs.new_zeros(copies, len(trace), outputs.shape[1])
            chosen[: len(block)].scatter_(-1, places.unsqueeze(-1), 1.0)
            norms = _back(outputs, embedded, chosen, copies)[: len(block)]
            yield Piece(rows, block, norms.transpose(0, 1))
        return
    for target in wanted:
        places = targets.items[:, target]
        total = embedded.new_zeros(trace.tokens.shape)
        for dimensions in torch.arange(size, device=rows.device).split(copies):
            chosen = outputs.new_zeros(copies, len(trace), *outputs.shape[1:])
            for copy, dimension in enumerate(dimensions.tolist()):
                chosen[copy, rows, places, dimension] = 1.0
            norms = _back(outputs, embedded, chosen, copies)[: len(dimensions)]
            total += norms.square().sum(0)
        yield Piece(rows, target.unsqueeze(0), total.sqrt().unsqueeze(1))


def _back(outputs: Tensor, embedded: Tensor, chosen: Tensor, copies: int) -> Tensor:
    """‖gradients‖ of what is chosen, (copies, batch, tokens)."""
    (norms,) = torch.autograd.grad(
        outputs, embedded, chosen.flatten(0, 1), retain_graph=True, allow_unused=False
    )
    return torch.linalg.vector_norm(norms, dim=-1).unflatten(0, (copies, -1))


def _nothing(trace: Trace, wanted: Tensor) -> Tensor:
    return trace.items.new_zeros(len(trace), len(wanted), trace.tokens.shape[1])

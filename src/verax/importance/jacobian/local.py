"""Influence where a state sees no further than its neighbours: convolution, mlp, no encoder."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.budget import rows_within
from verax.importance.jacobian.targets import Piece, Targets, at
from verax.models.encoders import Convolution, Identity, Pointwise
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace

_REACH = 2
_TOKENS_PER_ROW = 4


def fits(model: PooledClassifier) -> bool:
    kinds = (Convolution, Identity, Pointwise)
    return any(model.encoder.computes_as(kind) for kind in kinds)


def pieces(
    model: PooledClassifier, trace: Trace, targets: Targets, kind: str, max_tokens: int
) -> Iterator[Piece]:
    """See `Piece`.

    h_p is a ReLU of taps of x_{p−2} … x_{p+2}, each a matrix, or a tanh of one: no walk is needed.
    """
    width = trace.tokens.shape[1]
    most = rows_within(max_tokens, _TOKENS_PER_ROW, width)
    count = targets.items.shape[1]
    for rows in torch.arange(len(trace), device=trace.tokens.device).split(max(1, most // count)):
        for block in torch.arange(count, device=rows.device).split(most):
            places = targets.items[rows][:, block]
            states = at(trace.states[rows], places)
            near = (_norms if kind == "norm" else _frobenius)(
                model, states, at(trace.embedded[rows], places)
            )
            # as wide as the reach on either side, then cut to the text
            matrix = states.new_zeros(*places.shape, width + 2 * _REACH)
            reach = (near.shape[-1] - 1) // 2
            columns = torch.arange(-reach, reach + 1, device=rows.device) + _REACH
            matrix.scatter_(-1, places.unsqueeze(-1) + columns, near)
            matrix = matrix[..., _REACH : _REACH + width]
            yield Piece(rows, block, matrix * trace.token_mask[rows].unsqueeze(1))


def _taps(model: PooledClassifier, like: Tensor) -> Tensor:
    """(offsets, size, embedding): ∂(before ReLU or tanh)/∂x_{p+o}, narrow filters first."""
    encoder = model.encoder
    if isinstance(encoder, Convolution):
        narrow = encoder.narrow.weight.permute(2, 0, 1)
        wide = encoder.wide.weight.permute(2, 0, 1)
        none = torch.zeros_like(narrow[:1])
        return torch.cat([torch.cat([none, narrow, none]), wide], dim=1)
    if isinstance(encoder, Pointwise):
        return encoder.linear.weight[None]
    return torch.eye(encoder.output_size, device=like.device, dtype=like.dtype)[None]


def _moving(model: PooledClassifier, states: Tensor, embedded: Tensor) -> Tensor:
    """(…, size): slope of a ReLU, 0 below its corner and else 1, or of a tanh, 1 − tanh²."""
    size = model.encoder.output_size
    if isinstance(model.encoder, Identity):
        return torch.ones_like(states[..., :size])
    encoded = states - embedded if model.grounding == "residual" else states[..., :size]
    if isinstance(model.encoder, Pointwise):
        return 1 - encoded.square()
    return (encoded > 0).to(states)


def _norms(model: PooledClassifier, states: Tensor, embedded: Tensor) -> Tensor:
    """‖∂‖h_p‖/∂x_{p+o}‖, (…, offsets)."""
    size = model.encoder.output_size
    units = states / torch.linalg.vector_norm(states, dim=-1, keepdim=True).clamp(min=1e-30)
    taps = _taps(model, states)
    moved = units[..., :size] * _moving(model, states, embedded)
    vectors = torch.einsum("...s,ose->...oe", moved, taps)
    grounding = model.grounding
    if grounding in ("concat", "residual"):
        vectors[..., len(taps) // 2, :] += units[..., size:] if grounding == "concat" else units
    return torch.linalg.vector_norm(vectors, dim=-1)


def _frobenius(model: PooledClassifier, states: Tensor, embedded: Tensor) -> Tensor:
    """‖∂h_p/∂x_{p+o}‖_F, (…, offsets)."""
    taps = _taps(model, states)
    moving, middle = _moving(model, states, embedded), len(taps) // 2
    squares = moving.square() @ taps.square().sum(-1).T
    if model.grounding == "concat":
        squares[..., middle] += embedded.shape[-1]
    elif model.grounding == "residual":  # ‖J + 1‖² = ‖J‖² + 2 tr J + size
        squares[..., middle] += 2 * (moving @ taps[middle].diagonal()) + embedded.shape[-1]
    return squares.clamp(min=0).sqrt()

"""Norms of what a layer's attention moves: weights and values together (Kobayashi et al. 2020)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from verax.importance.transformers.positions import Positions
from verax.models.transformers.hooks import AttentionCall


class OutputProjection:
    """Finds W_O of a layer: the first matrix that is applied to what its heads have mixed.

    No name is needed for that: the module is known by its input. Its matrix is what it makes of the
    unit vectors, less what it makes of zero, so that any affine module will do.

    Args:
        module: the model.
    """

    def __init__(self, module: nn.Module) -> None:
        self._module = module
        self._mixed: Tensor | None = None
        self.matrix: Tensor | None = None
        """(heads · size, width), or None where it was not found"""

    def expect(self, call: AttentionCall) -> None:
        """From now on look for the module that takes what this attention gives."""
        if call.values is not None:
            mixed = call.weights.to(call.values.dtype) @ call.values
            self._mixed = mixed.transpose(1, 2).flatten(2)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Within this, modules of the model show what they take."""
        matrices = [part for part in self._module.modules() if _is_matrix(part)]
        handles = [part.register_forward_pre_hook(self._see) for part in matrices]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _see(self, module: nn.Module, inputs: tuple[Any, ...]) -> None:
        mixed = self._mixed
        if mixed is None or len(inputs) != 1 or not isinstance(inputs[0], Tensor):
            return
        if inputs[0].numel() != mixed.numel() or inputs[0].shape[-1] != mixed.shape[-1]:
            return
        rounding = 64 * torch.finfo(mixed.dtype).eps
        least = rounding * float(mixed.abs().amax())
        if not torch.allclose(inputs[0].view_as(mixed), mixed, rtol=rounding, atol=least):
            return
        self._mixed = None  # which also ends the calls of this hook made here
        units = torch.eye(mixed.shape[-1], dtype=mixed.dtype, device=mixed.device)
        self.matrix = module(units) - module(torch.zeros_like(units[:1]))


def _is_matrix(module: nn.Module) -> bool:
    weight = getattr(module, "weight", None)
    return isinstance(weight, Tensor) and weight.dim() == 2 and not isinstance(module, nn.Embedding)


def norms(call: AttentionCall, projection: Tensor | None, positions: Positions) -> Tensor | None:
    """(batch, positions): Σ_i r_i ‖Σ_h α_hij W_O^h v_hj‖₂ of one layer; None without projection.

    ‖Σ_h α_h u_h‖² = Σ_hg α_h α_g u_h·u_g with u_hj = W_O^h v_hj: the products of heads are taken
    once for each position attended, and no vector is formed for a pair of positions. Only rows that
    are read are looked at. float64.
    """
    if projection is None or call.values is None:
        return None
    read, weights = positions.read(call), call.weights
    if bool(((read > 0).sum(-1) == 1).all()):
        place = read.argmax(-1).view(-1, 1, 1, 1).expand(-1, weights.shape[1], 1, weights.shape[3])
        weights, read = weights.gather(2, place), torch.ones_like(read[:, :1])
    products = _products_of_heads(call.values.double(), projection.double())
    weights = weights.double()
    squares = weights.new_zeros(len(weights), *weights.shape[2:])
    for head in range(weights.shape[1]):
        beside = torch.einsum("bgqk,bkg->bqk", weights, products[:, :, head])
        squares += weights[:, head] * beside
    scores = weights.new_zeros(len(weights), positions.count)
    lengths = squares.clamp(min=0).sqrt()
    scores[:, positions.place(call.keys)] = (read.double().unsqueeze(1) @ lengths).squeeze(1)
    return scores


def _products_of_heads(values: Tensor, projection: Tensor) -> Tensor:
    """(batch, keys, heads, heads): u_hj · u_gj for u_hj = W_O^h v_hj.

    values      (batch, heads, keys, size)
    projection  (heads · size, width)
    """
    batch, heads, keys, size = values.shape
    gram = (projection @ projection.T).view(heads, size, heads * size)
    values = values.transpose(1, 2)
    products = values.new_zeros(batch, keys, heads, heads)
    for head in range(heads):
        through = (values[:, :, head] @ gram[head]).view(batch, keys, heads, size)
        products[:, :, head] = (through * values).sum(-1)
    return products

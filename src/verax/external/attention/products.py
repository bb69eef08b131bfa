"""Attention found by what it is: a softmax whose rows then weigh values in a product."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.external.attention.interface import allowed_keys, streams
from verax.external.attention.running import RunningModules
from verax.external.attention.site import Handler, Site

MASKED = 5_000.0
"""A score that lies so far under its row's largest is masked: its weight is exactly zero."""


@dataclass(eq=False)
class _Softmax:
    """The latest softmax, and what was made of it: dropped out, cast, reshaped.

    allowed  of its shape: which scores were not masked
    kept     tensors that hold its weights
    """

    allowed: Tensor
    kept: list[Tensor]


class ProductWatcher:
    """Shows a handler the weights of every attention, and lets it replace them.

    A softmax is attention where it is over the last dimension, as many queries ask as keys are
    attended, and its rows are then multiplied by values. Routers of experts, pooled answers and
    probabilities of classes are none.

    Args:
        handler: sees the weights, and may return others.
        running: tells the module that is running.
        is_pair: whether the model is an encoder–decoder.
    """

    def __init__(self, handler: Handler, running: RunningModules, is_pair: bool) -> None:
        self.handler, self.running, self.is_pair = handler, running, is_pair
        self.calls = 0
        self.latest: _Softmax | None = None

    def after_softmax(self, scores: Tensor, weights: Tensor, dim: int) -> None:
        """Remember a softmax: a product may follow."""
        is_square = weights.dim() in (3, 4) and weights.shape[-1] == weights.shape[-2]
        if is_square and dim % weights.dim() == weights.dim() - 1:
            self.latest = _Softmax(unmasked(scores.detach()), [weights])

    def holds(self, values: Any) -> bool:
        """Whether a tensor holds the weights of the latest softmax."""
        latest = self.latest
        return latest is not None and any(values is one for one in latest.kept)

    def follow(self, inputs: Any, output: Any) -> None:
        """Remember what was made of the latest softmax, where it has its size still."""
        if self.latest is None or not isinstance(output, Tensor) or not isinstance(inputs, tuple):
            return
        weights = self.latest.kept[0]
        is_like = output.numel() == weights.numel() and output.shape[-2:] == weights.shape[-2:]
        if is_like and not self.holds(output) and any(self.holds(one) for one in inputs):
            self.latest.kept.append(output)

    def product(
        self, multiply: Callable[[Tensor], Tensor], weights: Tensor, values: Tensor | None
    ) -> Tensor:
        """What `multiply` makes of the weights that the handler leaves.

        multiply  weights → weights times values
        weights   hold the latest softmax
        values    (…, keys, size), or None where the product has another form
        """
        latest = self.latest
        assert latest is not None
        shape = self._shape(weights)
        if shape is None:
            return multiply(weights)
        self.latest = None
        if values is not None:
            values = values.reshape(*shape[:2], *values.shape[-2:])
        shown = weights.reshape(shape)
        other = self._shown(shown, latest.allowed.reshape(shape), values)
        return multiply(other.to(weights.dtype).reshape(weights.shape))

    def attention(
        self,
        own: Callable[..., Tensor],
        query: Tensor,
        key: Tensor,
        value: Tensor,
        attn_mask: Tensor | None = None,
        dropout_p: float = 0.0,
        is_causal: bool = False,
        *,
        scale: float | None = None,
        enable_gqa: bool = False,
    ) -> Tensor:
        """`scaled_dot_product_attention` in steps, so that its weights can be seen."""
        weighs = query.new_empty(0).expand(*query.shape[:-1], 0)
        shape = self._shape(weighs, key.shape[-2])
        if shape is None:
            options: dict[str, Any] = {"scale": scale, "enable_gqa": enable_gqa}
            return own(query, key, value, attn_mask, dropout_p, is_causal, **options)
        if enable_gqa:
            groups = query.shape[-3] // key.shape[-3]
            key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
        factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
        scores = query * factor @ key.transpose(-1, -2)
        allowed = torch.ones_like(scores, dtype=torch.bool)
        if is_causal:
            allowed = allowed.tril()
        if attn_mask is not None:
            allowed = allowed & allowed_keys(attn_mask, scores)
            if attn_mask.dtype != torch.bool:
                scores = scores + attn_mask
        if is_causal or attn_mask is None or attn_mask.dtype == torch.bool:
            scores = scores.masked_fill(~allowed, -torch.inf)
        weights = scores.softmax(-1, dtype=torch.float32 if scores.dtype.itemsize < 4 else None)
        weights = weights.nan_to_num(0.0).to(query.dtype)
        values = value.reshape(*shape[:2], *value.shape[-2:])
        other = self._shown(weights.reshape(shape), allowed.reshape(shape), values)
        return other.to(value.dtype).reshape(weights.shape) @ value

    def _shape(self, weights: Tensor, keys: int | None = None) -> tuple[int, ...] | None:
        """(batch, heads, queries, keys) of weights; None where they are no attention."""
        queries = weights.shape[-2]
        if queries != (weights.shape[-1] if keys is None else keys):
            return None
        if weights.dim() == 4:
            return (*weights.shape[:2], queries, queries)
        heads = self.running.heads
        if weights.dim() != 3 or heads is None or len(weights) % heads:
            return None
        return (len(weights) // heads, heads, queries, queries)

    def _shown(self, weights: Tensor, allowed: Tensor, values: Tensor | None) -> Tensor:
        name = self.running.name
        queries, keys = streams(name) if self.is_pair else ("encoder", "encoder")
        number, self.calls = self.calls, self.calls + 1
        other = self.handler(Site(number, weights, allowed, values, queries, keys, name))
        return weights if other is None else other


def unmasked(scores: Tensor) -> Tensor:
    """(…, keys) bool: which scores are not masked by something very small."""
    largest = scores.amax(-1, keepdim=True)
    return (scores > torch.finfo(scores.dtype).min / 2) & (scores > largest - MASKED)

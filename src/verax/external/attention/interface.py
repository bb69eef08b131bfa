"""The route through `AttentionInterface`: models that let their attention function be chosen."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from verax.external.attention.site import Handler, Site

NAME = "verax"
"""What the attention function is registered as."""


class InterfaceRoute:
    """Attention through a function registered with transformers.

    The function calls the model file's own eager attention, so that soft caps, sinks, position
    biases and grouped keys stay right, and then lets a handler see and replace the weights. A mask
    of the same name is registered, too: without it padding and the future would be attended.
    """

    name = "AttentionInterface"

    def __init__(self, model: Any) -> None:
        self.model = model
        self._names = {id(module): name for name, module in model.named_modules()}
        self._is_pair = bool(getattr(model.config, "is_encoder_decoder", False))

    @contextmanager
    def opened(self, handler: Handler) -> Iterator[None]:
        register()
        calls = 0

        def attend(module: nn.Module, site: Callable[..., Site]) -> Tensor | None:
            nonlocal calls
            name = self._names.get(id(module), "")
            queries, keys = streams(name) if self._is_pair else ("encoder", "encoder")
            calls, number = calls + 1, calls
            return handler(site(number, queries, keys, name))

        _ATTENDING.append(attend)
        try:
            with implemented(self.model, NAME):
                yield
        finally:
            _ATTENDING.pop()


_ATTENDING: list[Callable[[nn.Module, Callable[..., Site]], Tensor | None]] = []
"""What sees attention now, the innermost last."""


def register() -> None:
    """Make the attention function and its mask known to transformers, once."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask

    if NAME not in AttentionInterface._global_mapping:
        AttentionInterface.register(NAME, attention)
        AttentionMaskInterface.register(NAME, eager_mask)


def attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    """The model's own eager attention, with the weights that a handler gives in place of its."""
    output, weights = _eager(module)(module, query, key, value, attention_mask, **more)
    if not _ATTENDING:
        return output, weights
    groups = weights.shape[1] // value.shape[1]
    values = value.repeat_interleave(groups, 1) if groups > 1 else value

    def site(number: int, queries: str, keys: str, name: str) -> Site:
        allowed = allowed_keys(attention_mask, weights)
        return Site(number, weights, allowed, values, queries, keys, name)

    other = _ATTENDING[-1](module, site)
    if other is None or other is weights:
        return output, weights
    mixed = torch.matmul(other.to(values.dtype), values)
    return mixed.transpose(1, 2).contiguous(), other


def allowed_keys(mask: Tensor | None, weights: Tensor) -> Tensor:
    """Where a mask, boolean or added to scores, lets weights be; broadcasts to their shape."""
    if mask is None:
        return torch.ones_like(weights, dtype=torch.bool)
    mask = mask[..., : weights.shape[-1]]
    if mask.dtype == torch.bool:
        return mask
    return mask > torch.finfo(mask.dtype).min / 2


def streams(name: str) -> tuple[str, str]:
    """Which positions ask and which are attended, by the name of a module of an encoder–decoder."""
    lower = name.lower()
    if "encdec" in lower or "encoder_attn" in lower or "cross" in lower:
        return "decoder", "encoder"
    side = "decoder" if lower.startswith("decoder.") or ".decoder." in lower else "encoder"
    return side, side


def _eager(module: nn.Module) -> Callable[..., tuple[Tensor, Tensor]]:
    for kind in type(module).__mro__:
        function = getattr(sys.modules.get(kind.__module__), "eager_attention_forward", None)
        if function is not None:
            return function
    raise LookupError(type(module).__name__)


def dispatches(model: Any) -> bool:
    """Whether a model lets its attention function be chosen, as transformers tells."""
    asked = getattr(model, "_can_set_attn_implementation", None)
    return asked is not None and bool(asked())


@contextmanager
def implemented(model: Any, implementation: str) -> Iterator[None]:
    """Within this, a model and its parts attend by an implementation of transformers."""
    before = [(config, config._attn_implementation) for config in _configs(model)]
    try:
        for config, _ in before:
            config._attn_implementation_internal = implementation
        yield
    finally:
        for config, own in before:
            config._attn_implementation_internal = own


def _configs(model: Any) -> list[Any]:
    """The configurations of a model and of its parts, each once."""
    every = [module.config for module in model.modules() if hasattr(module, "config")]
    known = [config for config in every if hasattr(config, "_attn_implementation_internal")]
    return list({id(config): config for config in known}.values())

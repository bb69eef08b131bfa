"""Hooks that show the attention of a Transformer while it runs, and may replace its weights.

`InterfaceHook` registers an attention function with transformers; it works for the models that let
theirs be chosen. `FunctionHook` intercepts softmax and scaled dot products of torch, wherever they
are called. Neither is trusted before `verax.models.transformers.checks` has tried it on a model.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from verax.errors import VeraxError

INTERFACE = "verax"
"""The name that the attention function is registered under."""
SINK = 1e-3
"""The least share of a row that is missing where a sink takes it; less is rounding."""
HALF_SINK = 2e-2
"""The same in half precision."""
MASKED = 5_000.0
"""A score that lies so far under its row's largest is masked: its weight is exactly zero."""
_HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads", "nhead")


@dataclass(frozen=True, eq=False)
class AttentionCall:
    """Attention as it is computed, once in a layer and pass.

    number   of its layer: calls are counted from the beginning of the pass
    weights  (batch, heads, queries, keys): rows sum to one, or less where a sink takes the rest
    allowed  (batch, heads, queries, keys) bool, or a shape that broadcasts to it
    values   (batch, heads, keys, size): what the weights are applied to; None where not known
    queries  which positions ask: "encoder" or "decoder"
    keys     which positions are attended: "encoder" or "decoder"
    name     of the module that attends; empty where the hook does not know it

    The decoder of an encoder–decoder that classifies reads the same pieces one position later:
    its position i holds piece i − 1.
    """

    number: int
    weights: Tensor
    allowed: Tensor
    values: Tensor | None = None
    queries: str = "encoder"
    keys: str = "encoder"
    name: str = ""

    @property
    def sink(self) -> Tensor | None:
        """(batch, heads, queries, 1): the share that a sink takes of each row; None without sinks.

        An edit that keeps the sinks gives its rows the sum 1 − sink.
        """
        rest = 1 - self.weights.sum(-1, keepdim=True)
        asks = self.allowed.any(-1, keepdim=True).expand_as(rest)
        least = HALF_SINK if self.weights.dtype.itemsize < 4 else SINK
        return rest.where(asks, 0.0) if bool((rest > least)[asks].any()) else None


Handler = Callable[[AttentionCall], Tensor | None]
"""Sees the attention of each layer, and may return other weights to use instead."""


class AttentionHook(Protocol):
    """Access to the attention of a model.

    name  what it is called in results
    """

    name: str

    def installed(self, handler: Handler) -> AbstractContextManager[None]:
        """Within this, every pass of the model shows its attention to `handler`.

        Afterwards the model is exactly as it was, also after an error.
        """
        ...


def hooks_of(module: Any) -> list[AttentionHook]:
    """The hooks that may work on a module, the best first."""
    can_choose = getattr(module, "_can_set_attn_implementation", None)
    every: list[AttentionHook] = [FunctionHook(module)]
    return [InterfaceHook(module), *every] if can_choose is not None and can_choose() else every


@contextmanager
def counted(hook: AttentionHook, handler: Handler, layers: int, skipped: int = 0) -> Iterator[None]:
    """Within this, a pass shows its attention to a handler, and every layer must show its.

    Args:
        hook: gives access to it.
        handler: sees each layer, numbered as in a full pass.
        layers: how many a full pass has; 0 where that is not known yet.
        skipped: how many of the first do not run.
    """
    calls = skipped

    def handle(call: AttentionCall) -> Tensor | None:
        nonlocal calls
        number, calls = calls, calls + 1
        return handler(replace(call, number=number) if skipped else call)

    with hook.installed(handle):
        yield
    if layers and calls != layers:
        raise VeraxError(
            f"{calls} of {layers} layers showed their attention: this model attends in another way "
            "to such texts; give a smaller max_length",
            code="model.attention-mismatch",
        )


def is_pair(model: nn.Module) -> bool:
    """Whether a model is an encoder–decoder by its configuration."""
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))


def _streams(model: nn.Module, name: str) -> tuple[str, str]:
    """Which positions ask and which are attended, by the name of the module that attends."""
    lower = name.lower()
    if not is_pair(model):
        return "encoder", "encoder"
    if "encdec" in lower or "encoder_attn" in lower or "cross" in lower:
        return "decoder", "encoder"
    side = "decoder" if lower.startswith("decoder.") or ".decoder." in lower else "encoder"
    return side, side


def _allowed_keys(mask: Tensor | None, weights: Tensor) -> Tensor:
    """Where a mask, boolean or added to scores, lets weights be; broadcasts to their shape."""
    if mask is None:
        return torch.ones_like(weights, dtype=torch.bool)
    mask = mask[..., : weights.shape[-1]]
    return mask if mask.dtype == torch.bool else mask > torch.finfo(mask.dtype).min / 2


class InterfaceHook:
    """Attention through a function registered with transformers.

    The function calls the model file's own eager attention, so that soft caps, sinks, position
    biases and grouped keys stay right, and then lets a handler see and replace the weights. A mask
    of the same name is registered, too: without it padding and the future would be attended.
    """

    name = "AttentionInterface"

    def __init__(self, model: Any) -> None:
        self.model = model
        self._names = {id(module): name for name, module in model.named_modules()}

    @contextmanager
    def installed(self, handler: Handler) -> Iterator[None]:
        from transformers import AttentionInterface
        from transformers.masking_utils import AttentionMaskInterface, eager_mask

        if INTERFACE not in AttentionInterface._global_mapping:
            AttentionInterface.register(INTERFACE, _attend)
            AttentionMaskInterface.register(INTERFACE, eager_mask)
        calls = 0

        def show(module: nn.Module, weights: Tensor, mask: Tensor | None, values: Tensor) -> Any:
            nonlocal calls
            name, number, calls = self._names.get(id(module), ""), calls, calls + 1
            allowed, streams = _allowed_keys(mask, weights), _streams(self.model, name)
            return handler(AttentionCall(number, weights, allowed, values, *streams, name))

        _SHOWING.append(show)
        try:
            with attending_by(self.model, INTERFACE):
                yield
        finally:
            _SHOWING.pop()


_SHOWING: list[Callable[[nn.Module, Tensor, Tensor | None, Tensor], Tensor | None]] = []
"""What sees attention now, the innermost last."""


def _attend(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    **more: Any,
) -> tuple[Tensor, Tensor]:
    """The model's own eager attention, with the weights that a handler gives in place of its."""
    files = [sys.modules.get(kind.__module__) for kind in type(module).__mro__]
    eager = next(file for file in files if hasattr(file, "eager_attention_forward"))
    own = eager.eager_attention_forward  # type: ignore[union-attr]
    output, weights = own(module, query, key, value, attention_mask, **more)
    if not _SHOWING:
        return output, weights
    groups = weights.shape[1] // value.shape[1]
    values = value.repeat_interleave(groups, 1) if groups > 1 else value
    other = _SHOWING[-1](module, weights, attention_mask, values)
    if other is None or other is weights:
        return output, weights
    mixed = torch.matmul(other.to(values.dtype), values)
    return mixed.transpose(1, 2).contiguous(), other


@contextmanager
def attending_by(model: Any, implementation: str) -> Iterator[None]:
    """Within this, a model and its parts attend by an implementation of transformers."""
    every = [module.config for module in model.modules() if hasattr(module, "config")]
    known = [config for config in every if hasattr(config, "_attn_implementation_internal")]
    before = {id(config): (config, config._attn_implementation) for config in known}
    try:
        for config, _ in before.values():
            config._attn_implementation_internal = implementation
        yield
    finally:
        for config, own in before.values():
            config._attn_implementation_internal = own


class FunctionHook:
    """Attention of any module that calls softmax and a product, or scaled_dot_product_attention.

    Args:
        model: whose attention is seen.
    """

    name = "TorchFunctionMode"

    def __init__(self, model: nn.Module) -> None:
        self.model = model

    @contextmanager
    def installed(self, handler: Handler) -> Iterator[None]:
        running: list[tuple[str, nn.Module]] = []
        handles = []

        def entering(name: str) -> Any:
            return lambda module, inputs: running.append((name, module))

        def leaving(module: nn.Module, inputs: Any, output: Any) -> None:
            running.pop()

        try:
            for name, module in self.model.named_modules():
                if next(module.children(), None) is not None:
                    handles.append(module.register_forward_pre_hook(entering(name)))
                    handles.append(module.register_forward_hook(leaving))
            with _FunctionMode(self.model, handler, running):
                yield
        finally:
            for handle in handles:
                handle.remove()


# `nn.MultiheadAttention` computes in this function, which torch hands to a mode as a whole; a copy
# that does not look for modes shows what it calls.
_OWN_MULTIHEAD = functional.multi_head_attention_forward
_MULTIHEAD = FunctionType(
    _OWN_MULTIHEAD.__code__,
    {**_OWN_MULTIHEAD.__globals__, "has_torch_function": lambda tensors: False},
    argdefs=_OWN_MULTIHEAD.__defaults__,
)


class _FunctionMode(TorchFunctionMode):
    """Shows a handler the weights of every attention, and lets it replace them.

    A softmax is attention where it is over the last dimension, as many queries ask as keys are
    attended, and its rows are then multiplied by values. Routers of experts, pooled answers and
    probabilities of classes are none.

    Args:
        model: the model that runs.
        handler: sees the weights, and may return others.
        running: names and modules that are running, the innermost last.
    """

    def __init__(
        self, model: nn.Module, handler: Handler, running: list[tuple[str, nn.Module]]
    ) -> None:
        super().__init__()
        self.model, self.handler, self.running = model, handler, running
        self.calls = 0
        self.allowed: Tensor | None = None
        """Of the shape of the latest softmax: which scores were not masked."""
        self.kept: list[Tensor] = []
        """Tensors that hold its weights: dropped out, cast, reshaped."""

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        # within this method the mode is off
        more, name = kwargs or {}, getattr(function, "__name__", "")
        if function is _OWN_MULTIHEAD:
            with self:
                return _MULTIHEAD(*args, **more)
        if name == "scaled_dot_product_attention":
            return self._scaled_dot_product(function, *args, **more)
        if name in ("matmul", "__matmul__", "bmm") and self._holds(args[0]):
            return self._product(lambda w: function(w, *args[1:], **more), args[0], args[1])
        if name == "einsum" and len(args) > 1 and self._holds(args[1]):
            return self._product(lambda w: function(args[0], w, *args[2:], **more), args[1], None)
        output = function(*args, **more)
        if name == "softmax" and isinstance(args[0], Tensor):
            dim = more.get("dim", args[1] if len(args) > 1 else None)
            is_square = output.dim() in (3, 4) and output.shape[-1] == output.shape[-2]
            if is_square and isinstance(dim, int) and dim % output.dim() == output.dim() - 1:
                self.allowed, self.kept = _unmasked(args[0].detach()), [output]
        elif self.kept and isinstance(output, Tensor) and not self._holds(output):
            latest = self.kept[0]
            is_like = output.numel() == latest.numel() and output.shape[-2:] == latest.shape[-2:]
            if is_like and any(self._holds(one) for one in args):
                self.kept.append(output)
        return output

    def _holds(self, values: Any) -> bool:
        """Whether a tensor holds the weights of the latest softmax."""
        return any(values is one for one in self.kept)

    def _product(
        self, multiply: Callable[[Tensor], Tensor], weights: Tensor, values: Tensor | None
    ) -> Tensor:
        """What `multiply` makes of the weights that the handler leaves.

        multiply  weights → weights times values
        weights   hold the latest softmax
        values    (…, keys, size), or None where the product has another form
        """
        assert self.allowed is not None
        shape = self._shape(weights)
        if shape is None:
            return multiply(weights)
        allowed, self.kept = self.allowed, []
        if values is not None:
            values = values.reshape(*shape[:2], *values.shape[-2:])
        other = self._shown(weights.reshape(shape), allowed.reshape(shape), values)
        return multiply(other.to(weights.dtype).reshape(weights.shape))

    def _scaled_dot_product(
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
        shape = self._shape(query.new_empty(0).expand(*query.shape[:-1], 0), key.shape[-2])
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
            allowed = allowed & _allowed_keys(attn_mask, scores)
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
        told = (getattr(module, n, None) for _, module in self.running[::-1] for n in _HEADS)
        heads = next((number for number in told if isinstance(number, int)), None)
        if weights.dim() != 3 or heads is None or len(weights) % heads:
            return None
        return (len(weights) // heads, heads, queries, queries)

    def _shown(self, weights: Tensor, allowed: Tensor, values: Tensor | None) -> Tensor:
        name = self.running[-1][0] if self.running else ""
        number, self.calls = self.calls, self.calls + 1
        streams = _streams(self.model, name)
        other = self.handler(AttentionCall(number, weights, allowed, values, *streams, name))
        return weights if other is None else other


def _unmasked(scores: Tensor) -> Tensor:
    """(…, keys) bool: which scores are not masked by something very small."""
    largest = scores.amax(-1, keepdim=True)
    return (scores > torch.finfo(scores.dtype).min / 2) & (scores > largest - MASKED)

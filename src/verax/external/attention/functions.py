"""The route through functions of torch: softmax and scaled dot products, wherever called."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from verax.external.attention.products import ProductWatcher
from verax.external.attention.running import RunningModules
from verax.external.attention.site import Handler


class FunctionRoute:
    """Attention of any module that calls softmax and a product, or scaled_dot_product_attention.

    Args:
        model: whose attention is seen.
    """

    name = "TorchFunctionMode"

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self._is_pair = is_pair(model)

    @contextmanager
    def opened(self, handler: Handler) -> Iterator[None]:
        running = RunningModules(self.model)
        watcher = ProductWatcher(handler, running, self._is_pair)
        with running.followed(), _Mode(watcher):
            yield


class _Mode(TorchFunctionMode):
    def __init__(self, watcher: ProductWatcher) -> None:
        super().__init__()
        self.watcher = watcher

    def __torch_function__(
        self,
        function: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        # within this method the mode is off
        more = kwargs or {}
        name, watcher = getattr(function, "__name__", ""), self.watcher
        if name == "scaled_dot_product_attention":
            return watcher.attention(function, *args, **more)
        if name in ("matmul", "__matmul__", "bmm") and watcher.holds(args[0]):
            return watcher.product(lambda w: function(w, *args[1:], **more), args[0], args[1])
        if name == "einsum" and len(args) > 1 and watcher.holds(args[1]):
            return watcher.product(lambda w: function(args[0], w, *args[2:], **more), args[1], None)
        output = function(*args, **more)
        if name == "softmax" and isinstance(args[0], Tensor):
            dim = more.get("dim", args[1] if len(args) > 1 else None)
            if isinstance(dim, int):
                watcher.after_softmax(args[0], output, dim)
        else:
            watcher.follow(args, output)
        return output


def is_pair(model: nn.Module) -> bool:
    """Whether a model is an encoder–decoder by its configuration."""
    return bool(getattr(getattr(model, "config", None), "is_encoder_decoder", False))

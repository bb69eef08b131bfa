"""The route through names: `nn.MultiheadAttention`, whose functions escape the modes of torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from verax.external.attention.functions import is_pair
from verax.external.attention.products import ProductWatcher
from verax.external.attention.running import RunningModules
from verax.external.attention.site import Handler, Site


class NameRoute:
    """Attention of modules made of `nn.MultiheadAttention`, such as `nn.TransformerEncoder`.

    Within it the functions that `nn.MultiheadAttention` calls are others by the same names, and
    its fast path, which calls none of them, is off.

    Args:
        model: whose attention is seen.
    """

    name = "nn.MultiheadAttention"

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self._is_pair = is_pair(model)

    @contextmanager
    def opened(self, handler: Handler) -> Iterator[None]:
        softmax, bmm = functional.softmax, torch.bmm
        attention = functional.scaled_dot_product_attention
        is_handling = False

        def handle(site: Site) -> Tensor | None:
            nonlocal is_handling
            is_handling = True  # what the handler calls is no attention of the model
            try:
                return handler(site)
            finally:
                is_handling = False

        running = RunningModules(self.model)
        watcher = ProductWatcher(handle, running, self._is_pair)

        def seen_softmax(input: Tensor, dim: int | None = None, *args: Any, **more: Any) -> Tensor:
            output = softmax(input, dim, *args, **more)
            if not is_handling and dim is not None:
                watcher.after_softmax(input, output, dim)
            return output

        def seen_bmm(input: Tensor, mat2: Tensor, **more: Any) -> Tensor:
            if is_handling or not watcher.holds(input):
                return bmm(input, mat2, **more)
            return watcher.product(lambda w: bmm(w, mat2, **more), input, mat2)

        def seen_attention(*args: Any, **more: Any) -> Tensor:
            if is_handling:
                return attention(*args, **more)
            return watcher.attention(attention, *args, **more)

        is_fast = torch.backends.mha.get_fastpath_enabled()
        with (
            running.followed(),
            _named(functional, "softmax", seen_softmax),
            _named(functional, "scaled_dot_product_attention", seen_attention),
            _named(torch, "bmm", seen_bmm),
        ):
            torch.backends.mha.set_fastpath_enabled(False)
            try:
                yield
            finally:
                torch.backends.mha.set_fastpath_enabled(is_fast)


@contextmanager
def _named(owner: Any, name: str, function: Callable[..., Tensor]) -> Iterator[None]:
    """Within this, a name of a module stands for another function."""
    own = getattr(owner, name)
    setattr(owner, name, function)
    try:
        yield
    finally:
        setattr(owner, name, own)

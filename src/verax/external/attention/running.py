"""Which module of a model runs, while it runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

_HEADS = ("num_heads", "num_attention_heads", "n_heads", "n_head", "heads", "nhead")


class RunningModules:
    """The modules of a model that are running, the innermost last.

    Args:
        model: whose modules are followed.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        self._running: list[tuple[str, nn.Module]] = []

    @property
    def name(self) -> str:
        """Of the innermost module that is running; empty outside of passes."""
        return self._running[-1][0] if self._running else ""

    @property
    def heads(self) -> int | None:
        """How many heads the innermost module has that tells; None where none tells."""
        for _, module in reversed(self._running):
            for name in _HEADS:
                if isinstance(heads := getattr(module, name, None), int):
                    return heads
        return None

    @contextmanager
    def followed(self) -> Iterator[None]:
        """Within this, modules are followed by hooks, which are gone afterwards."""
        handles = []
        before, self._running = self._running, []

        def entering(name: str) -> Any:
            return lambda module, inputs: self._running.append((name, module))

        def leaving(module: nn.Module, inputs: Any, output: Any) -> None:
            self._running.pop()

        try:
            for name, module in self.model.named_modules():
                if next(module.children(), None) is not None:
                    handles.append(module.register_forward_pre_hook(entering(name)))
                    handles.append(module.register_forward_hook(leaving))
            yield
        finally:
            self._running = before
            for handle in handles:
                handle.remove()

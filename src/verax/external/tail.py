"""Passes that begin at some layer of a Transformer: what comes before it is computed once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from verax.errors import VeraxError
from verax.external.attention.site import Handler, Site
from verax.external.pieces import PieceBatch

if TYPE_CHECKING:
    from verax.external.trace import Pass
    from verax.external.transformer import TransformerClassifier


@dataclass(frozen=True, eq=False)
class Start:
    """Where a pass begins.

    layer   the first that runs, from 0
    blocks  the modules of the layers before it
    output  what the last of these gave: states, or a tuple that begins with them
    """

    layer: int
    blocks: Sequence[nn.Module]
    output: Any

    def take(self, rows: Tensor) -> Start:
        """The same for some rows of the batch; one may be there many times."""
        return Start(self.layer, self.blocks, _taken(self.output, rows))

    @contextmanager
    def skipping(self) -> Iterator[None]:
        """Within this, the earlier layers give what was kept; afterwards they are as they were."""
        with ExitStack() as stack:
            for block in self.blocks:
                stack.enter_context(_giving(block, self.output))
            yield


class Tail:
    """Passes over one batch that begin at a layer.

    They give the logits of full passes. A model whose layers cannot be skipped (ALBERT, which has
    one layer many times; encoder–decoders) runs full passes.

    Args:
        model: a classifier.
        pieces: what is read.
        layer: the first layer that runs, counted from 0 as `Site.number` is.

    Attributes:
        skipped: how many layers later passes leave out.
        logits: (batch, classes) of the batch, untouched.
    """

    def __init__(self, model: TransformerClassifier, pieces: PieceBatch, layer: int) -> None:
        if not 0 <= layer < model.layers:
            raise VeraxError(
                f"layer is {layer}: this model has layers 0 to {model.layers - 1}, counted from 0",
                code="option.out-of-range",
            )
        self.model, self.pieces, self.layer = model, pieces, layer
        self._start, self.logits = _started(model, pieces, layer)

    @property
    def skipped(self) -> int:
        return 0 if self._start is None else self._start.layer

    def run(self, handler: Handler | None = None, rows: Tensor | None = None) -> Pass:
        """One pass from the layer on.

        Args:
            handler: sees the attention of the layers that run, numbered as in full passes. One
                that edits earlier layers than `layer` is told nothing of those that are skipped.
            rows: (variants,) long: which texts of the batch are read, one perhaps many times; all,
                unless given.
        """
        pieces, start = self.pieces, self._start
        if rows is not None:
            pieces = pieces.take(rows)
            start = None if start is None else start.take(rows)
        return self.model.run(pieces, handler, start=start)


@torch.no_grad()
def _started(
    model: TransformerClassifier, pieces: PieceBatch, layer: int
) -> tuple[Start | None, Tensor]:
    """Where to begin for a layer, None where layers cannot be skipped; the untouched logits."""
    names: list[str] = []
    outputs: dict[int, Any] = {}

    def keep(module: nn.Module, inputs: Any, output: Any) -> None:
        outputs[id(module)] = output

    candidates = _blocks(model, layer)
    handles = [part.register_forward_hook(keep) for _, parts in candidates for part in parts[-1:]]

    def note(site: Site) -> None:
        names.append(site.name)

    try:
        whole = model.run(pieces, note).logits
    finally:
        for handle in handles:
            handle.remove()
    for name, parts in candidates:
        places = [f"{name}.{number}." for number in range(model.layers)]
        if not all(one.startswith(place) for one, place in zip(names, places, strict=True)):
            continue
        start = Start(layer, parts, outputs.get(id(parts[-1])))
        # what is wrong here would be wrong everywhere: layers that also feed something else
        if torch.allclose(model.run(pieces, start=start).logits, whole, rtol=1e-4, atol=1e-4):
            return start, whole
    return None, whole


def _blocks(model: TransformerClassifier, layer: int) -> list[tuple[str, Sequence[nn.Module]]]:
    """Lists of as many modules as there are layers, by name: those before a layer."""
    if layer == 0:
        return []
    every = model.module.named_modules()
    lists = [(name, part) for name, part in every if isinstance(part, nn.ModuleList)]
    return [(name, list(part)[:layer]) for name, part in lists if len(part) == model.layers]


@contextmanager
def _giving(block: nn.Module, output: Any) -> Iterator[None]:
    own = vars(block).get("forward")
    block.forward = lambda *args, **more: output
    try:
        yield
    finally:
        if own is None:
            del block.forward
        else:
            block.forward = own


def _taken(output: Any, rows: Tensor) -> Any:
    if isinstance(output, Tensor):
        return output[rows]
    return tuple(_taken(part, rows) for part in output) if isinstance(output, tuple) else output

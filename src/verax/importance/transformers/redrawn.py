"""Weights of a Transformer drawn anew, part by part from the top; afterwards exactly as before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from verax.errors import VeraxError
from verax.external.pieces import PieceBatch
from verax.models.transformers.classifier import TransformerClassifier

HEAD, EMBEDDINGS = "head", "embeddings"


@dataclass(frozen=True, eq=False)
class Part:
    """A part of a model whose weights are drawn anew together.

    name        head, embeddings, or the name of the layer's module
    parameters  its weights and biases
    """

    name: str
    parameters: tuple[nn.Parameter, ...]


def parts_from_the_top(model: TransformerClassifier, pieces: PieceBatch) -> list[Part]:
    """The parts of a model in the opposite order of a pass: head, last layer, …, embeddings.

    Args:
        model: a Transformer.
        pieces: any batch; a pass over it shows the order.

    Layers are the entries of module lists. What comes before all of them are the embeddings, what
    comes after them the head; what lies between two goes with the first. Weights of modules that
    are never called, such as vectors of distances that layers share, go with the embeddings.
    """
    called = _called(model, pieces)
    layers = _layers(model.module)
    order = [layers.get(name, "") for name in called]
    last = max((i for i, layer in enumerate(order) if layer), default=-1)
    members: dict[str, list[nn.Parameter]] = {EMBEDDINGS: []}
    seen: set[int] = set()
    before = EMBEDDINGS
    for place, (name, layer) in enumerate(zip(called, order, strict=True)):
        before = layer or (HEAD if place > last else before)
        # a layer goes whole, whichever of its modules are called
        whole = [n for n, each in layers.items() if each == layer] if layer else [name]
        for parameter in (p for n in whole for p in _own(model, n)):
            if id(parameter) not in seen:
                seen.add(id(parameter))
                members.setdefault(before, []).append(parameter)
    rest = [p for p in _parameters(model) if id(p) not in seen]
    members[EMBEDDINGS] += rest
    return [Part(name, tuple(some)) for name, some in reversed(members.items()) if some]


@contextmanager
def weights_kept(model: TransformerClassifier) -> Iterator[None]:
    """Whatever happens to weights within this, afterwards they are as before, bit for bit."""
    before = [(parameter, parameter.detach().clone()) for parameter in _parameters(model)]
    try:
        yield
    finally:
        with torch.no_grad():
            for parameter, values in before:
                parameter.copy_(values)


@torch.no_grad()
def redraw(part: Part, generator: torch.Generator) -> None:
    """Draw each parameter anew from a normal distribution with its own mean and spread."""
    for parameter in part.parameters:
        if not parameter.is_floating_point():
            raise VeraxError(
                "the weights of this model are quantised and cannot be drawn anew: load it in "
                "floating point",
                code="model.quantized",
            )
        values = parameter.double()
        spread = values.std(correction=0)
        noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
        parameter.copy_(values.mean() + spread * noise.to(values.device))


def _called(model: TransformerClassifier, pieces: PieceBatch) -> list[str]:
    """Names of the modules with parameters of their own, in the order in which a pass calls them.

    The head of a bare encoder has the name "head".
    """
    called: dict[str, None] = {}
    handles = []
    for name, module in _modules(model).items():
        if next(module.parameters(recurse=False), None) is not None:

            def note(part: nn.Module, inputs: Any, name: str = name) -> None:
                called.setdefault(name)

            handles.append(module.register_forward_pre_hook(note))
    try:
        with torch.no_grad():
            model.run(pieces)
    finally:
        for handle in handles:
            handle.remove()
    return list(called)


def _modules(model: TransformerClassifier) -> dict[str, nn.Module]:
    modules = dict(model.module.named_modules())
    if model.head is not None:
        modules |= {f"{HEAD}:{name}": part for name, part in model.head.named_modules()}
    return modules


def _parameters(model: TransformerClassifier) -> list[nn.Parameter]:
    """All of a model, each once."""
    modules = [model.module, *([model.head] if model.head is not None else [])]
    return [parameter for module in modules for parameter in module.parameters()]


def _own(model: TransformerClassifier, name: str) -> Iterator[nn.Parameter]:
    return _modules(model)[name].parameters(recurse=False)


def _layers(module: nn.Module) -> dict[str, str]:
    """Name of a module → the outermost entry of a module list that it is in."""
    lists = [name for name, part in module.named_modules() if isinstance(part, nn.ModuleList)]
    layers: dict[str, str] = {}
    for name, _ in module.named_modules():
        for outer in lists:  # outer ones come first
            if name.startswith(f"{outer}.") and name not in layers:
                number = name.removeprefix(f"{outer}.").partition(".")[0]
                layers[name] = f"{outer}.{number}"
    return layers

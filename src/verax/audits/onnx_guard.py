"""The guard's weights out of its ONNX file: a BERT, and a head of two layers over the mean.

The file names most weights as the torch module had them. Matrices of linear layers are transposed
and have names of the exporter; the node that uses each still has the layer's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

ENCODER, HEAD = "encoder.", "classifier."
"""How the names of the encoder's and of the head's weights begin."""


def guard_states(path: Path) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The states of the encoder and of the head, by their names in torch."""
    import onnx
    from onnx import numpy_helper

    graph = onnx.load(str(path)).graph
    arrays = {one.name: numpy_helper.to_array(one) for one in graph.initializer}
    named = {name: array for name, array in arrays.items() if name.startswith((ENCODER, HEAD))}
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in arrays:
            # /encoder/layer.0/attention/MatMul → encoder.layer.0.attention.weight
            layer = ".".join(node.name.strip("/").split("/")[:-1])
            named[f"{layer}.weight"] = arrays[node.input[1]].T
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in named.items()}
    encoder = {n.removeprefix(ENCODER): t for n, t in tensors.items() if n.startswith(ENCODER)}
    head = {n.removeprefix(HEAD): t for n, t in tensors.items() if n.startswith(HEAD)}
    return {n: t for n, t in encoder.items() if not n.endswith("position_ids")}, head


def guard_head(states: Mapping[str, Tensor]) -> nn.Sequential:
    """Linear, ReLU, (dropout,) Linear, as the states have them."""
    first, last = sorted({int(name.split(".")[0]) for name in states})
    layers: list[nn.Module] = []
    for number in range(last + 1):
        weight: Any = states.get(f"{number}.weight")
        is_linear = number in (first, last)
        layers.append(nn.Linear(weight.shape[1], weight.shape[0]) if is_linear else nn.Identity())
    layers[first + 1] = nn.ReLU()
    head = nn.Sequential(*layers)
    head.load_state_dict(dict(states), strict=True)
    return head.eval()

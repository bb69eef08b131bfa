"""Bidirectional LSTM and GRU over padded batches."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from verax.models.encoders.base import Encoder
from verax.models.noise import Noise


def turning_order(lengths: Tensor, width: int) -> Tensor:
    """(batch · width,): where each position of the flattened batch goes when documents are turned
    round in place, padding staying put. Turning twice changes nothing.

    >>> turning_order(torch.tensor([3, 1]), 4).tolist()
    [2, 1, 0, 3, 4, 5, 6, 7]
    """
    places = torch.arange(width, device=lengths.device)
    ends = lengths.unsqueeze(-1)
    within = torch.where(places < ends, ends - 1 - places, places)
    rows = torch.arange(len(lengths), device=lengths.device).unsqueeze(-1)
    return (within + rows * width).flatten()


class Turn(torch.autograd.Function):
    """(batch, positions, size) in turning order; its own inverse, so its own gradient.

    Indexing would scatter the gradient into zeros, at several times the cost.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, order: Tensor) -> Tensor:
        ctx.save_for_backward(order)
        return values.flatten(0, 1).index_select(0, order).view_as(values)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        (order,) = ctx.saved_tensors
        return Turn.apply(gradient, order), None


class Recurrent(Encoder):
    """A BiLSTM or BiGRU of half the output size in each direction; no dropout between layers.

    Each direction of each layer is a `torch.nn` module of its own that runs over the padded batch,
    the backward one over documents turned round in place: padding then comes last for both, and
    changes nothing. Packed sequences would give the same states, several times slower: they take a
    step at a time on a CPU, and on a GPU a kernel for every step.
    """

    def __init__(self, cell: str, input_size: int, output_size: int, layers: int) -> None:
        super().__init__()
        kind = {"bilstm": nn.LSTM, "bigru": nn.GRU}[cell]
        sizes = [input_size] + [output_size] * (layers - 1)

        def one_way() -> nn.ModuleList:
            return nn.ModuleList(kind(size, output_size // 2, batch_first=True) for size in sizes)

        self.forwards, self.backwards = one_way(), one_way()
        self.output_size = output_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> Tensor:
        width = inputs.shape[1]
        order = turning_order(lengths.to(inputs.device, non_blocking=True), width)
        states = inputs
        for onward, back in zip(self.forwards, self.backwards, strict=True):
            turned = back(Turn.apply(states, order))[0]
            states = torch.cat([onward(states)[0], Turn.apply(turned, order)], dim=-1)
        if bool((lengths < width).any()):
            states = states.masked_fill_(~mask.unsqueeze(-1), 0.0)
        return states

    def initialise_xavier(self) -> None:
        """Input weights Xavier-uniform, recurrent ones orthogonal, biases zero.

        Serrano & Smith's code also sets part of a gate's bias to one, by a helper meant for another
        cell; that slip is not repeated.
        """
        for name, parameter in self.named_parameters():
            if "weight_ih" in name:
                nn.init.xavier_uniform_(parameter)
            elif "weight_hh" in name:
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

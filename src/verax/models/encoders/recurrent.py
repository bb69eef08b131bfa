"""Bidirectional LSTM and GRU over padded batches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from verax.models.encoders.base import Encoder, refuse_odd_size, register_encoder
from verax.models.hashed_dropout import HashedDropout

if TYPE_CHECKING:
    from verax.models.options import ModelOptions


class Recurrent(Encoder):
    """A BiLSTM or BiGRU of half the output size in each direction; no dropout between layers.

    Each direction of each layer is a `torch.nn` module of its own that runs over the padded batch,
    the backward one over documents turned round in place: padding then comes last for both, and
    changes nothing. Packed sequences would give the same states, several times slower: they take a
    step at a time on a CPU, and on a GPU a kernel for every step.
    """

    uses = frozenset({"hidden_size", "layers"})
    replayable = True
    cell: ClassVar[str] = "bilstm"

    def __init__(self, cell: str, input_size: int, output_size: int, layers: int) -> None:
        super().__init__()
        kind = {"bilstm": nn.LSTM, "bigru": nn.GRU}[cell]
        sizes = [input_size] + [output_size] * (layers - 1)
        self.forwards = nn.ModuleList(kind(size, output_size // 2) for size in sizes)
        self.backwards = nn.ModuleList(kind(size, output_size // 2) for size in sizes)
        self.output_size = output_size

    @classmethod
    def make(cls, input_size: int, options: ModelOptions) -> Self:
        return cls(cls.cell, input_size, options.hidden_size, options.layers_of(cls))

    @classmethod
    def refuse(cls, options: ModelOptions) -> None:
        refuse_odd_size(options)

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        if inputs.device.type == "cpu":
            orders = Orders.of(lengths, inputs.shape[1], inputs.device)
            padded = bool((lengths < inputs.shape[1]).any())
        else:  # nothing travels, and a step that is replayed has its lengths on the device
            orders, padded = Orders.of_mask(mask), True
        states = inputs
        for onward, back in zip(self.forwards, self.backwards, strict=True):
            ahead, turned = Part.apply(states, orders)
            states = Join.apply(onward(ahead)[0], back(turned)[0], orders)
        return states * mask.unsqueeze(-1) if padded else states

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


@register_encoder("bilstm")
class BiLstm(Recurrent):
    """Encoder `bilstm`."""

    training_cost = 1.0


@register_encoder("bigru")
class BiGru(Recurrent):
    """Encoder `bigru`."""

    cell = "bigru"
    training_cost = 1.3


def has_one_layer(encoder: Encoder) -> bool:
    """Whether it computes as one recurrent layer, which can be stepped through by its weights."""
    return (
        isinstance(encoder, Recurrent)
        and encoder.computes_as(Recurrent)
        and len(encoder.forwards) == 1
    )


@dataclass(frozen=True, eq=False)
class Orders:
    """How rows of a batch, (batch · width), are dealt out to the two directions and back.

    A direction reads (width · batch), step by step: `ahead` in the order of the text, `turned` with
    each document turned round in place, its padding staying last. The inverses put them back.

    >>> orders = Orders.of(torch.tensor([3, 1]), 3, torch.device("cpu"))
    >>> orders.ahead.tolist(), orders.turned.tolist()
    ([0, 3, 1, 4, 2, 5], [2, 3, 1, 4, 0, 5])
    """

    ahead: Tensor
    turned: Tensor
    ahead_inverse: Tensor
    turned_inverse: Tensor

    @classmethod
    def of(cls, lengths: Tensor, width: int, device: torch.device) -> Orders:
        batch = len(lengths)
        places, rows, ends = np.arange(width), np.arange(batch)[:, None], lengths.numpy()[:, None]
        turn = np.where(places < ends, ends - 1 - places, places)
        orders = np.empty((4, batch * width), dtype=np.int64)
        orders[0] = (rows * width + places).T.ravel()
        orders[1] = (rows * width + turn).T.ravel()
        orders[2] = (places * batch + rows).ravel()
        orders[3] = (turn * batch + rows).ravel()
        return cls(*torch.from_numpy(orders).to(device, non_blocking=True))

    @classmethod
    def of_mask(cls, mask: Tensor) -> Orders:
        """The same from (batch, width) bool, True first in each row, made where the mask is."""
        batch, width = mask.shape
        places = torch.arange(width, device=mask.device)
        rows = torch.arange(batch, device=mask.device).unsqueeze(-1)
        turn = torch.where(mask, mask.sum(-1, keepdim=True) - 1 - places, places)
        return cls(
            (rows * width + places).T.reshape(-1),
            (rows * width + turn).T.reshape(-1),
            (places * batch + rows).reshape(-1),
            (turn * batch + rows).reshape(-1),
        )


class Part(torch.autograd.Function):
    """(batch, width, size) → what the two directions read, each (width, batch, size).

    Every row goes to one place in each, so the gradient is gathered back; indexing alone would
    scatter it into zeros, at several times the cost.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, orders: Orders) -> tuple[Tensor, Tensor]:
        batch, width, size = values.shape
        ctx.orders = orders
        flat = values.reshape(-1, size)
        return (
            flat.index_select(0, orders.ahead).view(width, batch, size),
            flat.index_select(0, orders.turned).view(width, batch, size),
        )

    @staticmethod
    def backward(ctx: Any, ahead: Tensor, turned: Tensor) -> tuple[Tensor, None]:
        width, batch, size = ahead.shape
        orders = ctx.orders
        rows = ahead.reshape(-1, size).index_select(0, orders.ahead_inverse)
        rows = rows + turned.reshape(-1, size).index_select(0, orders.turned_inverse)
        return rows.view(batch, width, size), None


class Join(torch.autograd.Function):
    """The two directions' states, each (width, batch, size) → (batch, width, 2 size)."""

    @staticmethod
    def forward(ctx: Any, ahead: Tensor, turned: Tensor, orders: Orders) -> Tensor:
        width, batch, size = ahead.shape
        ctx.orders = orders
        halves = [
            ahead.reshape(-1, size).index_select(0, orders.ahead_inverse),
            turned.reshape(-1, size).index_select(0, orders.turned_inverse),
        ]
        return torch.cat(halves, dim=-1).view(batch, width, 2 * size)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None]:
        batch, width, both = gradient.shape
        ahead, turned = gradient.reshape(-1, both).chunk(2, dim=-1)
        shape = (width, batch, both // 2)
        return (
            ahead.index_select(0, ctx.orders.ahead).view(shape),
            turned.index_select(0, ctx.orders.turned).view(shape),
            None,
        )

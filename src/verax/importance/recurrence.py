"""One direction of a recurrent layer, step by step: what deletions and influence both need.

torch's own kernels read a whole text or nothing. Here many variants of a text advance together:
`Lstm` and `Gru` hold the states of (rows, documents) and move the first k rows by one step.

A recurrence forgets. After a word is gone the states differ from those of the whole text for some
hundred words, and then by no more than rounding; the influence of a word fades likewise. In a text
of more than `LONG` words what follows is not computed again, so that steps grow with the words and
not with their square.
"""

from __future__ import annotations

from typing import NamedTuple, cast

import torch
from torch import Tensor, nn

LONG = 1024
"""Words from which on a text is long."""
EVERY = 16
"""Steps between two looks at whether states have met, or influence has faded."""
TOGETHER = 256
"""Deletions, or targets, of a long text that walk together."""
_MET = 4
"""States that are so many roundings apart are the same."""


class CellWeights(NamedTuple):
    """What a one-layer `torch.nn` recurrent module holds: (gates, input), (gates, size), biases."""

    input: Tensor
    recurrent: Tensor
    input_bias: Tensor
    recurrent_bias: Tensor

    @classmethod
    def of(cls, module: nn.Module) -> CellWeights:
        names = ("weight_ih_l0", "weight_hh_l0", "bias_ih_l0", "bias_hh_l0")
        return cls(*(cast(Tensor, getattr(module, name)) for name in names))

    @property
    def size(self) -> int:
        return self.recurrent.shape[1]


class Lstm:
    """An LSTM's states, (rows, documents, size) each, all at zero to begin with.

    tanh(x) = 2σ(2x) − 1, with the 2 inside folded into the weights, so that one sigmoid serves all
    four gates; torch's tanh costs several times its sigmoid on a CPU.
    """

    def __init__(self, weights: CellWeights, rows: int, documents: int) -> None:
        weight, size = weights.input, weights.size
        scale = weight.new_ones(4 * size, 1)
        scale[2 * size : 3 * size] = 2
        self._input = (weight * scale).T.contiguous()
        self._bias = (weights.input_bias + weights.recurrent_bias) * scale.squeeze(1)
        self._recurrent = (weights.recurrent * scale).T.contiguous()
        self.hidden = weight.new_zeros(rows, documents, size)
        self.cell = weight.new_zeros(rows, documents, size)
        self._gates = weight.new_empty(rows, documents, 4 * size)
        self._squashed = weight.new_empty(rows, documents, size)

    def read(self, inputs: Tensor) -> Tensor:
        """(steps, documents, input size) → what the gates get of them, done once for all rows."""
        return inputs @ self._input + self._bias

    def advance(self, k: int, read: Tensor) -> None:
        """Move the first k rows by one step; `read` (documents, gates) is the same for all."""
        hidden, cell, gates = self.hidden[:k], self.cell[:k], self._gates[:k]
        torch.mm(hidden.flatten(0, 1), self._recurrent, out=gates.flatten(0, 1))
        gates.add_(read).sigmoid_()
        enter, keep, new, leave = gates.chunk(4, dim=-1)
        cell.mul_(keep).addcmul_(enter, new, value=2).sub_(enter)
        squashed = torch.mul(cell, 2, out=self._squashed[:k]).sigmoid_()
        torch.mul(squashed, leave, out=hidden).mul_(2).sub_(leave)

    def branch(self, k: int) -> None:
        """Row k begins where row 0 stands."""
        self.hidden[k] = self.hidden[0]
        self.cell[k] = self.cell[0]

    def have_met(self, k: int) -> bool:
        """Whether the first k rows stand where row 0 stands, but for rounding."""
        return _are_one(self.hidden[:k]) and _are_one(self.cell[:k])

    def snapshot(self) -> tuple[Tensor, ...]:
        """Row 0, to begin again from."""
        return self.hidden[0].clone(), self.cell[0].clone()

    def restore(self, snapshot: tuple[Tensor, ...]) -> None:
        self.hidden[0], self.cell[0] = snapshot


class Gru:
    """A GRU's states, (rows, documents, size), all at zero to begin with; as `Lstm`."""

    def __init__(self, weights: CellWeights, rows: int, documents: int) -> None:
        weight, size = weights.input, weights.size
        scale = weight.new_ones(3 * size, 1)
        scale[2 * size :] = 2
        both = weights.input_bias + weights.recurrent_bias
        new = weights.input_bias[2 * size :]  # the other bias of this gate is inside the reset
        self.size = size
        self._input = (weight * scale).T.contiguous()
        self._bias = torch.cat([both[: 2 * size], new]) * scale.squeeze(1)
        self._recurrent = (weights.recurrent * scale).T.contiguous()
        self._inside = weights.recurrent_bias[2 * size :] * 2
        self.hidden = weight.new_zeros(rows, documents, size)
        self._gates = weight.new_empty(rows, documents, 3 * size)

    def read(self, inputs: Tensor) -> Tensor:
        return inputs @ self._input + self._bias

    def advance(self, k: int, read: Tensor) -> None:
        hidden, gates, size = self.hidden[:k], self._gates[:k], self.size
        torch.mm(hidden.flatten(0, 1), self._recurrent, out=gates.flatten(0, 1))
        switches, new = gates[..., : 2 * size], gates[..., 2 * size :]
        switches.add_(read[:, : 2 * size]).sigmoid_()
        reset, keep = switches.chunk(2, dim=-1)
        new.add_(self._inside).mul_(reset).add_(read[:, 2 * size :])
        new.sigmoid_().mul_(2).sub_(1)
        hidden.sub_(new).mul_(keep).add_(new)

    def branch(self, k: int) -> None:
        self.hidden[k] = self.hidden[0]

    def have_met(self, k: int) -> bool:
        return _are_one(self.hidden[:k])

    def snapshot(self) -> tuple[Tensor, ...]:
        return (self.hidden[0].clone(),)

    def restore(self, snapshot: tuple[Tensor, ...]) -> None:
        (self.hidden[0],) = snapshot


def _are_one(states: Tensor) -> bool:
    """Whether all rows are the first, but for rounding; NaN is like nothing."""
    first = states[:1]
    room = _MET * torch.finfo(states.dtype).eps * (1 + first.abs())
    return bool(((states - first).abs() <= room).all())


def steps_of(module: nn.Module, rows: int, documents: int) -> Lstm | Gru:
    """The states of one direction's module."""
    kind = Lstm if isinstance(module, nn.LSTM) else Gru
    return kind(CellWeights.of(module), rows, documents)

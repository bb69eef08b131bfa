"""Backwards through one direction of a recurrent layer, for many targets at once.

A target is a function of the state at one step p. Its gradient with respect to what is read at
steps t ≤ p comes by walking from p down to 0; targets of all steps walk together, (rows, documents)
of them, each joining at its own p.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from verax.importance.recurrence import CellWeights

MANY = 48
"""From so many rows on it pays to make one document a matrix of its own."""


class LstmAdjoint:
    """∂target/∂(hidden, cell), (rows, documents, size) each, moved back one step at a time.

    With i, f, g, o the gates and s = tanh(c): dc += dh · o(1 − s²), the gates' inputs get
    (dc · g i(1−i), dc · c₋₁ f(1−f), dc · i(1−g²), dh · s o(1−o)), and dc₋₁ = dc · f.
    """

    def __init__(self, weights: CellWeights, inputs: Tensor, rows: int) -> None:
        """`inputs` (steps, documents, input size) in the order that this direction reads them."""
        size = self.size = weights.size
        steps, documents = inputs.shape[:2]
        read = inputs @ weights.input.T + (weights.input_bias + weights.recurrent_bias)
        hidden = cell = inputs.new_zeros(documents, size)
        self._factors = inputs.new_empty(steps, documents, 4, size)
        self._through = inputs.new_empty(steps, 2, documents, size)
        for t in range(steps):
            gates = torch.addmm(read[t], hidden, weights.recurrent.T)
            i, f, g, o = gates.chunk(4, dim=-1)
            i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
            before, cell = cell, f * cell + i * g
            squashed = cell.tanh()
            hidden = o * squashed
            parts = (g * i * (1 - i), before * f * (1 - f), i * (1 - g * g), hidden * (1 - o))
            self._factors[t] = torch.stack(parts, dim=1)
            self._through[t, 0] = o * (1 - squashed * squashed)
            self._through[t, 1] = f
        # one product gives what goes on to the step before, and to the input
        self._weight = torch.cat([weights.recurrent, weights.input], dim=1)
        self.hidden = inputs.new_zeros(rows, documents, size)
        self._cell = inputs.new_zeros(rows, documents, size)
        self._delta = inputs.new_empty(rows, documents, 4, size)
        self._out = inputs.new_empty(rows, documents, self._weight.shape[1])

    def restart(self) -> None:
        """All targets are gone: others can begin."""
        self.hidden.zero_()
        self._cell.zero_()

    def size_of(self, k: int) -> Tensor:
        """(k, documents): the largest number of what the first k rows carry back."""
        return torch.maximum(self.hidden[:k].abs().amax(-1), self._cell[:k].abs().amax(-1))

    def back(self, k: int, t: int) -> Tensor:
        """Move the first k rows from after step t to before it; (k, documents, input size)."""
        hidden, cell, delta = self.hidden[:k], self._cell[:k], self._delta[:k]
        cell.addcmul_(hidden, self._through[t, 0])
        if hidden.shape[1] == 1 and k >= MANY:
            return self._back_alone(hidden, cell, t)
        torch.mul(cell.unsqueeze(2), self._factors[t, :, :3], out=delta[:, :, :3])
        torch.mul(hidden, self._factors[t, :, 3], out=delta[:, :, 3])
        cell.mul_(self._through[t, 1])
        out = self._out[:k]
        torch.mm(delta.view(-1, 4 * self.size), self._weight, out=out.flatten(0, 1))
        hidden.copy_(out[..., : self.size])
        return out[..., self.size :]

    def _back_alone(self, hidden: Tensor, cell: Tensor, t: int) -> Tensor:
        """The same for one document: its factors go into the weights, which are then half as many.

        (dc · Q_i, dc · Q_f, dc · Q_g, dh · Q_o) W = dc (Q_i W_i + Q_f W_f + Q_g W_g) + dh Q_o W_o
        """
        gates = self._weight.unflatten(0, (4, -1))
        factors = self._factors[t, 0].unsqueeze(-1)
        by_cell = (factors[:3] * gates[:3]).sum(0)
        out = torch.mm(cell[:, 0], by_cell).addmm_(hidden[:, 0], factors[3] * gates[3])
        cell.mul_(self._through[t, 1])
        hidden[:, 0] = out[:, : self.size]
        return out[:, self.size :].unsqueeze(1)


class GruAdjoint:
    """∂target/∂hidden, (rows, documents, size), moved back one step at a time.

    With r, z, n the gates and m = W_hn h₋₁ + b: the gates' inputs get dh · (k_n m r(1−r),
    (h₋₁ − n) z(1−z), k_n) with k_n = (1−z)(1−n²), the last of them times r on the way to h₋₁,
    which also gets dh · z.
    """

    def __init__(self, weights: CellWeights, inputs: Tensor, rows: int) -> None:
        size = weights.size
        steps, documents = inputs.shape[:2]
        read = inputs @ weights.input.T + weights.input_bias
        hidden = inputs.new_zeros(documents, size)
        self._factors = inputs.new_empty(steps, documents, 3, size)
        self._reset = inputs.new_empty(steps, documents, size)
        self._keep = inputs.new_empty(steps, documents, size)
        for t in range(steps):
            inner = torch.addmm(weights.recurrent_bias, hidden, weights.recurrent.T)
            switches = (read[t, :, : 2 * size] + inner[:, : 2 * size]).sigmoid()
            r, z = switches.chunk(2, dim=-1)
            m = inner[:, 2 * size :]
            n = (read[t, :, 2 * size :] + r * m).tanh()
            new = (1 - z) * (1 - n * n)
            parts = (new * m * r * (1 - r), (hidden - n) * z * (1 - z), new)
            self._factors[t] = torch.stack(parts, dim=1)
            self._reset[t], self._keep[t] = r, z
            hidden = n + z * (hidden - n)
        self._inner, self._input = weights.recurrent, weights.input
        self.hidden = inputs.new_zeros(rows, documents, size)
        self._delta = inputs.new_empty(rows, documents, 3, size)

    def restart(self) -> None:
        self.hidden.zero_()

    def size_of(self, k: int) -> Tensor:
        return self.hidden[:k].abs().amax(-1)

    def back(self, k: int, t: int) -> Tensor:
        """Move the first k rows from after step t to before it; (k, documents, input size)."""
        hidden, delta = self.hidden[:k], self._delta[:k]
        if hidden.shape[1] == 1 and k >= MANY:
            return self._back_alone(hidden, t)
        torch.mul(hidden.unsqueeze(2), self._factors[t], out=delta)
        out = delta.flatten(2) @ self._input
        delta[:, :, 2] *= self._reset[t]
        hidden.mul_(self._keep[t]).add_(delta.flatten(2) @ self._inner)
        return out

    def _back_alone(self, hidden: Tensor, t: int) -> Tensor:
        """The same for one document: its factors go into the weights, a third as many."""
        factors = self._factors[t, 0].unsqueeze(-1)
        by_input = (factors * self._input.unflatten(0, (3, -1))).sum(0)
        out = hidden[:, 0] @ by_input
        factors = torch.stack([*factors[:2], factors[2] * self._reset[t, 0].unsqueeze(-1)])
        by_state = (factors * self._inner.unflatten(0, (3, -1))).sum(0)
        by_state.diagonal().add_(self._keep[t, 0])
        hidden[:, 0] = hidden[:, 0] @ by_state
        return out.unsqueeze(1)


def adjoint_of(module: nn.Module, inputs: Tensor, rows: int) -> LstmAdjoint | GruAdjoint:
    kind = LstmAdjoint if isinstance(module, nn.LSTM) else GruAdjoint
    return kind(CellWeights.of(module), inputs, rows)

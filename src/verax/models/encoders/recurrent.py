"""Bidirectional LSTM and GRU over padded batches."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from verax.models.encoders.base import Encoder
from verax.models.noise import Noise


class Recurrent(Encoder):
    """A BiLSTM or BiGRU of half the output size in each direction; no dropout between layers.

    The parameters live in one `torch.nn` module. On a GPU it reads packed sequences. On a CPU
    packing takes a slow path (a step at a time), so each direction runs over the padded batch by
    itself, the backward one over documents turned round in place: padding then comes last for both,
    and changes nothing.
    """

    def __init__(self, cell: str, input_size: int, output_size: int, layers: int) -> None:
        super().__init__()
        kind = {"bilstm": nn.LSTM, "bigru": nn.GRU}[cell]
        self.rnn = kind(
            input_size, output_size // 2, num_layers=layers, batch_first=True, bidirectional=True
        )
        self.output_size = output_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> Tensor:
        if bool((lengths == inputs.shape[1]).all()):
            return self.rnn(inputs)[0]
        if inputs.is_cuda:
            return self._packed(inputs, lengths)
        return self._turned(inputs, mask, lengths)

    def _packed(self, inputs: Tensor, lengths: Tensor) -> Tensor:
        longest_first = bool((lengths[1:] <= lengths[:-1]).all())
        packed = pack_padded_sequence(
            inputs, lengths, batch_first=True, enforce_sorted=longest_first
        )
        states, _ = pad_packed_sequence(
            self.rnn(packed)[0], batch_first=True, total_length=inputs.shape[1]
        )
        return states

    def _turned(self, inputs: Tensor, mask: Tensor, lengths: Tensor) -> Tensor:
        places = torch.arange(inputs.shape[1], device=inputs.device)
        ends = lengths.to(inputs.device).unsqueeze(-1)
        turn = torch.where(mask, ends - 1 - places, places).unsqueeze(-1)
        for layer in range(self.rnn.num_layers):
            forward = self._direction(inputs, layer, "")
            turned = inputs.gather(1, turn.expand_as(inputs))
            backward = self._direction(turned, layer, "_reverse")
            backward = backward.gather(1, turn.expand_as(backward))
            inputs = torch.cat([forward, backward], dim=-1)
        return inputs * mask.unsqueeze(-1)

    def _direction(self, inputs: Tensor, layer: int, suffix: str) -> Tensor:
        """One direction of one layer, through the same kernel the module itself calls."""
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        parameters = [getattr(self.rnn, f"{kind}_l{layer}{suffix}") for kind in kinds]
        start = inputs.new_zeros(1, len(inputs), self.rnn.hidden_size)
        # has_biases, num_layers, dropout, train, bidirectional, batch_first
        settings = (True, 1, 0.0, self.training, False, True)
        if isinstance(self.rnn, nn.LSTM):
            return torch.lstm(inputs, (start, start), parameters, *settings)[0]
        return torch.gru(inputs, start, parameters, *settings)[0]

    def initialise_xavier(self) -> None:
        """Input weights Xavier-uniform, recurrent ones orthogonal, biases zero.

        Serrano & Smith's code also sets part of a gate's bias to one, by a helper meant for another
        cell; that slip is not repeated.
        """
        for name, parameter in self.rnn.named_parameters():
            if name.startswith("weight_ih"):
                nn.init.xavier_uniform_(parameter)
            elif name.startswith("weight_hh"):
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)

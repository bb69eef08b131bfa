"""The positions that a Transformer attends between: one graph, also over encoder and decoder."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from verax.external.pieces import SPECIAL, PieceBatch
from verax.models.transformers.classifier import TransformerClassifier, readout_rows
from verax.models.transformers.hooks import AttentionCall

ENCODER, DECODER = "encoder", "decoder"


@dataclass(frozen=True, eq=False)
class Positions:
    """The positions of a batch; those of a decoder come after those of its encoder.

    pieces   the batch, its `word` having a column for each position
    readout  (batch, positions): how much of each one's last state the classifier reads
    widths   how many positions: of the encoder, and of the decoder where there is one
    """

    pieces: PieceBatch
    readout: Tensor
    widths: tuple[int, ...]

    @property
    def count(self) -> int:
        return sum(self.widths)

    def place(self, stream: str) -> slice:
        """Where the positions of "encoder" or "decoder" stand."""
        if stream == ENCODER or len(self.widths) == 1:
            return slice(0, self.widths[0])
        return slice(self.widths[0], self.count)

    def read(self, call: AttentionCall) -> Tensor:
        """(batch, queries): how much of each query of a layer is read; rows sum to one.

        That is the readout. An encoder before a decoder is read by all of the decoder's
        attention: there each position that is no padding counts the same.
        """
        if len(self.widths) > 1 and call.queries == ENCODER:
            return readout_rows("mean", self.pieces)
        return self.readout[:, self.place(call.queries)]

    def rows(self, call: AttentionCall) -> Tensor:
        """(batch, heads, positions): r·A of one layer, zero at what it does not attend to."""
        read = self.read(call).unsqueeze(1).unsqueeze(1)
        weights = call.weights.detach().float()
        rows = weights.new_zeros(*weights.shape[:2], self.count)
        rows[..., self.place(call.keys)] = (read @ weights).squeeze(2)
        return rows

    def sum_by_word(self, scores: Tensor, words: int) -> Tensor:
        """(batch, …, positions) → (batch, …, words): the sum over each word's pieces."""
        return self.pieces.sum_by_word(scores, words)

    def max_by_word(self, scores: Tensor, words: int) -> Tensor:
        """(batch, …, positions) → (batch, …, words): the largest of each word's pieces."""
        return self.pieces.max_by_word(scores, words)


def positions_of(model: TransformerClassifier, pieces: PieceBatch) -> Positions:
    """The positions of a batch.

    A decoder after an encoder reads the same pieces one place later, after its start token.
    """
    readout = model.readout_rows(pieces)
    width = pieces.input_ids.shape[1]
    if not getattr(model.module.config, "is_encoder_decoder", False):
        return Positions(pieces, readout, (width,))
    later = torch.full_like(pieces.word, SPECIAL)
    later[:, 1:] = pieces.word[:, :-1]
    both = replace(pieces, word=torch.cat([pieces.word, later], -1))
    return Positions(both, torch.cat([torch.zeros_like(readout), readout], -1), (width, width))

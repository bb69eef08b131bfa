"""What one pass with attention captured leaves of a batch: rows read, their rollout, norms."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.external.pieces import PieceBatch
from verax.importance.tracing import once
from verax.importance.transformers.budget import parts_of
from verax.importance.transformers.norms import OutputProjection, norms
from verax.importance.transformers.positions import positions_of
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace
from verax.models.transformers.hooks import AttentionCall


@dataclass(frozen=True, eq=False)
class Captured:
    """Attention of a batch, reduced layer by layer as the pass goes.

    rows     (batch, layers, heads, positions): r·A of each layer and head
    heads    of each layer
    rollout  (batch, positions): r·Π(½A + ½I), heads averaged
    norm     (batch, positions): Σ_i r_i ‖Σ_h α_hij W_O^h v_hj‖ of the last layer; None where its
             output projection was not found
    """

    rows: Tensor
    heads: tuple[int, ...]
    rollout: Tensor
    norm: Tensor | None


def captured(
    model: TransformerClassifier, trace: TransformerTrace, max_tokens: int = MAX_TOKENS
) -> Captured:
    """The attention of a trace's texts, by one pass that all scores of the trace share."""
    return once(trace, ("captured", model), lambda: _capture(model, trace, max_tokens))


@torch.no_grad()
def _capture(model: TransformerClassifier, trace: TransformerTrace, max_tokens: int) -> Captured:
    parts = [_part(model, some) for _, some in parts_of(model, trace.pieces, max_tokens)]
    if len(parts) == 1:
        return parts[0]
    norm = [part.norm for part in parts if part.norm is not None]
    return Captured(
        rows=torch.cat([part.rows for part in parts]),
        heads=parts[0].heads,
        rollout=torch.cat([part.rollout for part in parts]),
        norm=torch.cat(norm) if len(norm) == len(parts) else None,
    )


def _part(model: TransformerClassifier, pieces: PieceBatch) -> Captured:
    positions = positions_of(model, pieces)
    rows: list[Tensor] = []
    # product[i, j]: how much of position j, as it came in, is in position i by now
    product = torch.eye(positions.count, device=pieces.mask.device).repeat(len(pieces), 1, 1)
    last: list[AttentionCall] = []
    projection = OutputProjection(model.module)

    def see(call: AttentionCall) -> None:
        rows.append(positions.rows(call))
        ask, attended = positions.place(call.queries), positions.place(call.keys)
        mixed = call.weights.float().mean(1) @ product[:, attended]
        product[:, ask] = (mixed + product[:, ask]) / 2
        last[:] = [call]
        if call.number == model.layers - 1:
            projection.expect(call)

    with projection.watched():
        model.run(pieces, see)
    heads = tuple(row.shape[1] for row in rows)
    together = product.new_zeros(len(pieces), len(rows), max(heads), positions.count)
    for layer, row in enumerate(rows):
        together[:, layer, : row.shape[1]] = row
    rollout = (positions.readout.unsqueeze(1) @ product).squeeze(1)
    return Captured(together, heads, rollout, norms(last[0], projection.matrix, positions))

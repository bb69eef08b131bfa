"""Logits of a Transformer whose attention is made uniform, or permuted, at chosen places."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from verax.exams.replacement.measures import PERMUTED, TRAINED, UNIFORM
from verax.importance.transformers.budget import parts_of, rows_at_once
from verax.models.counterfactual import permuted
from verax.models.transformers.classifier import Tail, TransformerClassifier, TransformerTrace
from verax.models.transformers.hooks import AttentionCall

ALL = 0
"""In place of a layer, or of a head, which are counted from 1: all of them."""
_KINDS = (TRAINED, UNIFORM, PERMUTED)
_HELD = 2**22
"""Weights that are permuted at a time."""
_MANY = 6
"""Edits of one layer that make up for the two passes after which earlier layers can be skipped."""
# Large odd numbers: sums of their multiples, which overflow, tell all rows of attention apart.
_DRAW, _LAYER, _HEAD, _QUERY = (
    *(-7046029254386353131, 7664345821815920749, -4417276706812531889),
    2685821657736338717,
)


@dataclass(frozen=True)
class Edit:
    """What becomes of attention in one pass.

    attention  trained (nothing is changed), uniform or permuted
    draw       number of the random order
    layer      that is changed, from 1; 0 for all
    head       of it that is changed, from 1; 0 for all
    """

    attention: str
    draw: int = 0
    layer: int = ALL
    head: int = ALL


def uniform_rows(weights: Tensor, allowed: Tensor) -> Tensor:
    """(…, queries, keys): each row's weight in equal shares on the keys it may attend to.

    Args:
        weights: (…, queries, keys); what a row lacks to one is a sink's, and stays so.
        allowed: (…, queries, keys) bool.
    """
    count = allowed.sum(-1, keepdim=True).clamp(min=1)
    exact = torch.promote_types(weights.dtype, torch.float32)  # half precision adds up badly
    return (allowed * (weights.sum(-1, keepdim=True, dtype=exact) / count)).to(weights.dtype)


def permuted_rows(weights: Tensor, allowed: Tensor, keys: Tensor, seed: int) -> Tensor:
    """(…, queries, keys): each row's weights in random order among the keys it may attend to.

    Args:
        weights: (…, queries, keys).
        allowed: (…, queries, keys) bool.
        keys: (…, queries) long: with the seed, all that a row's order depends on.
        seed: of the orders.
    """
    flat = weights.flatten(0, -2), allowed.flatten(0, -2), keys.flatten()
    return permuted(*flat, seed, 1)[0].view(weights.shape).to(weights.dtype)


class _Editing:
    """Changes the attention of a batch of passes, each by its own edit.

    kind, draw, layer, head  (batch,) long: of each edit; `kind` is a place in `_KINDS`
    documents                (batch,) long: what its random orders depend on, with seed and place
    """

    def __init__(self, edits: Tensor, documents: Tensor, seed: int) -> None:
        self.kind, self.draw, self.layer, self.head = edits.unbind(-1)
        self.documents, self.seed = documents, seed

    def __call__(self, call: AttentionCall) -> Tensor | None:
        heads = torch.arange(1, call.weights.shape[1] + 1, device=call.weights.device)
        here = ((self.layer == ALL) | (self.layer == call.number + 1)).unsqueeze(-1)
        here = here & ((self.head == ALL).unsqueeze(-1) | (self.head.unsqueeze(-1) == heads))
        evened, shuffled = (
            here & (self.kind == _KINDS.index(kind)).unsqueeze(-1) for kind in (UNIFORM, PERMUTED)
        )
        if not bool((evened | shuffled).any()):
            return None
        weights, allowed = call.weights, call.allowed.expand_as(call.weights)
        changed = torch.where(evened[..., None, None], uniform_rows(weights, allowed), weights)
        queries, keys = weights.shape[-2:]
        layer = torch.tensor(call.number, device=weights.device) * _LAYER
        places = torch.arange(queries, device=weights.device) * _QUERY + layer
        for some in shuffled.nonzero().split(max(1, _HELD // (queries * keys))):
            row, head = some.unbind(-1)
            start = self.documents[row] + self.draw[row] * _DRAW + head * _HEAD
            changed[row, head] = permuted_rows(
                weights[row, head], allowed[row, head], start.unsqueeze(-1) + places, self.seed
            )
        return changed


def logits_under_edits(
    model: TransformerClassifier,
    trace: TransformerTrace,
    edits: Sequence[Edit],
    seed: int,
    max_tokens: int,
) -> Tensor:
    """(edits, batch, classes) float64: what the model answers under each edit of its attention.

    Args:
        model: the model.
        trace: a batch of documents.
        edits: a pass over each document for each of them.
        seed: of random orders, which also depend on document, layer, head, query and draw alone.
        max_tokens: padded tokens held at once.
    """
    device = trace.pieces.mask.device
    coded = torch.tensor(
        [[_KINDS.index(edit.attention), edit.draw, edit.layer, edit.head] for edit in edits],
        device=device,
    )
    logits = trace.logits.new_empty(len(edits), *trace.logits.shape, dtype=torch.float64)
    # a layer's attention is held twice: as it is, and as it is changed
    for places, pieces in parts_of(model, trace.pieces, max_tokens, kept_layers=2):
        together = rows_at_once(model, pieces, max_tokens, kept_layers=2)
        for layer, numbers in _by_first_layer(edits).items():
            tail = Tail(model, pieces, layer - 1) if layer > 1 else None
            chosen = torch.tensor(numbers, device=device)
            passes = torch.arange(len(numbers) * len(places), device=device)
            for some in passes.split(together):
                which, rows = chosen[some // len(places)], some % len(places)
                editing = _Editing(coded[which], trace.batch.row_index[places[rows]], seed)
                done = tail.run(editing, rows) if tail else model.run(pieces.take(rows), editing)
                logits[which, places[rows]] = done.logits.double()
    return logits


def _by_first_layer(edits: Sequence[Edit]) -> dict[int, list[int]]:
    """Layer that passes begin at, from 1 → places of edits: those of a later layer, if many."""
    by_layer: dict[int, list[int]] = {}
    for number, edit in enumerate(edits):
        by_layer.setdefault(edit.layer, []).append(number)
    begun: dict[int, list[int]] = {1: []}
    for layer, numbers in by_layer.items():
        begun.setdefault(layer if len(numbers) >= _MANY else 1, []).extend(numbers)
    begun[1] += begun.pop(ALL, [])
    return {layer: numbers for layer, numbers in begun.items() if numbers}

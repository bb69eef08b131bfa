"""Erasure for Transformers: words lose the attention they get, in all layers or in some."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError
from verax.exams.deletion.changes import (
    best_prefix,
    first_changes,
    places_of,
    prefix_sizes,
    pruned,
)
from verax.exams.deletion.rankings import available, scores_of
from verax.exams.erasure.exam import ErasureExam, ErasureOptions
from verax.exams.erasure.states import FirstFlips, FlipSets, States
from verax.exams.judgement.row import ATTENTION
from verax.exams.reading import check_finite
from verax.importance import score
from verax.importance.transformers import DERIVED
from verax.importance.transformers.positions import Positions, positions_of
from verax.models.base import TextClassifier
from verax.models.layers import decisions, two_columns
from verax.models.transformers.classifier import TransformerClassifier, TransformerTrace
from verax.models.transformers.hooks import AttentionCall, Handler
from verax.options import ROUNDS, option

CONTROLS = ("gradient", "leave-one-out")
ALL = "all"


@dataclass(frozen=True)
class TransformerErasureOptions(ErasureOptions):
    erased_layers: str = option(
        ALL, "layers in which words lose the attention they get: all, or numbers from 1, as in 5,6"
    )
    erased_steps: int = option(
        32, "the most looks at a document by one ranking", minimum=1, maximum=ROUNDS
    )

    def __post_init__(self) -> None:
        _ = self.layers

    @property
    def layers(self) -> list[int] | None:
        """The layers by number, from 1; None for all."""
        if self.erased_layers.strip() == ALL:
            return None
        parts = [part.strip() for part in self.erased_layers.split(",")]
        if not all(part.isdecimal() and int(part) > 0 for part in parts):
            raise VeraxError(
                f"erased_layers is {self.erased_layers!r}: expected all, or numbers of layers from "
                "1 with commas between them, as in 5,6",
                code="option.malformed",
            )
        return sorted({int(part) for part in parts})


class TransformerErasure(ErasureExam):
    """What goes before a decision changes, when words lose the attention that they get.

    Gives the tables of `ErasureExam`. The weights on a word's pieces are set to zero, in every head
    and for all positions that attend, and the others are scaled up so that each row sums to what it
    did: a sink keeps its share. Words go by each score derived from attention, by controls and at
    random. The smallest set is the best that was found over all rankings, pruned, and not
    certified. Weights are those of `attention`, among words.
    """

    explanation = (
        "The attention that a word gets is set to zero, word by word from the most important down, "
        "and the rest of each row is scaled up; the decision is made anew after each. The smallest "
        "set whose erasure changes the decision is the best that was found over all rankings, "
        "pruned until none of its words can return: no more than an upper bound."
    )
    options_class = TransformerErasureOptions

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        return "searched"

    def begin(self, model: Any, documents: Any) -> None:
        """Check what only the model can tell: its layers, and which scores it has."""
        layers = self.options.layers or range(1, model.layers + 1)
        if max(layers) > model.layers:
            raise VeraxError(
                f"erased_layers: this model has layers 1 to {model.layers}",
                code="option.out-of-range",
            )
        self._layers = [layer - 1 for layer in layers]
        self._names = available([*DERIVED, *CONTROLS], model)

    def states(self, model: Any, trace: Any) -> States:
        check_finite(trace.logits)
        return WordStates(model, trace, self._layers, self.options.erased_steps, self.max_tokens)

    def scores(self, model: Any, trace: Any, states: States) -> dict[str, Tensor]:
        """Name → (1, batch, words)."""
        names = [name for name in self._names if name != ATTENTION]
        more = scores_of(names, self.importances, model, trace, self.seed, self.max_tokens)
        scores = {ATTENTION: states.weights, **more}
        return {name: one.unsqueeze(0) for name, one in scores.items()}


class WordStates:
    """The states of a batch when words lose the attention they get, by passes of the model.

    Args:
        model: a Transformer.
        trace: a batch of texts.
        layers: in which words lose it, counted from 0.
        steps: the most looks at a document by one ranking.
        max_tokens: padded tokens held at once.
    """

    certified = False

    def __init__(
        self,
        model: TransformerClassifier,
        trace: TransformerTrace,
        layers: Collection[int],
        steps: int,
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        self.model, self.trace, self.layers = model, trace, set(layers)
        self.mask, self.steps, self.max_tokens = trace.mask, steps, max_tokens
        self.logits = two_columns(trace.logits.double())
        self.decision = decisions(trace.logits)
        weights = score(ATTENTION, model, trace, max_tokens=max_tokens) * self.mask
        self.weights = weights / weights.sum(-1, keepdim=True).clamp(min=1e-300)
        self._tail = model.tail(trace.pieces, min(self.layers))
        self._first: tuple[Tensor, Tensor] | None = None

    @torch.no_grad()
    def logits_of(self, rows: Tensor, removed: Tensor) -> Tensor:
        """(sets, classes): logits of the texts at `rows` once sets of words are erased.

        rows     (sets,) long
        removed  (sets, words) bool
        """
        together = self.model.rows_within(self.trace.pieces, self.max_tokens)
        parts = []
        for some in torch.arange(len(rows), device=rows.device).split(together):
            pieces = self.trace.pieces.take(rows[some])
            handler = erasing(positions_of(self.model, pieces), removed[some], self.layers)
            parts.append(self._tail.run(handler, rows[some]).logits)
        return torch.cat(parts) if parts else self.trace.logits[:0]

    def _changes(self, rows: Tensor, removed: Tensor) -> Tensor:
        return decisions(self.logits_of(rows, removed)) != self.decision[rows]

    def after(self, removed: Tensor) -> Tensor:
        """(batch, sets, words) bool → (batch, sets, classes): the logits left by each set."""
        batch, sets, words = removed.shape
        rows = torch.arange(batch, device=removed.device).repeat_interleave(sets)
        logits = self.logits_of(rows, removed.reshape(-1, words)).double()
        return two_columns(logits).view(batch, sets, -1)

    def after_each(self, items: Tensor) -> Tensor:
        """(batch, sets) positions, one word erased in each → (batch, sets, classes)."""
        return self.after(torch.nn.functional.one_hot(items, self.mask.shape[1]).bool())

    def first_flips(self, orders: Tensor) -> FirstFlips:
        """Erase in `orders` (rankings, batch, words), each as `ranks_from_below` has it."""
        most_first = orders.flip(-1)
        size = self._sizes(orders)
        taken = (places_of(most_first) < size.unsqueeze(-1)) & self.mask
        mass = (self.weights * taken).sum(-1)
        return FirstFlips(size, mass.masked_fill(size < 0, torch.nan))

    def minimal(self, orders: Tensor | None = None) -> FlipSets:
        """The shortest prefix of any of these orders that flips, pruned."""
        assert orders is not None
        most_first = orders.flip(-1)
        best = best_prefix(most_first, self.mask, self._sizes(orders))
        members = pruned(best, self._changes)
        size = members.sum(-1)
        rows = torch.arange(len(members), device=members.device)
        after = decisions(self.logits_of(rows, members))
        flips = size > 0
        return FlipSets(
            torch.where(flips, size, -1),
            members,
            torch.where(flips, after, -1),
            torch.zeros_like(flips),
            self.certified,
        )

    def _sizes(self, orders: Tensor) -> Tensor:
        """(rankings, batch): when each order first flips; asked once for the same orders."""
        if self._first is None or self._first[0] is not orders:
            sizes = prefix_sizes(self.mask.sum(-1), self.steps)
            first = first_changes(orders.flip(-1), self.mask, sizes, self._changes)
            self._first = (orders, first)
        return self._first[1]


def erasing(positions: Positions, removed: Tensor, layers: Collection[int]) -> Handler:
    """A handler that takes attention off words, and scales the rest of each row up.

    Args:
        positions: of the batch that is read.
        removed: (batch, words) bool.
        layers: in which, counted from 0.

    Rows keep their sum, so that a sink keeps its share; one that attends to nothing else is zero.
    """
    gone = positions.pieces.of_words(removed)

    def erase(call: AttentionCall) -> Tensor | None:
        if call.number not in layers:
            return None
        hidden = gone[:, positions.place(call.keys)].unsqueeze(1).unsqueeze(1)
        left = call.weights.masked_fill(hidden, 0.0)
        sums = left.sum(-1, keepdim=True)
        scale = call.weights.sum(-1, keepdim=True) / torch.where(sums > 0, sums, 1.0)
        return left * scale

    return erase

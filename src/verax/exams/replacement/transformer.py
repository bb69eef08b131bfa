"""The replacement exam of Transformers: at all layers at once, at one layer, and at one head."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from verax.exams.places import head_places, layer_and_head, layer_places
from verax.exams.reading import check_finite, correct, labels_of
from verax.exams.replacement.edits import ALL, Edit, logits_under_edits
from verax.exams.replacement.exam import ReplacementExam, ReplacementOptions
from verax.exams.replacement.measures import PERMUTED, TRAINED, UNIFORM
from verax.models.base import TextClassifier
from verax.models.layers import decisions, probabilities
from verax.models.transformers.classifier import TransformerClassifier
from verax.options import ROUNDS, option

AUTO, NO, BOTH = "auto", "no", "both"
MOST_HEADS = 144
"""Heads of a model that are replaced one by one unasked: a pass over every document each."""


@dataclass(frozen=True)
class TransformerReplacementOptions(ReplacementOptions):
    by_layer: bool = option(True, "also replace the attention of one layer at a time")
    by_head: str = option(
        AUTO,
        "also replace one head at a time: by uniform attention, by permuted, too (both), or not; "
        f"auto: uniform, in a model of at most {MOST_HEADS} heads",
        choices=(AUTO, UNIFORM, BOTH, NO),
    )
    place_permutations: int = option(
        1, "random orders of one layer's weights, and of one head's", minimum=1, maximum=ROUNDS
    )


class TransformerReplacement(ReplacementExam):
    """The same for a Transformer: the attention of all its layers, or of one place, is replaced.

    Uniform attention gives the keys that a query may attend to the same weight, special tokens
    among them; permuted attention gives them the query's weights in random order. A sink keeps its
    share. States are computed anew from the first layer that is changed. Every pass takes the same
    way, that of trained attention, too. Gives the same tables, where `items` are the pieces that
    are read, and one more:

    replacement_places  by `place` (layer 3, head 3.2), `attention` and `draw`: survived, tvd
    """

    options_class = TransformerReplacementOptions

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        """Exact; heads one by one where they are few, or where it is asked for."""
        assert isinstance(model, TransformerClassifier)
        heads = model.layers * model.heads
        if heads <= MOST_HEADS:
            return "exact"
        return f"exact; not head by head, for there are {heads:,}: by_head={UNIFORM} asks for it"

    def begin(self, model: Any, documents: Any) -> None:
        o = self.options
        orders = [Edit(PERMUTED, draw) for draw in range(o.permutations)]
        self.everywhere = [Edit(TRAINED), Edit(UNIFORM), *orders]
        self.places: dict[str, list[Edit]] = {}
        by_head = o.by_head
        if by_head == AUTO:
            by_head = UNIFORM if model.layers * model.heads <= MOST_HEADS else NO
        chosen = [(place, True) for place in layer_places(model.layers) if o.by_layer]
        if by_head != NO:
            heads = head_places(model.layers, model.heads)
            chosen += [(place, by_head == BOTH) for place in heads]
        for place, is_permuted in chosen:
            layer, head = layer_and_head(place)
            draws = range(o.place_permutations if is_permuted else 0)
            orders = [Edit(PERMUTED, draw, layer, head or ALL) for draw in draws]
            self.places[place] = [Edit(UNIFORM, 0, layer, head or ALL), *orders]

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        check_finite(trace.logits)
        edits = [*self.everywhere, *(edit for some in self.places.values() for edit in some)]
        logits = logits_under_edits(model, trace, edits, self.seed, self.max_tokens)
        decided, shares = decisions(logits), probabilities(logits)
        measures = {
            "decision": decided,
            "survived": decided == decided[0],
            "tvd": (shares - shares[0]).abs().sum(-1) / 2,
        }
        everywhere = len(self.everywhere)
        labels: list[dict[str, str | int]] = [
            {"attention": edit.attention, "draw": edit.draw} for edit in self.everywhere
        ]
        of_all = {name: values[:everywhere] for name, values in measures.items()}
        self.builder.add("replacement", trace.ids, of_all, labels=labels)
        if self.places:
            labels = [
                {"place": place, "attention": edit.attention, "draw": edit.draw}
                for place, some in self.places.items()
                for edit in some
            ]
            of_places = {name: measures[name][everywhere:] for name in ("survived", "tvd")}
            self.builder.add("replacement_places", trace.ids, of_places, labels=labels)
        truth = labels_of(trace)
        measures = {
            "items": trace.pieces.mask.sum(-1),
            "classes": torch.full_like(decided[0], shares.shape[-1]),
            "label": truth,
            "correct": correct(truth, decided[0]),
            "decision_differs": decided[0] != decisions(trace.logits),
        }
        self.builder.add("replacement_instances", trace.ids, measures)

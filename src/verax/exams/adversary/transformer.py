"""The adversary exam for Transformers: another attention in the last layer, searched for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.divergence import MOST
from verax.exams.adversary.exam import AdversaryExam, AdversaryOptions
from verax.exams.adversary.last_layer import (
    moved_by_permuting,
    read_rows,
    rows_at_once,
    search_last_layer,
)
from verax.exams.adversary.measures import BEST, written
from verax.exams.adversary.most_divergent import farthest_anywhere
from verax.exams.reading import check_finite, correct, labels_of
from verax.models.base import TextClassifier
from verax.models.layers import decisions, probabilities
from verax.options import ROUNDS, option


@dataclass(frozen=True)
class TransformerAdversaryOptions(AdversaryOptions):
    epsilons: str = option(
        "0.01,0.05,0.1,1", "how far the output may move in total variation; 1 leaves it free"
    )
    restarts: int = option(3, "attentions that a search starts from", minimum=1, maximum=ROUNDS)
    search_steps: int = option(60, "steps of a search", minimum=1, maximum=ROUNDS)
    permutation_test: int = option(
        20,
        "random orders of the weights, of whose |Δŷ| the median is taken",
        minimum=1,
        maximum=ROUNDS,
    )


class TransformerAdversary(AdversaryExam):
    """Is there another attention of the last layer, far from the model's own, with its output?

    Gives the tables of `AdversaryExam`; items are the positions that are attended to, special
    tokens among them. Rows that are read are varied, one distribution a head, by gradient ascent;
    the farthest attention found within each ε, in total variation, is replayed in a full pass. Its
    divergence is what is witnessed, ln 2 the bound of what there may be.
    """

    explanation = (
        "The attention of the last layer, where the classifier reads, is varied head by head to be "
        "as far as can be from the model's own, in nats of Jensen–Shannon divergence of the heads' "
        "mean, while the output moves by ε at most. It is searched for, so that what is found is a "
        "witness: a farther one may exist. Each was replayed in a full pass of the model."
    )
    options_class = TransformerAdversaryOptions

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        return "searched"

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        check_finite(trace.logits)
        some = torch.arange(len(trace), device=trace.logits.device)
        parts = [
            self._part(model, trace, rows)
            for rows in some.split(rows_at_once(model, trace.pieces, self.max_tokens))
        ]
        instances, found = zip(*parts, strict=True)
        labels: list[dict[str, str | int]] = [
            {"epsilon": written(epsilon), "by": BEST} for epsilon in self.options.bounds
        ]
        measures = {name: torch.cat([part[name] for part in found], -1) for name in found[0]}
        self.builder.add("adversary", trace.ids, measures, labels=labels)
        measures = {name: torch.cat([part[name] for part in instances]) for name in instances[0]}
        self.builder.add("adversary_instances", trace.ids, measures)

    def _part(
        self, model: Any, trace: Any, rows: Tensor
    ) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """Measures of the documents at `rows`: theirs, and (bounds, documents) of witnesses."""
        pieces, logits = trace.pieces.take(rows), trace.logits[rows]
        keys, labels = trace.batch.row_index[rows], labels_of(trace)[rows]
        own = read_rows(model, pieces)
        witnesses = search_last_layer(
            *(model, pieces, own, logits, self.options.bounds, keys),
            seed=self.seed,
            restarts=self.options.restarts,
            steps=self.options.search_steps,
        )
        draws = self.options.permutation_test
        moved = moved_by_permuting(model, pieces, own, logits, keys, self.seed, draws)
        decided, shares = decisions(logits), probabilities(logits.double())
        after = probabilities(witnesses.logits.double())
        place = decided.view(1, -1, 1).expand(len(after), -1, 1)
        change = (after.gather(-1, place) - shares.gather(-1, place[0])).squeeze(-1).abs()
        again = decisions(witnesses.logits)
        found = {
            "jsd": witnesses.jsd,
            "change": change,
            "kept": again == decided,
            "correct": correct(labels.expand_as(again), again),
            "certified": torch.zeros_like(change),
            "upper_bound": torch.full_like(change, MOST),
        }
        weights, mask = own.spread(own.weights), own.positions
        instances = {
            "items": mask.sum(-1),
            "classes": torch.full_like(decided, shares.shape[-1]),
            "label": labels,
            "correct": correct(labels, decided),
            "decision": decided,
            "max_weight": weights.amax(-1),
            "confidence": shares.amax(-1),
            "permuted": moved.quantile(0.5, dim=0),
            "farthest": farthest_anywhere(weights, mask),
        }
        return instances, found

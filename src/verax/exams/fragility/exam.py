"""The fragility exam: decisions under uniform and permuted attention, from one encoder pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from verax.exams.reading import check_affine, check_finite, correct
from verax.exams.said import ItemExam, Said
from verax.models.counterfactual import permuted, uniform
from verax.models.head import decisions, probabilities
from verax.options import option


@dataclass(frozen=True)
class FragilityOptions:
    permutations: int = option(10, "random orders of each document's attention weights", minimum=1)


class FragilityExam(ItemExam):
    """Whether decisions survive when attention is replaced and all else stays (Tutek & Šnajder).

    Gives two tables:

    fragility_instances  items, classes, label, correct, decision_differs (from the model's own, in
                         single precision)
    fragility            by `attention` (trained, uniform, permuted) and `draw`: decision, survived
                         (1 where it is the one under trained attention), tvd (total variation
                         distance of the output from that under trained attention)

    Trained attention takes the same way as the others, in double precision, so that differences
    come from the weights alone.
    """

    name = "fragility"
    options_class = FragilityOptions

    def look(self, said: Said) -> None:
        """Examine some documents."""
        check_finite(said.logits)
        draws = self.options.permutations
        own = torch.stack([said.weights.double(), uniform(said.mask)])
        shuffled = permuted(said.weights, said.mask, said.keys, self.seed, draws)
        logits = said.logits_under(torch.cat([own, shuffled.double()]))
        if said.is_affine:
            check_affine(said.logits, logits[0])
        decided, shares = decisions(logits), probabilities(logits)
        measures = {
            "decision": decided,
            "survived": decided == decided[0],
            "tvd": (shares - shares[0]).abs().sum(-1) / 2,
        }
        labels: list[dict[str, str | int]] = [
            {"attention": "trained", "draw": 0},
            {"attention": "uniform", "draw": 0},
        ]
        labels += [{"attention": "permuted", "draw": draw} for draw in range(draws)]
        everyone = torch.ones(len(said), dtype=torch.bool)
        self.ledger.add("fragility", said.ids, measures, everyone, labels)
        measures = {
            "items": said.mask.sum(-1),
            "classes": torch.full_like(decided[0], shares.shape[-1]),
            "label": said.labels,
            "correct": correct(said.labels, decided[0]),
            "decision_differs": decided[0] != decisions(said.logits),
        }
        self.ledger.add("fragility_instances", said.ids, measures, everyone)

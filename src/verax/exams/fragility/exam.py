"""The fragility exam: decisions under uniform and permuted attention, from one encoder pass."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from verax.exams.exam import Exam
from verax.exams.reading import check_affine, check_finite, correct, labels_of
from verax.models.classifier import AttentionClassifier
from verax.models.counterfactual import logits_under, permuted, uniform
from verax.models.head import decisions, probabilities
from verax.models.trace import Trace
from verax.options import option


@dataclass(frozen=True)
class FragilityOptions:
    permutations: int = option(10, "random orders of each document's attention weights", minimum=1)


class FragilityExam(Exam):
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

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch."""
        check_finite(trace)
        keys, draws = trace.batch.keys, self.options.permutations
        kinds = [
            trace.weights.unsqueeze(0),
            uniform(trace.mask).unsqueeze(0),
            permuted(trace.weights, trace.mask, keys, self.seed, draws),
        ]
        logits = torch.cat([logits_under(trace, kind) for kind in kinds])
        if trace.is_affine:
            check_affine(trace, logits[0])
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
        everyone = torch.ones(len(trace), dtype=torch.bool)
        self.ledger.add("fragility", trace.ids, measures, everyone, labels)
        measures = {
            "items": trace.mask.sum(-1),
            "classes": torch.full_like(decided[0], shares.shape[-1]),
            "label": labels_of(trace),
            "correct": correct(trace, decided[0]),
            "decision_differs": decided[0] != decisions(trace.logits),
        }
        self.ledger.add("fragility_instances", trace.ids, measures, everyone)

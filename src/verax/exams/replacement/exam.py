"""The replacement exam: decisions under uniform and permuted attention, from one encoder pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch

from verax.exams.item_evidence import ItemEvidence, ItemExam
from verax.exams.reading import check_affine, check_finite, correct
from verax.exams.registry import register
from verax.exams.replacement import judging, summary
from verax.exams.replacement.measures import TABLES
from verax.models.counterfactual import permuted, uniform
from verax.models.kinds import TRANSFORMER
from verax.models.layers import decisions, probabilities
from verax.options import ROUNDS, option


@dataclass(frozen=True)
class ReplacementOptions:
    permutations: int = option(
        10, "random orders of each document's attention weights", minimum=1, maximum=ROUNDS
    )


@register
class ReplacementExam(ItemExam):
    """Whether decisions survive when attention is replaced and all else stays (Tutek & Šnajder).

    Gives two tables:

    replacement_instances  items, classes, label, correct, decision_differs (from the model's own,
                           in single precision)
    replacement            by `attention` (trained, uniform, permuted) and `draw`: decision,
                           survived (1 where it is the one under trained attention), tvd (total
                           variation distance of the output from that under trained attention)

    Trained attention takes the same way as the others, in double precision, so that differences
    come from the weights alone.
    """

    name = "replacement"
    title = "Replacement"
    question = "Does the decision change when attention is made uniform, or permuted?"
    comparison = "decisions when attention is replaced and all else stays"
    explanation = (
        "The trained weights are replaced by uniform ones, and by random orders of "
        "themselves, in all layers of a Transformer; the rest of the model stays. A model whose "
        "decisions survive does not depend on its attention; Tutek & Šnajder (2020) call one "
        "whose decisions change fragile, and mean it well."
    )
    options_class = ReplacementOptions
    summary_tables = TABLES
    tidy_tables = ("replacement_instances", "replacement", "replacement_places")
    charts = "verax.exams.replacement.charts"
    limit_ranges = judging.LIMIT_RANGES
    candidates = judging.CANDIDATES
    decisions_table = "replacement_instances"
    decides_again = True
    variants: ClassVar[Mapping[str, str]] = {
        TRANSFORMER: "verax.exams.replacement.transformer:TransformerReplacement"
    }
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)
    judge = staticmethod(judging.judge)

    def look(self, evidence: ItemEvidence) -> None:
        """Examine some documents."""
        widest = max(evidence.mask.shape[1], evidence.logits.shape[-1])
        for rows in evidence.parts((2 + self.options.permutations) * widest):
            self._look(evidence.take(rows))

    def _look(self, evidence: ItemEvidence) -> None:
        check_finite(evidence.logits)
        draws = self.options.permutations
        fixed = torch.stack([evidence.weights.double(), uniform(evidence.mask)])
        shuffled = permuted(evidence.weights, evidence.mask, evidence.row_index, self.seed, draws)
        logits = evidence.logits_under(torch.cat([fixed, shuffled.double()]))
        if evidence.is_affine:
            check_affine(evidence.logits, logits[0])
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
        self.builder.add("replacement", evidence.ids, measures, labels=labels)
        measures = {
            "items": evidence.mask.sum(-1),
            "classes": torch.full_like(decided[0], shares.shape[-1]),
            "label": evidence.labels,
            "correct": correct(evidence.labels, decided[0]),
            "decision_differs": decided[0] != decisions(evidence.logits),
        }
        self.builder.add("replacement_instances", evidence.ids, measures)

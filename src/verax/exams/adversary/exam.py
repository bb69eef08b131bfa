"""The adversary exam: another attention with the same prediction, from one encoder pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor

from verax.divergence import total_variation
from verax.errors import VeraxError
from verax.exams.adversary import judging, summary
from verax.exams.adversary.measures import BEST, SEARCHED, TABLES, written
from verax.exams.adversary.most_divergent import (
    MET,
    Adversary,
    farthest_anywhere,
    farthest_item,
    most_divergent,
)
from verax.exams.adversary.search import SearchedAttentions, SearchOptions, search, search_through
from verax.exams.item_evidence import ItemEvidence, ItemExam
from verax.exams.reading import check_affine, check_finite, correct
from verax.exams.registry import register
from verax.models.counterfactual import permuted
from verax.models.kinds import TRANSFORMER
from verax.models.layers import decisions, probabilities
from verax.options import ROUNDS, option, parse


@dataclass(frozen=True)
class AdversaryOptions:
    epsilons: str = option(
        "0.01,0.05,0.1,0.25,0.5,1",
        "how far the probability of the decision may move; 1 leaves it free",
    )
    search: bool = option(
        False, "search as Jain & Wallace do, too, and tell how far it falls short"
    )
    restarts: int = option(5, "attentions that a search starts from", minimum=1, maximum=ROUNDS)
    search_steps: int = option(500, "steps of a search", minimum=1, maximum=ROUNDS)
    permutation_test: int = option(
        100,
        "random orders of the weights, of whose |Δŷ| the median is taken",
        minimum=1,
        maximum=ROUNDS,
    )

    def __post_init__(self) -> None:
        _ = self.bounds

    @cached_property
    def bounds(self) -> list[float]:
        """The epsilons as numbers, rising, each once."""
        parts = [part.strip() for part in self.epsilons.split(",") if part.strip()]
        epsilons = sorted({float(parse("epsilons", part, float)) for part in parts})
        if not epsilons or not 0 <= epsilons[0] <= epsilons[-1] <= 1:
            raise VeraxError(
                f"epsilons is {self.epsilons!r}: expected changes of a probability from 0 to 1, "
                "with commas between them, as in 0.01,0.05,1",
                code="option.malformed",
            )
        return epsilons


@register
class AdversaryExam(ItemExam):
    """Is there another attention with the same prediction (Jain & Wallace; Meister et al.)?

    Gives two tables:

    adversary_instances  items, classes, label, correct, decision, max_weight (the largest α_i),
                         confidence (p of the decision), permuted (median over random orders of the
                         weights of |Δŷ|, the total variation distance of the output), farthest
                         (JSD of the most divergent attention, whatever it says)
    adversary            by `epsilon` and `by`: jsd of the most divergent attention in nats, change
                         (|Δp| of the decision), kept (the decision stays), correct, certified,
                         upper_bound

    `by` is `best`: with an affine head exact for two classes, and the best item or edge, or what a
    search found if that is more, for several; and `search`: Jain & Wallace's, if it is asked for.
    A head that is not affine is asked about single items, and searched.
    """

    name = "adversary"
    title = "Adversary"
    question = "Can a very different attention give the same output?"
    comparison = "how far another attention can be that keeps the probability"
    explanation = (
        "Of all attentions that move the probability of the decision by ε at most, the one "
        "farthest from the model's own, in nats of Jensen–Shannon divergence; for two "
        "classes it is exact. What is judged is by how much keeping the output holds it "
        "back from the farthest there is (Jain & Wallace 2019 search for it)."
    )
    costly = True
    options_class = AdversaryOptions
    summary_tables = TABLES
    tidy_tables = ("adversary_instances", "adversary")
    charts = "verax.exams.adversary.charts"
    limit_ranges = judging.LIMIT_RANGES
    candidates = judging.CANDIDATES
    of_items = True
    decisions_table = "adversary_instances"
    decides_again = True
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)
    better = staticmethod(judging.direction)
    label = staticmethod(judging.label)
    counted_as = staticmethod(judging.counted_as)
    judge = staticmethod(judging.judge)
    variants: ClassVar[Mapping[str, str]] = {
        TRANSFORMER: "verax.exams.adversary.transformer:TransformerAdversary"
    }

    def look(self, evidence: ItemEvidence) -> None:
        """Examine some documents."""
        check_finite(evidence.logits)
        logits = evidence.logits_under(evidence.weights.double())
        if evidence.is_affine:
            check_affine(evidence.logits, logits)
        searched = self._search(evidence) if self.options.search or not evidence.is_affine else None
        labels: list[dict[str, str | int]] = []
        rows: list[dict[str, Tensor]] = []
        for epsilon in self.options.bounds:
            by_method = self._known(evidence, logits, searched, epsilon)
            for by, adversary in by_method.items():
                labels.append({"epsilon": written(epsilon), "by": by})
                rows.append(_measures(adversary, evidence.labels))
        measures = {name: torch.stack([row[name] for row in rows]) for name in rows[0]}
        self.builder.add("adversary", evidence.ids, measures, labels=labels)
        self.builder.add("adversary_instances", evidence.ids, self._instances(evidence, logits))

    def _search(self, evidence: ItemEvidence) -> SearchedAttentions:
        options = SearchOptions(restarts=self.options.restarts, steps=self.options.search_steps)
        settings: dict[str, Any] = {
            "keys": evidence.row_index,
            "seed": self.seed,
            "options": options,
        }
        if evidence.is_affine:
            return search(evidence.weights, evidence.item_logits, evidence.mask, **settings)
        return search_through(evidence.weights, evidence.logits_under, evidence.mask, **settings)

    def _known(
        self,
        evidence: ItemEvidence,
        logits: Tensor,
        searched: SearchedAttentions | None,
        epsilon: float,
    ) -> dict[str, Adversary]:
        """The most divergent attention by how it was come by: best, and search where asked for."""
        if evidence.is_affine:
            best = most_divergent(evidence.weights, evidence.item_logits, evidence.mask, epsilon)
        else:
            best = farthest_item(
                evidence.weights, evidence.item_logits, logits, evidence.mask, epsilon
            )
        if searched is None:
            return {BEST: best}
        ended = searched.best(epsilon)
        searched_one = Adversary(
            ended.weights,
            ended.jsd,
            ended.change,
            decisions(ended.logits) == decisions(searched.own_logits),
            (best.upper_bound - ended.jsd).abs() <= MET,
            best.upper_bound,
            ended.logits,
        )
        # a certificate stands as it is: a search that were beyond it has to show
        by_method = {BEST: best.or_farther(searched_one, ~best.certified)}
        return by_method | {SEARCHED: searched_one} if self.options.search else by_method

    def _instances(self, evidence: ItemEvidence, logits: Tensor) -> dict[str, Tensor]:
        decided, shares = decisions(logits), probabilities(logits)
        return {
            "items": evidence.mask.sum(-1),
            "classes": torch.full_like(decided, shares.shape[-1]),
            "label": evidence.labels,
            "correct": correct(evidence.labels, decided),
            "decision": decided,
            "max_weight": evidence.weights.double().amax(-1),
            "confidence": shares.amax(-1),
            "permuted": self._permuted(evidence, shares),
            "farthest": farthest_anywhere(evidence.weights, evidence.mask),
        }

    def _permuted(self, evidence: ItemEvidence, shares: Tensor) -> Tensor:
        """(batch,): the median over random orders of the weights of how far the output moves."""
        draws = self.options.permutation_test
        each = draws * max(evidence.mask.shape[1], shares.shape[-1])
        medians = []
        for rows in evidence.parts(each):
            some = evidence.take(rows)
            orders = permuted(some.weights, some.mask, some.row_index, self.seed, draws)
            moved = total_variation(probabilities(some.logits_under(orders)), shares[rows])
            medians.append(moved.quantile(0.5, dim=0))
        return torch.cat(medians)


def _measures(adversary: Adversary, labels: Tensor) -> dict[str, Tensor]:
    return {
        "jsd": adversary.jsd,
        "change": adversary.change,
        "kept": adversary.decision_kept,
        "correct": correct(labels, decisions(adversary.logits)),
        "certified": adversary.certified,
        "upper_bound": adversary.upper_bound,
    }

"""The sufficiency exam: comprehensiveness and sufficiency of each ranking of words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.budget import parts_within
from verax.errors import VeraxError
from verax.exams.deletion.rankings import (
    RemovalOptions,
    chosen_rankings,
    orders_of,
    scores_of,
)
from verax.exams.exam import Exam
from verax.exams.reading import check_finite, correct, labels_of
from verax.exams.registry import register
from verax.exams.sufficiency import judging, summary
from verax.exams.sufficiency.measures import (
    BEST,
    CHANGED,
    COMPREHENSIVENESS,
    KEPT,
    LEAST_SPAN,
    NORMALISED,
    RANDOM,
    SUFFICIENCY,
    TABLES,
    written,
)
from verax.exams.sufficiency.sets import Ask, Questions, greedy_order, prefix_answers, words_at
from verax.importance.deletion.several import check_operator, logits_without_sets
from verax.models.base import TextClassifier
from verax.models.kinds import KINDS
from verax.models.layers import decisions, probabilities
from verax.options import option


@dataclass(frozen=True)
class SufficiencyOptions(RemovalOptions):
    percentages: str = option("1,5,10,20,50", "percent of the words, the most important first")
    greedy_sets: int = option(
        500,
        "the most sets of words that the search for the best asks about, for each document; 0 "
        "searches nothing",
        minimum=0,
    )


@register
class SufficiencyExam(Exam):
    """Probability and decisions without the words that rank first, and with these alone.

    Gives three tables:

    sufficiency_instances  words, examined (0 below two words), correct, decision,
                           probability (of the decision), empty (the same without words), asked
                           (sets of words asked about), rounds (of the greedy search)
    sufficiency            for each ranking and percentage: comprehensiveness, sufficiency,
                           normalised_comprehensiveness, normalised_sufficiency (NaN where
                           probability − empty is below 0.05), changed, kept; of random orders
                           means
    sufficiency_best       for each percentage: size (how many words), the same of the best sets
                           found, and exact (1 where no other set can be better)

    A text without words is read as the empty text; for a model of ours the bias decides then.
    """

    name = "sufficiency"
    title = "Sufficiency"
    question = "Are the words that a score ranks first enough for the decision, and needed for it?"
    comparison = "probability without the words that rank first, and with these alone"
    explanation = (
        "The words that a ranking puts first, some percent of all, are taken out of the text, and "
        "then left alone in it (DeYoung et al. 2020). Comprehensiveness is how much probability "
        "the decision loses without them: higher is better. Sufficiency is how much it loses with "
        "them alone: lower is better. Both are means over percentages. What taking out all words "
        "does sets the scale on which models compare (Carton et al. 2020). Best found is the best "
        "set of each size by any ranking or by greedy search: a better one may exist."
    )
    costly = True
    options_class = SufficiencyOptions
    summary_tables = TABLES
    tidy_tables = ("sufficiency_instances", "sufficiency", "sufficiency_best")
    charts = "verax.exams.sufficiency.charts"
    limits = judging.LIMITS
    limit_ranges = judging.LIMIT_RANGES
    candidates = judging.CANDIDATES
    decisions_table = "sufficiency_instances"
    kinds = KINDS
    default_for = ()
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)
    better = staticmethod(judging.direction)
    is_compared = staticmethod(judging.is_compared)
    judge = staticmethod(judging.judge)

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        """Bounded: better sets of words than the best found may exist."""
        return "bounded"

    def setup(self) -> None:
        """Read the percentages, and refuse a name that a row of the summary has."""
        self._percentages = parse_percentages(self.options.percentages)
        if BEST in self.importances:
            raise VeraxError(
                f"importance {BEST!r} has the name of what sufficiency finds itself: give yours "
                "another name",
                code="importance.name-taken",
            )

    def begin(self, model: Any, documents: Any) -> None:
        """Check what only the model can tell: its operators and importances."""
        check_operator(self.options.operator, model)
        self._names = chosen_rankings(self.options.rankings, model)

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        check_finite(trace.logits)
        mask, decided = trace.batch.words, decisions(trace.logits)
        scores = scores_of(self._names, self.importances, model, trace, self.seed, self.max_tokens)
        orders = orders_of(scores, trace, self.seed, self.options.random_orders)
        counts = mask.sum(-1)
        several = counts > 1
        sizes = words_at(counts, self._percentages)
        probability = _of_decision(trace.logits, decided)
        whole = torch.stack([probability, torch.ones_like(probability)], -1)
        questions = Questions(self._ask(model, trace, decided), whole, mask)
        empty = questions(torch.arange(len(mask), device=mask.device), mask)[:, 0]
        without, alone = prefix_answers(orders, sizes, several, questions)
        rounds = self._search(counts, sizes, several, questions)
        span = probability - empty
        measures = _measures(without, alone, probability, span)
        self._add_ranked(trace, list(scores), measures, several)
        best = _measures(*questions.best(sizes), probability, span)
        only = (sizes == 1) | (sizes == counts - 1)
        exact = (sizes == counts) | (only & (rounds > 0))
        self.builder.add(
            "sufficiency_best",
            trace.ids,
            {"size": sizes, **best, "exact": exact},
            several,
            [{"percentage": written(one)} for one in self._percentages],
        )
        instances = {
            "words": counts,
            "examined": several,
            "correct": correct(labels_of(trace), decided),
            "decision": decided,
            "probability": probability,
            "empty": empty,
            "asked": questions.count,
            "rounds": rounds,
        }
        self.builder.add("sufficiency_instances", trace.ids, instances)

    def _ask(self, model: Any, trace: Any, decided: Tensor) -> Ask:
        """The probability of decisions without some words, and whether they stay the same."""

        def ask(rows: Tensor, removed: Tensor) -> Tensor:
            how = (self.max_tokens, self.options.operator)
            answers = torch.empty(len(rows), 2, dtype=torch.float64, device=rows.device)
            for some in parts_within(len(rows), trace.logits.shape[-1]):
                logits = logits_without_sets(model, trace, rows[some], removed[some], *how)
                y = decided[rows[some]]
                answers[some, 0] = _of_decision(logits, y)
                answers[some, 1] = (decisions(logits) == y).double()
            return answers

        return ask

    def _search(
        self, counts: Tensor, sizes: Tensor, several: Tensor, questions: Questions
    ) -> Tensor:
        """(batch,) long: rounds of the greedy searches, which leave their answers in `questions`.

        One search takes words out, another keeps them; both look at no more sets than allowed.
        """
        most = torch.where(sizes < counts, sizes, 1).amax(0)
        prefixes = 4 * len(sizes)  # of both orders, taken out and left alone
        left = max(0, self.options.greedy_sets - prefixes)
        allowed = left // (2 * counts.clamp(min=1))
        rounds = torch.minimum(allowed, most).masked_fill(~several, 0)
        if bool((rounds > 0).any()):
            both = [greedy_order(most, rounds, questions, keeps) for keeps in (False, True)]
            prefix_answers(torch.stack(both), sizes, rounds > 0, questions)
        return rounds

    def _add_ranked(
        self, trace: Any, names: list[str], measures: dict[str, Tensor], several: Tensor
    ) -> None:
        """Add a row for each ranking and percentage; random orders by their mean."""
        labels: list[dict[str, str | int]] = [
            {"ranking": name, "percentage": written(one)}
            for one in self._percentages
            for name in (*names, RANDOM)
        ]
        known = len(names)
        together = {
            name: torch.cat([m[:, :known], m[:, known:].mean(1, keepdim=True)], 1).flatten(0, 1)
            for name, m in measures.items()
        }
        self.builder.add("sufficiency", trace.ids, together, several, labels)


def parse_percentages(text: str) -> list[float]:
    """Percentages in rising order, each once.

    >>> parse_percentages("5, 1,5")
    [1.0, 5.0]
    """
    try:
        percentages = sorted({float(part) for part in text.split(",") if part.strip()})
    except ValueError:
        percentages = []
    if not percentages or not all(0 < one <= 100 for one in percentages):
        raise VeraxError(
            f"percentages is {text!r}: expected numbers above 0 and up to 100, as in 1,5,10,20,50",
            code="option.malformed",
        )
    return percentages


def _of_decision(logits: Tensor, decided: Tensor) -> Tensor:
    """(batch,) float64: the probability of a class."""
    return probabilities(logits.double()).gather(-1, decided.unsqueeze(-1)).squeeze(-1)


def _measures(
    without: Tensor, alone: Tensor, probability: Tensor, span: Tensor
) -> dict[str, Tensor]:
    """Measures of answers: name → the shape of answers less the last.

    Args:
        without: (…, batch, 2) answers without words.
        alone: (…, batch, 2) with these alone.
        probability: (batch,) of the decision.
        span: (batch,) what taking out all words does to it.
    """
    lost, missing = probability - without[..., 0], probability - alone[..., 0]
    scale = span.masked_fill(span < LEAST_SPAN, math.nan)
    return {
        COMPREHENSIVENESS: lost,
        SUFFICIENCY: missing,
        NORMALISED[COMPREHENSIVENESS]: (lost / scale).clamp(0, 1),
        NORMALISED[SUFFICIENCY]: (1 - missing / scale).clamp(0, 1),
        CHANGED: 1 - without[..., 1],
        KEPT: alone[..., 1],
    }

"""The deletion exam: words are taken out of the text until the decision changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.exams.deletion import judging, summary
from verax.exams.deletion.changes import Changes, first_changes, places_of, prefix_sizes, pruned
from verax.exams.deletion.measures import RANDOM, TABLES
from verax.exams.deletion.rankings import chosen_rankings, orders_of, scores_of
from verax.exams.exam import Exam
from verax.exams.reading import check_finite, correct, labels_of
from verax.exams.registry import register
from verax.importance.deletion.several import check_operator, logits_without_sets
from verax.models.head import decisions
from verax.models.kinds import DELETE, KINDS, PREDICT, TRANSFORMER, TextClassifier
from verax.options import option


@dataclass(frozen=True)
class DeletionOptions:
    operator: str = option(
        DELETE,
        "how words are taken out: delete; of a Transformer also mask (the mask token stands for "
        "them) and attention (nothing can attend to them)",
    )
    rankings: str | None = option(
        None, "importances to rank words by [those derived from attention, and controls]"
    )
    random_orders: int = option(5, "random orders drawn for each document", minimum=1)
    steps: int = option(
        32,
        "the most looks at a document by one ranking; longer ones are looked at evenly",
        minimum=1,
    )


@register
class DeletionExam(Exam):
    """Words to take out, by each ranking and at least, before a decision changes.

    Gives three tables:

    deletion_instances  words, examined (0 where there is one word), correct, decision, resolution
                        (the most words between two looks)
    deletion            for each ranking (`draw` tells random ones apart): size, share, excess
                        (words beyond the smallest set found), everything (1 where all words were
                        gone); NaN where the decision never changes
    deletion_smallest   of the smallest set found over all rankings, pruned: upper, share,
                        everything; NaN where nothing that was tried changes the decision

    A text without words is read as the empty text; for a model of ours the bias decides then.
    """

    name = "deletion"
    title = "Deletion"
    question = "Do the words that a score ranks first change the decision when they are gone?"
    comparison = "words to take out before a decision changes"
    explanation = (
        "Words are taken out of the text, from the most important down, and what is left is read "
        "again, until the decision changes. A score that finds the words that matter needs fewer "
        "than random order. The smallest set found by any ranking, pruned until none of its words "
        "can return, is an upper bound of the fewest words that matter; smaller ones may exist. "
        "A decision that a ranking never changes counts as all of its words."
    )
    options_class = DeletionOptions
    summary_tables = TABLES
    tidy_tables = ("deletion_instances", "deletion", "deletion_smallest")
    charts = "verax.exams.deletion.charts"
    limits = judging.LIMITS
    limit_ranges = judging.LIMIT_RANGES
    decisions_table = "deletion_instances"
    kinds = KINDS
    default_for = (TRANSFORMER, PREDICT)
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)
    better = staticmethod(judging.direction)
    is_compared = staticmethod(judging.is_compared)
    judge = staticmethod(judging.judge)

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        """Bounded: a smaller set of words than the one found may exist."""
        return "bounded"

    def begin(self, model: Any, documents: Any) -> None:
        """Check what only the model can tell: its operators and importances."""
        self._names = self._rankings(model)

    def _rankings(self, model: Any) -> list[str]:
        check_operator(self.options.operator, model)
        return chosen_rankings(self.options.rankings, model)

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        check_finite(trace.logits)
        mask, decided = trace.batch.words, decisions(trace.logits)
        scores = scores_of(self._names, self.importances, model, trace, self.seed, self.max_tokens)
        orders = orders_of(scores, trace, self.seed, self.options.random_orders)
        counts = mask.sum(-1)
        several = counts > 1
        sizes = prefix_sizes(counts, self.options.steps).masked_fill(~several, 0)
        changes = self._changes(model, trace, decided)
        first = first_changes(orders, mask, sizes, changes)
        smallest = pruned(best_prefix(orders, mask, first), changes)
        self._add(trace, list(scores), first, smallest, several)
        gaps = torch.cat([sizes[:1], sizes.diff(dim=0)]).amax(0)
        measures = {
            "words": counts,
            "examined": several,
            "correct": correct(labels_of(trace), decided),
            "decision": decided,
            "resolution": torch.where(several, gaps, 1),
        }
        self.builder.add("deletion_instances", trace.ids, measures)

    def _changes(self, model: Any, trace: Any, decided: Tensor) -> Changes:
        """Whether the decision is another one without some words, in the precision of the model."""

        def changes(rows: Tensor, removed: Tensor) -> Tensor:
            how = (self.max_tokens, self.options.operator)
            logits = logits_without_sets(model, trace, rows, removed, *how)
            return decisions(logits) != decided[rows]

        return changes

    def _add(
        self, trace: Any, names: list[str], first: Tensor, smallest: Tensor, several: Tensor
    ) -> None:
        words = trace.batch.words.sum(-1).double()
        size, upper = first.double(), smallest.sum(-1).double()
        measures = {
            "size": size,
            "share": size / words,
            "excess": size - upper,
            "everything": (size == words).double(),
        }
        measures = {name: m.masked_fill(first < 0, torch.nan) for name, m in measures.items()}
        labels: list[dict[str, str | int]] = [{"ranking": name, "draw": 0} for name in names]
        draws = range(self.options.random_orders)
        labels += [{"ranking": RANDOM, "draw": draw} for draw in draws]
        self.builder.add("deletion", trace.ids, measures, several, labels)
        measures = {
            "upper": upper,
            "share": upper / words,
            "everything": (upper == words).double(),
        }
        measures = {name: m.masked_fill(upper == 0, torch.nan) for name, m in measures.items()}
        self.builder.add("deletion_smallest", trace.ids, measures, several)


def best_prefix(orders: Tensor, mask: Tensor, first: Tensor) -> Tensor:
    """(batch, words) bool: the shortest prefix that changes a decision, of equals the first
    ranking's; empty where none does.

    orders  (rankings, batch, words)
    first   (rankings, batch) as `first_changes` gives it
    """
    size, ranking = torch.where(first < 0, orders.shape[-1] + 1, first).min(0)
    rows = torch.arange(len(ranking), device=ranking.device)
    taken = places_of(orders[ranking, rows]) < size.unsqueeze(-1)
    return taken & mask & (size <= orders.shape[-1]).unsqueeze(-1)

"""The deletion exam: words are taken out of the text until the decision changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.budget import parts_within
from verax.exams.deletion import judging, summary
from verax.exams.deletion.asking import Asked, Changes, Kept, margin
from verax.exams.deletion.changes import first_changes, prefix_sizes
from verax.exams.deletion.measures import RANDOM, TABLES
from verax.exams.deletion.proofs import proof_of, way_of
from verax.exams.deletion.rankings import (
    RemovalOptions,
    chosen_rankings,
    orders_of,
    scores_of,
)
from verax.exams.deletion.smallest import BEAM, BUDGET, SmallestSets, bounds
from verax.exams.erasure.states import decide
from verax.exams.exam import Exam
from verax.exams.reading import check_finite, correct, labels_of
from verax.exams.registry import register
from verax.importance.deletion.several import check_operator, logits_without_sets
from verax.models.base import TextClassifier
from verax.models.kinds import ATTENTION, KINDS, POOLED, PREDICT, TRANSFORMER
from verax.models.layers import decisions, two_columns
from verax.options import ROUNDS, option

_TOGETHER = 256
"""Documents whose sets are remembered at once."""


@dataclass(frozen=True)
class DeletionOptions(RemovalOptions):
    steps: int = option(
        32,
        "the most looks at a document by one ranking; longer ones are looked at evenly",
        minimum=1,
    )
    budget: int = option(
        BUDGET,
        "sets of words of a document that are asked about to prove that no smaller set exists, and "
        "as many for a beam",
        minimum=0,
    )
    beam: int = option(
        BEAM, "sets that are kept as a beam adds word by word", minimum=1, maximum=ROUNDS
    )
    sufficient: bool = option(
        True, "also bound the smallest set of words that alone keeps the decision"
    )


@register
class DeletionExam(Exam):
    """Words to take out, by each ranking and at least, before a decision changes.

    Gives four tables:

    deletion_instances   words, examined (0 where there is one word), correct, decision, resolution
                         (the most words between two looks), passes (texts that the model read)
    deletion             for each ranking (`draw` tells random ones apart): size, share, excess and
                         excess_most (words beyond the smallest set: at least, at most), everything
                         (1 where all words were gone); NaN where the decision never changes
    deletion_smallest    of the smallest set that changes the decision: upper, share, everything
                         (NaN where nothing that was tried changes it), lower, exact; lower is
                         words + 1 where it is proven that nothing changes it
    deletion_sufficient  of the smallest set that alone keeps the decision: upper, share, lower,
                         exact; 0 where it stays with all words gone

    A text without words is read as the empty text; for a model of ours the bias decides then.
    """

    name = "deletion"
    title = "Deletion"
    question = "Do the words that a score ranks first change the decision when they are gone?"
    comparison = "words to take out before a decision changes"
    explanation = (
        "Words are taken out of the text, from the most important down, and what is left is read "
        "again, until the decision changes. A score that finds the words that matter needs fewer "
        "than random order. The smallest set that changes the decision lies between two bounds: "
        "the best that was found by rankings and a beam, pruned until none of its words can "
        "return, and the size below which every set was asked about, or a proof rules all out. "
        "Where the bounds meet it is exact. The smallest set that alone keeps the decision is "
        "bounded in the same way. A decision that a ranking never changes counts as all of its "
        "words."
    )
    costly = True
    options_class = DeletionOptions
    summary_tables = TABLES
    tidy_tables = (
        *("deletion_instances", "deletion", "deletion_smallest"),
        "deletion_sufficient",
    )
    charts = "verax.exams.deletion.charts"
    limits = judging.LIMITS
    limit_ranges = judging.LIMIT_RANGES
    candidates = judging.CANDIDATES
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
        """What is proven of the smallest sets, by the operators that a model has."""
        ways = {operator: way_of(model, operator) for operator in getattr(model, "operators", ())}
        proven = [name for name, way in ways.items() if way]
        if not proven:
            return "bounded"
        if len(proven) == len(ways) and "shortened" not in ways.values():
            return "exact"
        named = {n: f"{n} of a few words" if ways[n] == "shortened" else n for n in proven}
        return f"bounded, with a proof for {', '.join(named.values())}"

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
        words = trace.batch.words
        decided = self._decisions(model, trace, trace.logits)
        scores = scores_of(self._names, self.importances, model, trace, self.seed, self.max_tokens)
        orders = orders_of(scores, trace, self.seed, self.options.random_orders)
        counts = words.sum(-1)
        several = counts > 1
        sizes = prefix_sizes(counts, self.options.steps).masked_fill(~several, 0)
        (examined,) = several.nonzero(as_tuple=True)
        passes = torch.zeros_like(counts)
        for rows in examined.split(_TOGETHER):
            how = (decided[rows], list(scores), orders[:, rows], sizes[:, rows])
            passes[rows] = self._bound(model, trace, rows, *how)
        gaps = torch.cat([sizes[:1], sizes.diff(dim=0)]).amax(0)
        measures = {
            "words": counts,
            "examined": several,
            "correct": correct(labels_of(trace), decided),
            "decision": decided,
            "resolution": torch.where(several, gaps, 1),
            "passes": passes,
        }
        self.builder.add("deletion_instances", trace.ids, measures)

    def _is_erasure(self, model: Any) -> bool:
        """Whether words are erased as in the exam erasure, which decides in float64."""
        return model.kind == POOLED and self.options.operator == ATTENTION

    def _decisions(self, model: Any, trace: Any, logits: Tensor) -> Tensor:
        """(batch,) long: the classes decided for, as the operator has them."""
        if not self._is_erasure(model):
            return decisions(logits)
        rows = torch.arange(len(trace), device=logits.device)
        nothing = torch.zeros_like(trace.batch.words)
        whole = logits_without_sets(model, trace, rows, nothing, self.max_tokens, ATTENTION)
        return decide(two_columns(whole))

    def _margins(self, model: Any, trace: Any, documents: Tensor, decided: Tensor) -> Changes:
        """How far decisions are from changing without some words, below 0 where they have."""
        erasing = self._is_erasure(model)

        def margins(rows: Tensor, removed: Tensor) -> Tensor:
            how = (self.max_tokens, self.options.operator)
            answers = torch.empty(len(rows), dtype=torch.float64, device=rows.device)
            for some in parts_within(len(rows), trace.logits.shape[-1]):
                texts = documents[rows[some]]
                logits = logits_without_sets(model, trace, texts, removed[some], *how)
                now = decide(two_columns(logits)) if erasing else decisions(logits)
                answers[some] = margin(two_columns(logits), decided[rows[some]], now)
            return answers

        return margins

    def _bound(
        self,
        model: Any,
        trace: Any,
        rows: Tensor,
        decided: Tensor,
        names: list[str],
        orders: Tensor,
        sizes: Tensor,
    ) -> Tensor:
        """Rank and bound some documents, and add them to the tables; (rows,) sets asked about."""
        words = trace.batch.words[rows]
        mask = words
        if self._is_erasure(model):  # words without weight change nothing
            mask = words & (trace.weights[rows] > 0)
        asked = Asked(self._margins(model, trace, rows, decided), mask)
        first = first_changes(orders, words, sizes, lambda r, s: asked(r, s & mask[r]))
        reach = torch.where(first > 0, first - 1, words.shape[1]).amin(0)
        smallest = self._smallest(model, trace, rows, decided, asked, mask, orders, reach)
        self._add_rankings(trace.ids[rows.cpu().numpy()], names, words, first, smallest)
        self._add_smallest("deletion_smallest", trace, rows, smallest)
        if self.options.sufficient:
            kept = self._smallest(model, trace, rows, decided, asked, mask, orders)
            self._add_smallest("deletion_sufficient", trace, rows, kept)
        return asked.passes

    def _smallest(
        self,
        model: Any,
        trace: Any,
        rows: Tensor,
        decided: Tensor,
        asked: Asked,
        mask: Tensor,
        orders: Tensor,
        reach: Tensor | None = None,
    ) -> SmallestSets:
        """Bounds of the sets that change decisions, where `reach` is given; else that keep them.

        reach  (rows,) long: one less than the words of a set that is known
        """
        options, keeping = self.options, reach is None
        if not len(rows):  # a batch of single words
            none = mask.sum(-1)
            return SmallestSets(none, none, mask, none, none)
        proof = proof_of(
            *(model, trace, rows, decided, options.operator),
            keeping=keeping,
            reach=reach,
            budget=options.budget,
            max_tokens=self.max_tokens,
        )
        return bounds(
            Kept(asked, mask) if keeping else asked,
            mask,
            orders,
            options.beam,
            options.budget,
            least=0 if keeping else 1,
            lower=None if proof is None else proof.lower,
            tried=None if proof is None else proof.tried,
            steps=options.steps,
        )

    def _add_rankings(
        self, ids: Any, names: list[str], mask: Tensor, first: Tensor, smallest: SmallestSets
    ) -> None:
        words, size = mask.sum(-1).double(), first.double()
        measures = {
            "size": size,
            "share": size / words,
            "excess": size - smallest.upper,
            "everything": (size == words).double(),
            "excess_most": size - smallest.lower,
        }
        measures = {name: m.masked_fill(first < 0, torch.nan) for name, m in measures.items()}
        labels: list[dict[str, str | int]] = [{"ranking": name, "draw": 0} for name in names]
        draws = range(self.options.random_orders)
        labels += [{"ranking": RANDOM, "draw": draw} for draw in draws]
        self.builder.add("deletion", ids, measures, None, labels)

    def _add_smallest(self, table: str, trace: Any, rows: Tensor, sets: SmallestSets) -> None:
        words = trace.batch.words[rows].sum(-1).double()
        upper = sets.upper.double()
        measures = {
            "upper": upper,
            "share": upper / words,
            "everything": (sets.upper == sets.words).double(),
        }
        measures = {name: m.masked_fill(upper < 0, torch.nan) for name, m in measures.items()}
        measures |= {"lower": sets.lower, "exact": sets.exact}
        self.builder.add(table, trace.ids[rows.cpu().numpy()], measures)

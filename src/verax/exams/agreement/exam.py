"""The agreement exam: does attention rank inputs and items as other importances do?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor

from verax.errors import VeraxError
from verax.exams.agreement import judging, summary
from verax.exams.agreement.measures import TABLES
from verax.exams.agreement.ranks import kendall_test, spearman, top_k_overlap, undefined
from verax.exams.exam import NO_GRADIENTS, Exam
from verax.exams.reading import ask, sum_by_item, support_measures
from verax.exams.registry import register
from verax.importance import names_of, score
from verax.importance.gradients import on_vectors
from verax.models.base import TextClassifier
from verax.models.classifier import AttentionClassifier
from verax.models.kinds import PREDICT, TRANSFORMER
from verax.models.trace import Trace
from verax.options import option

ATTENTION, DELETION = "attention", "leave-one-out"


@dataclass(frozen=True)
class AgreementOptions:
    inputs: str = option(
        "gradient,gradient-detached,gradient-input-detached,leave-one-out",
        "importances of inputs to compare with attention",
    )
    items: str = option(
        "gradient,gradient-detached,leave-one-out,leave-one-out-renormalised",
        "importances of items to compare with attention",
    )
    spearman: bool = option(False, "also Spearman's correlation")
    top_k: int | None = option(None, "also the overlap of the k highest", minimum=1)


@register
class AgreementExam(Exam):
    """Rank agreement of attention with each importance, and of these with leave-one-out.

    Inputs are compared where items are: in a flat model these are the words, in a hierarchical one
    a sentence gets the sum over its words. Gives two tables:

    agreement_instances  words, items, support, support_share, correct
    agreement            for each pair of importances (`first`, `second`) on inputs or items, over
                         all items or the support of attention: kendall, reason (why there is none:
                         an index of `ranks.REASONS`), p (of kendall, two-sided), and where asked
                         for spearman, overlap
    """

    name = "agreement"
    title = "Agreement"
    question = "Does attention rank words as gradients and leave-one-out do?"
    comparison = "Kendall's τ-b of attention with other importances"
    explanation = (
        "Kendall's τ-b compares the order in which attention puts the words, or items, of a "
        "document with the order by gradients and by leave-one-out: 1 is the same order, 0 "
        "none (Jain & Wallace 2019; Meister et al. 2021)."
    )
    costly = True
    options_class: ClassVar[type] = AgreementOptions
    summary_tables = TABLES
    tidy_tables = ("agreement_instances", "agreement")
    charts = "verax.exams.agreement.charts"
    limit_ranges = judging.LIMIT_RANGES
    candidates = judging.CANDIDATES
    of_items = True
    decisions_table = "agreement_instances"
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)
    better = staticmethod(judging.direction)
    is_compared = staticmethod(judging.is_compared)
    label = staticmethod(judging.label)
    judge = staticmethod(judging.judge)
    variants: ClassVar[Mapping[str, str]] = {
        TRANSFORMER: "verax.exams.agreement.transformer:TransformerAgreement",
        PREDICT: "verax.exams.agreement.transformer:PredictAgreement",
    }

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        """Exact, with gradients or without."""
        return "exact" if getattr(model, "has_vectors", True) else NO_GRADIENTS

    def setup(self) -> None:
        self.names = {
            on: [name for name in names_of(getattr(self.options, on), on) if name != ATTENTION]
            for on in ("inputs", "items")
        }
        if not any(self.names.values()) and not self.importances:
            raise VeraxError(
                "nothing to compare attention with: name importances of inputs, items",
                code="importance.missing",
            )
        self._levels: dict[str, str] = {}

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch."""
        mask = trace.mask
        support = mask & (trace.weights > 0)
        labels: list[dict[str, str | int]] = []
        firsts, seconds, masks = [], [], []
        for on, scored in self._scores(model, trace).items():
            importances = {ATTENTION: trace.weights.double(), **scored}
            for first, second in pairs(scored):
                over = {"all": mask}
                if first == ATTENTION:
                    over["support"] = support
                for part, where in over.items():
                    labels.append({"on": on, "first": first, "second": second, "over": part})
                    firsts.append(importances[first])
                    seconds.append(importances[second])
                    masks.append(where)
        self.compare(trace, labels, firsts, seconds, masks)
        self.builder.add("agreement_instances", trace.ids, support_measures(trace))

    def compare(
        self,
        trace: Any,
        labels: list[dict[str, str | int]],
        firsts: list[Tensor],
        seconds: list[Tensor],
        masks: list[Tensor],
    ) -> None:
        """Add how far pairs of scores, (batch, items) each, rank alike what masks leave."""
        shape = (len(labels), len(trace))
        a, b, where = torch.cat(firsts), torch.cat(seconds), torch.cat(masks)
        tau, p = kendall_test(a, b, where)
        measures = {"kendall": tau, "reason": undefined(a, b, where), "p": p}
        if self.options.spearman:
            measures["spearman"] = spearman(a, b, where)
        if self.options.top_k is not None:
            # where all are among the top k, the overlap is one whatever the ranking
            few = where.sum(-1) <= self.options.top_k
            overlap = top_k_overlap(a, b, self.options.top_k, where)
            measures["overlap"] = overlap.masked_fill(few, torch.nan)
        measures = {name: values.view(shape) for name, values in measures.items()}
        self.builder.add("agreement", trace.ids, measures, labels=labels)

    def _scores(self, model: AttentionClassifier, trace: Trace) -> dict[str, dict[str, Tensor]]:
        """inputs, items → name → (batch, items) scores."""
        settings: dict[str, Any] = {"seed": self.seed, "max_tokens": self.max_tokens}
        by_level = {
            on: {
                name: score(name, model, trace, on, **settings)
                for name in (on_vectors(names, model) if on == "inputs" else names)
            }
            for on, names in self.names.items()
        }
        for name, importance in self.importances.items():
            tensor = ask(name, importance, model, trace)
            if not tensor.is_floating_point() or tensor.shape not in (
                trace.mask.shape,
                trace.tokens.shape,
            ):
                raise VeraxError(
                    f"importance {name!r} is {tensor.dtype} of shape {tuple(tensor.shape)}, "
                    f"expected floating-point numbers of shape {tuple(trace.mask.shape)}, one for "
                    f"each item, or {tuple(trace.tokens.shape)}, one for each token",
                    code="importance.wrong-scores",
                )
            # batches come longest first: it is the first that tells tokens from sentences
            on = self._levels.setdefault(
                name, "items" if tensor.shape == trace.mask.shape else "inputs"
            )
            if tensor.shape != (trace.mask if on == "items" else trace.tokens).shape:
                raise VeraxError(
                    f"importance {name!r} scores items in one batch, tokens in the next",
                    code="importance.wrong-scores",
                )
            by_level[on][name] = tensor.double()
        inputs = {name: sum_by_item(scores, trace) for name, scores in by_level["inputs"].items()}
        return {"inputs": inputs, "items": by_level["items"]}


def pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Attention with each, then each with leave-one-out: what gradients and deletion share.

    >>> pairs(["gradient", "leave-one-out"])
    [('attention', 'gradient'), ('attention', 'leave-one-out'), ('gradient', 'leave-one-out')]
    """
    names = list(names)
    compared = [(ATTENTION, name) for name in names]
    if DELETION in names:
        others = {DELETION, f"{DELETION}-renormalised"}
        compared += [(name, DELETION) for name in names if name not in others]
    return compared

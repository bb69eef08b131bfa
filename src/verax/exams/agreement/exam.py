"""The agreement exam: does attention rank inputs and items as other importances do?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError
from verax.exams.agreement import comparing, judging, summary, values
from verax.exams.agreement.measures import TABLES
from verax.exams.agreement.ranks import kendall_test, spearman, top_k_overlap, undefined
from verax.exams.exam import Cost, Exam
from verax.exams.own_importances import ask, sum_by_item
from verax.exams.reading import correct, labels_of
from verax.exams.registry import register
from verax.importance import Importance, names_of, score
from verax.models.classifier import AttentionClassifier
from verax.models.head import decisions
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
    question = "Does attention rank words as other measures of importance do?"
    comparison = "Kendall's τ-b of attention with other importances"
    explanation = (
        "Kendall's τ-b compares the order in which attention puts the words, or items, of a "
        "document with the order by gradients and by leave-one-out: 1 is the same order, 0 "
        "none (Jain & Wallace 2019; Meister et al. 2021)."
    )
    options_class = AgreementOptions
    summary_tables = TABLES
    tidy_tables = ("agreement_instances", "agreement")
    charts = "verax.exams.agreement.charts"
    cost = Cost(5e-6, 35e-6, 0.6e-6)
    of_items = True
    decisions_table = "agreement_instances"
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(values.values)
    better = staticmethod(comparing.direction)
    is_compared = staticmethod(comparing.is_compared)
    label = staticmethod(comparing.label)
    judge = staticmethod(judging.judge)

    def __init__(
        self,
        options: AgreementOptions,
        seed: int,
        importances: Mapping[str, Importance],
        max_tokens: int = MAX_TOKENS,
    ) -> None:
        super().__init__(options, seed, importances, max_tokens)
        self.names = {on: names_of(getattr(options, on), on) for on in ("inputs", "items")}
        for on in self.names:
            self.names[on] = [name for name in self.names[on] if name != ATTENTION]
        if not any(self.names.values()) and not self.importances:
            raise VeraxError("nothing to compare attention with: name importances of inputs, items")
        self._levels: dict[str, str] = {}

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch."""
        scores = self._scores(model, trace)
        mask = trace.mask
        support = mask & (trace.weights > 0)
        labels, firsts, seconds, masks = [], [], [], []
        for on, found in scores.items():
            for first, second in pairs(found):
                over = {"all": mask}
                if first == ATTENTION:
                    over["support"] = support
                for part, where in over.items():
                    labels.append({"on": on, "first": first, "second": second, "over": part})
                    firsts.append(trace.weights.double() if first == ATTENTION else found[first])
                    seconds.append(found[second])
                    masks.append(where)
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
        everyone = torch.ones(len(trace), dtype=torch.bool)
        self.builder.add("agreement", trace.ids, measures, everyone, labels)
        measures = {
            "words": trace.batch.words.sum(-1),
            "items": mask.sum(-1),
            "support": support.sum(-1),
            "support_share": support.sum(-1).double() / mask.sum(-1),
            "correct": correct(labels_of(trace), decisions(trace.logits)),
        }
        self.builder.add("agreement_instances", trace.ids, measures, everyone)

    def _scores(self, model: AttentionClassifier, trace: Trace) -> dict[str, dict[str, Tensor]]:
        """inputs, items → name → (batch, items) scores."""
        told: dict[str, Any] = {"seed": self.seed, "max_tokens": self.max_tokens}
        found = {
            on: {name: score(name, model, trace, on, **told) for name in names}
            for on, names in self.names.items()
        }
        for name, importance in self.importances.items():
            given = ask(name, importance, model, trace)
            if not given.is_floating_point() or given.shape not in (
                trace.mask.shape,
                trace.tokens.shape,
            ):
                raise VeraxError(
                    f"importance {name!r} is {given.dtype} of shape {tuple(given.shape)}, expected "
                    f"floating-point numbers of shape {tuple(trace.mask.shape)}, one for each "
                    f"item, or {tuple(trace.tokens.shape)}, one for each token"
                )
            # batches come longest first: it is the first that tells tokens from sentences
            on = self._levels.setdefault(
                name, "items" if given.shape == trace.mask.shape else "inputs"
            )
            if given.shape != (trace.mask if on == "items" else trace.tokens).shape:
                raise VeraxError(
                    f"importance {name!r} scores items in one batch, tokens in the next"
                )
            found[on][name] = given.double()
        inputs = {name: sum_by_item(scores, trace) for name, scores in found["inputs"].items()}
        return {"inputs": inputs, "items": found["items"]}


def pairs(names: Iterable[str]) -> list[tuple[str, str]]:
    """Attention with each, then each with leave-one-out: what gradients and deletion share.

    >>> pairs(["gradient", "leave-one-out"])
    [('attention', 'gradient'), ('attention', 'leave-one-out'), ('gradient', 'leave-one-out')]
    """
    names = list(names)
    found = [(ATTENTION, name) for name in names]
    if DELETION in names:
        others = {DELETION, f"{DELETION}-renormalised"}
        found += [(name, DELETION) for name in names if name not in others]
    return found

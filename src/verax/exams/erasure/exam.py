"""The erasure exam: Serrano & Smith's tests over a whole split, from one encoder pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import torch
from torch import Tensor

from verax.exams.erasure import judging, summary
from verax.exams.erasure.document_values import document_values
from verax.exams.erasure.flips import checked_importance
from verax.exams.erasure.measures import TABLES
from verax.exams.erasure.single_weight import RULES, erase_each, random_item, top_item
from verax.exams.erasure.states import AffineStates, FlipSets, States, ranks_from_below
from verax.exams.erasure.through_head import HeadStates
from verax.exams.exam import Exam
from verax.exams.reading import (
    ask,
    check_affine,
    check_finite,
    correct,
    labels_of,
    sum_by_item,
)
from verax.exams.registry import register
from verax.importance import attention_gradient, random_draws
from verax.importance.arrays import ArrayImportance
from verax.models.classifier import AttentionClassifier
from verax.models.kinds import TRANSFORMER
from verax.models.layers import HashedDropout, decisions
from verax.models.trace import Trace
from verax.options import ROUNDS, option

_PLACE = 201


@dataclass(frozen=True)
class ErasureOptions:
    draws: int = option(5, "random rankings drawn for each document", minimum=1, maximum=ROUNDS)


@register
class ErasureExam(Exam):
    """What goes before a decision changes, one item or many, by each ranking and at least.

    Reads traces, hierarchical ones at their sentences; gives four tables:

    erasure_instances  items, examined (0 where there is one item), correct, decision, tied,
                       decision_differs (from the model's own, in single precision)
    erasure_single     for the top item by each importance, against a random other by either rule:
                       delta_alpha, js_top, js_random, delta_js, flips_top, flips_random
    erasure_many       for each ranking (`draw` tells random ones apart): size, fraction, mass,
                       excess, ratio; NaN where the decision never flips
    erasure_minimal    of the smallest flipping set: size, fraction, mass, everything (1 where all
                       weight had to go), rival, certified; NaN where nothing flips the decision
    """

    name = "erasure"
    title = "Erasure"
    question = "Does removing the words with the most attention change the decision?"
    comparison = "what goes before a decision flips, by attention and at least (optimum)"
    explanation = (
        "Weights of items are set to zero, one at a time from the most attended down, and "
        "the others are scaled up until they sum to one again; the decision is made anew "
        "after each. The smallest set whose erasure changes the decision is known exactly, "
        "so that every order has an excess over the best there is (Serrano & Smith 2019)."
    )
    options_class = ErasureOptions
    summary_tables = TABLES
    tidy_tables = ("erasure_instances", "erasure_single", "erasure_many", "erasure_minimal")
    charts = "verax.exams.erasure.charts"
    limit_ranges = judging.LIMIT_RANGES
    candidates = judging.CANDIDATES
    of_items = True
    decisions_table = "erasure_instances"
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(document_values)
    better = staticmethod(judging.direction)
    label = staticmethod(judging.label)
    judge = staticmethod(judging.judge)
    variants: ClassVar[Mapping[str, str]] = {
        TRANSFORMER: "verax.exams.erasure.transformer:TransformerErasure"
    }

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch."""
        states = self.states(model, trace)
        scores = self.scores(model, trace, states)
        chance = random_draws(trace, self.seed, self.options.draws)
        orders = ranks_from_below(torch.cat([*scores.values(), chance]), trace.mask)
        minimal = states.minimal(orders)
        items = trace.mask.sum(-1)
        several = items > 1
        self._single(trace, states, scores, several)
        self._many(trace, states, list(scores), orders, minimal, several)
        decided = decisions(trace.logits)
        measures = {
            "items": items,
            "examined": several,
            "correct": correct(labels_of(trace), decided),
            "decision": states.decision,
            "tied": minimal.ties,
            "decision_differs": states.decision != decided,
        }
        self.builder.add("erasure_instances", trace.ids, measures)

    def states(self, model: Any, trace: Any) -> States:
        """What the batch becomes when items are erased."""
        return states_of(trace)

    def scores(self, model: Any, trace: Any, states: States) -> dict[str, Tensor]:
        """Name → (1, batch, items)."""
        slopes = attention_gradient(model, trace).double()
        scores = {
            "attention": states.weights,
            "gradient": slopes,
            "product": states.weights * slopes,
        }
        for name, importance in self.importances.items():
            tensor = ask(name, importance, model, trace)
            if isinstance(importance, ArrayImportance):  # of words, where items may be sentences
                tensor = sum_by_item(tensor, trace)
            scores[name] = checked_importance(f"importance {name!r}", tensor, trace.mask)
        return {name: score.unsqueeze(0) for name, score in scores.items()}

    def _single(
        self, trace: Trace, states: States, scores: Mapping[str, Tensor], several: Tensor
    ) -> None:
        noise = HashedDropout.of(trace.batch.row_index, 1, self.seed, 0).rows()
        uniform = noise.uniforms(range(_PLACE, _PLACE + len(scores)))
        top = top_item(torch.cat([*scores.values()]), trace.mask)
        others = [random_item(top, uniform, trace.mask, rule) for rule in RULES]
        # (tops × (itself, one other a rule), batch), then each measure as (labels, batch)
        chosen = torch.stack([top, *others], dim=1).flatten(0, 1)
        erased = erase_each(states, chosen.T)
        weights = states.weights.gather(-1, chosen.T).T
        flips, js = erased.flips.T, erased.js.T
        rules, tops = len(RULES), len(scores)

        def split(values: Tensor) -> tuple[Tensor, Tensor]:
            by_top = values.unflatten(0, (tops, 1 + rules))
            first = by_top[:, :1].expand(-1, rules, -1).flatten(0, 1)
            return first, by_top[:, 1:].flatten(0, 1)

        (flips_top, flips_random), (js_top, js_random) = split(flips), split(js)
        alpha_top, alpha_random = split(weights)
        measures = {
            "delta_alpha": alpha_top - alpha_random,
            "js_top": js_top,
            "js_random": js_random,
            "delta_js": js_top - js_random,
            "flips_top": flips_top,
            "flips_random": flips_random,
        }
        labels = [{"top": name, "rule": rule} for name in scores for rule in RULES]
        self.builder.add("erasure_single", trace.ids, measures, several, labels)

    def _many(
        self,
        trace: Trace,
        states: States,
        names: list[str],
        orders: Tensor,
        minimal: FlipSets,
        several: Tensor,
    ) -> None:
        flips = states.first_flips(orders)
        items = trace.mask.sum(-1).double()
        size, least = flips.size.double(), minimal.size.double()
        measures = {
            "size": size,
            "fraction": size / items,
            "mass": flips.mass,
            "excess": size - least,
            "ratio": size / least,
        }
        never = flips.size < 0
        measures = {name: m.masked_fill(never, torch.nan) for name, m in measures.items()}
        labels: list[dict[str, str | int]] = [{"ranking": name, "draw": 0} for name in names]
        labels += [{"ranking": "random", "draw": draw} for draw in range(self.options.draws)]
        self.builder.add("erasure_many", trace.ids, measures, several, labels)
        kept = states.weights * minimal.members
        measures = {
            "size": least,
            "fraction": least / items,
            "mass": kept.sum(-1),
            "everything": ((kept > 0) == (states.weights > 0)).all(-1),
            "rival": minimal.rival,
            "certified": torch.full_like(least, float(minimal.certified)),
        }
        never = minimal.size < 0
        measures = {n: m.double().masked_fill(never, torch.nan) for n, m in measures.items()}
        self.builder.add("erasure_minimal", trace.ids, measures, several)


def states_of(trace: Trace) -> States:
    """The states of a batch under erasure, whatever its head."""
    if trace.is_affine:
        return affine_states(trace)
    check_finite(trace.logits)
    return HeadStates(trace.weights, trace.items, trace.mask, trace.head)


def affine_states(trace: Trace) -> AffineStates:
    """The states of a batch with an affine head; made once for the exam and the gallery."""
    if AffineStates not in trace.cache:
        check_finite(trace.logits)
        states = AffineStates(trace.weights, trace.item_logits, trace.mask, trace.bias)
        check_affine(trace.logits, states.logits)
        trace.cache[AffineStates] = states
    return cast(AffineStates, trace.cache[AffineStates])

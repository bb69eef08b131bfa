"""The erasure exam: Serrano & Smith's tests over a whole split, from one encoder pass."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verax.errors import VeraxError
from verax.exams.erasure.flips import check_importance
from verax.exams.erasure.single_weight import RULES, erase_each, random_item, top_item
from verax.exams.erasure.states import (
    AffineStates,
    FlipSets,
    States,
    ranks_from_below,
    two_columns,
)
from verax.exams.erasure.through_head import HeadStates
from verax.exams.tables import Ledger
from verax.importance import Importance, gradient, random, weight_gradient
from verax.models.classifier import AttentionClassifier
from verax.models.head import decisions
from verax.models.noise import Noise
from verax.models.trace import Trace
from verax.options import option

BUILT_IN = ("attention", "gradient", "product")
_PLACE = 201
_OFF = 1e-3


@dataclass(frozen=True)
class ErasureOptions:
    draws: int = option(5, "random rankings drawn for each document", minimum=1)


class ErasureExam:
    """What goes before a decision changes, one item or many, by each ranking and at least.

    Reads traces, hierarchical ones at their sentences; gives four tables:

    erasure_instances  items, examined (0 where there is one item), correct, decision, tied,
                       decision_differs (from the model's own, in single precision)
    erasure_single     for the top item by each importance, against a random other by either rule:
                       delta_alpha, js_top, js_random, delta_js, flips_top, flips_random
    erasure_many       for each ranking (`draw` tells random ones apart): size, fraction, mass,
                       excess, ratio; NaN where the decision never flips
    erasure_minimal    size, fraction, mass, rival, certified of the smallest flipping set; NaN
                       where nothing flips the decision
    """

    name = "erasure"
    options_class = ErasureOptions

    def __init__(
        self, options: ErasureOptions, seed: int, importances: Mapping[str, Importance]
    ) -> None:
        for name in importances:
            if name in (*BUILT_IN, "random"):
                raise VeraxError(f"importance {name!r} is built in: give yours another name")
        self.options = options
        self.seed = seed
        self.importances = dict(importances)
        self.ledger = Ledger()
        self._double: tuple[nn.Module, nn.Module] | None = None

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch."""
        items = trace.mask.sum(-1)
        several = items > 1
        states = self._states(trace)
        own = decisions(trace.logits)
        correct = torch.full_like(items, -1) if trace.labels is None else own == trace.labels
        found = self._judge(model, trace, states, several)
        self.ledger.add(
            "erasure_instances",
            trace.ids,
            {
                "items": items,
                "examined": several,
                "correct": _nan_where(correct.double(), correct < 0),
                "decision": states.decision,
                "tied": found.ties,
                "decision_differs": states.decision != own,
            },
        )

    def tables(self) -> dict[str, pd.DataFrame]:
        return self.ledger.tables()

    def _states(self, trace: Trace) -> States:
        if not trace.is_affine:
            return HeadStates(trace.weights, trace.items, trace.mask, trace.head)
        head = self._in_double(trace.head)
        item_logits = head(trace.items.double())
        states = AffineStates(trace.weights, item_logits, trace.mask, head(_zero(trace)))
        logits = two_columns(trace.logits.double())
        if bool((logits - states.logits).abs().amax() > _OFF * (1 + logits.abs().amax())):
            raise VeraxError(
                "the head says it is affine, but the logits are not the weighted mean of what it "
                "makes of single items: set its attribute affine to False"
            )
        return states

    def _in_double(self, head: nn.Module) -> nn.Module:
        if self._double is None or self._double[0] is not head:
            self._double = (head, copy.deepcopy(head).double())
        return self._double[1]

    def _scores(
        self, model: AttentionClassifier, trace: Trace, states: States
    ) -> dict[str, Tensor]:
        if isinstance(states, AffineStates) and states.bias is not None:
            slopes = weight_gradient(states.weights, states.item_logits, states.bias, states.mask)
        else:
            slopes = gradient(model, trace).double()
        scores = {
            "attention": states.weights,
            "gradient": slopes,
            "product": states.weights * slopes,
        }
        for name, importance in self.importances.items():
            with torch.enable_grad():
                given: object = importance(model, trace)
            if not isinstance(given, torch.Tensor):
                kind = type(given).__name__
                raise VeraxError(f"importance {name!r} gave a {kind}, expected a tensor")
            check_importance(f"importance {name!r}", given, trace.mask)
            scores[name] = given.detach().to(trace.mask.device)
        return scores

    def _judge(
        self, model: AttentionClassifier, trace: Trace, states: States, several: Tensor
    ) -> FlipSets:
        ids = trace.ids[several.cpu().numpy()]
        scores = self._scores(model, trace, states)
        self._single(trace, states, scores, several, ids)
        orders = {(n, 0): ranks_from_below(s, trace.mask) for n, s in scores.items()}
        for draw in range(self.options.draws):
            chance = random(self.seed, draw)(model, trace)
            orders["random", draw] = ranks_from_below(chance, trace.mask)
        minimal = states.minimal(list(orders.values()))
        self._many(states, orders, minimal, several, ids)
        return minimal

    def _single(
        self,
        trace: Trace,
        states: States,
        scores: Mapping[str, Tensor],
        several: Tensor,
        ids: NDArray[np.int64],
    ) -> None:
        noise = Noise.of(trace.batch.keys, 1, self.seed, 0).rows()
        pairs: list[Tensor] = []
        for number, importance in enumerate(scores.values()):
            top = top_item(importance, trace.mask)
            uniform = noise.uniform(_PLACE + number)
            pairs += [top, *(random_item(top, uniform, trace.mask, rule) for rule in RULES)]
        chosen = torch.stack(pairs, -1)
        erased = erase_each(states, chosen)
        weights = states.weights.gather(-1, chosen)
        step = 1 + len(RULES)
        for number, name in enumerate(scores):
            top_at = number * step
            for offset, rule in enumerate(RULES, start=1):
                other = top_at + offset
                measures = {
                    "delta_alpha": weights[:, top_at] - weights[:, other],
                    "js_top": erased.js[:, top_at],
                    "js_random": erased.js[:, other],
                    "delta_js": erased.js[:, top_at] - erased.js[:, other],
                    "flips_top": erased.flips[:, top_at],
                    "flips_random": erased.flips[:, other],
                }
                kept = {n: m[several] for n, m in measures.items()}
                self.ledger.add("erasure_single", ids, kept, top=name, rule=rule)

    def _many(
        self,
        states: States,
        orders: Mapping[tuple[str, int], Tensor],
        minimal: FlipSets,
        several: Tensor,
        ids: NDArray[np.int64],
    ) -> None:
        items = states.mask.sum(-1)[several].double()
        least = minimal.size[several]
        for (name, draw), order in orders.items():
            flips = states.first_flips(order)
            size = flips.size[several]
            never = size < 0
            measures = {
                "size": size,
                "fraction": size / items,
                "mass": flips.mass[several],
                "excess": size - least,
                "ratio": size / least.double(),
            }
            kept = {n: _nan_where(m.double(), never) for n, m in measures.items()}
            self.ledger.add("erasure_many", ids, kept, ranking=name, draw=draw)
        mass = (states.weights * minimal.members).sum(-1)[several]
        measures = {
            "size": least,
            "fraction": least / items,
            "mass": mass,
            "rival": minimal.rival[several],
            "certified": torch.full_like(least, int(minimal.certified)),
        }
        kept = {n: _nan_where(m.double(), least < 0) for n, m in measures.items()}
        self.ledger.add("erasure_minimal", ids, kept)


def _zero(trace: Trace) -> Tensor:
    return torch.zeros(trace.items.shape[-1], dtype=torch.float64, device=trace.items.device)


def _nan_where(values: Tensor, undefined: Tensor) -> Tensor:
    return values.masked_fill(undefined, torch.nan)

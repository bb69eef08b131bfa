"""The dispersion exam: how spread is influence, on an item, on the output, and attention itself?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import pandas as pd
import torch
from torch import Tensor

from verax.exams.dispersion import judging, summary
from verax.exams.dispersion.entropy import normalised_entropy
from verax.exams.dispersion.measures import TABLES
from verax.exams.exam import NO_GRADIENTS, Exam
from verax.exams.reading import support_measures
from verax.exams.registry import register
from verax.importance import gradient, influences, names_of, score
from verax.importance.gradients import on_vectors
from verax.importance.jacobian import Targets
from verax.models.base import TextClassifier
from verax.models.classifier import AttentionClassifier
from verax.models.kinds import TRANSFORMER
from verax.models.trace import Trace
from verax.options import option

KINDS = {
    "none": (),
    "norm": ("norm",),
    "frobenius": ("frobenius",),
    "both": ("norm", "frobenius"),
}


@dataclass(frozen=True)
class DispersionOptions:
    entropy_of: str = option(
        "gradient,leave-one-out", "importances of inputs whose entropy is taken, beside attention's"
    )
    influence: str = option(
        "norm",
        "influence of inputs on items: on an item's magnitude, or on the item (frobenius)",
        choices=tuple(KINDS),
    )
    positions: int | None = option(
        None,
        "items of a document whose influences are looked at, drawn by the seed (all)",
        minimum=1,
    )


@register
class DispersionExam(Exam):
    """Normalised entropies: 0 where one position has all, 1 where all have the same.

    Gives three tables:

    dispersion_instances  words, items, support, support_share, correct
    dispersion            of attention (over items) and each importance (over words): entropy,
                          reason (why there is none: an index of `REASONS`), boundaries (the share
                          of the gradient's norm at SOS and EOS, which the entropy leaves out)
    dispersion_influence  of the influence of words on an item, by `kind`: entropy and its square,
                          means over the items looked at, and reason; positions, how many; zero and
                          nan, how many were left out because nothing, or NaN, moves them
    """

    name = "dispersion"
    title = "Dispersion"
    question = "Over how many inputs is influence spread?"
    comparison = "how spread attention and influence are, 1 where all have the same"
    explanation = (
        "The normalised entropy of attention over items, of importances over words, and of "
        "the influence of words on items: 0 where one has all, 1 where all have the same "
        "(Meister et al. 2021)."
    )
    costly = True
    options_class: ClassVar[type] = DispersionOptions
    summary_tables = TABLES
    tidy_tables = (
        *("dispersion_instances", "dispersion", "dispersion_influence"),
        "dispersion_heads",
    )
    charts = "verax.exams.dispersion.charts"
    decisions_table = "dispersion_instances"
    variants: ClassVar[Mapping[str, str]] = {
        TRANSFORMER: "verax.exams.dispersion.transformer:TransformerDispersion"
    }
    summarise = staticmethod(summary.summarise)
    document_values = staticmethod(summary.document_values)
    label = staticmethod(judging.label)
    judge = staticmethod(judging.judge)

    kinds_of_influence: tuple[str, ...] = ()

    @classmethod
    def promise(cls, model: TextClassifier) -> str:
        """Exact, with gradients and influences or without."""
        return "exact" if getattr(model, "has_vectors", True) else NO_GRADIENTS

    def setup(self) -> None:
        # the user's importances may be negative, and have no entropy then: they are left out
        names = names_of(self.options.entropy_of, "inputs")
        self.names = [name for name in names if name != "attention"]
        self.kinds_of_influence = KINDS[self.options.influence]

    def begin(self, model: Any, documents: Any) -> None:
        self.names = on_vectors(self.names, model)
        if not getattr(model, "has_vectors", True):
            self.kinds_of_influence = ()

    @torch.no_grad()
    def see(self, model: AttentionClassifier, trace: Trace) -> None:
        """Examine one batch."""
        words, mask = trace.batch.words, trace.mask
        device = mask.device
        unknown = torch.full((len(trace),), torch.nan, dtype=torch.float64, device=device)
        self.builder.add("dispersion_instances", trace.ids, support_measures(trace))
        entropies, reasons, boundaries = [], [], []
        for name in ["attention", *self.names]:
            if name == "attention":
                scores, where = trace.weights, mask
            else:
                settings: dict[str, Any] = {"seed": self.seed, "max_tokens": self.max_tokens}
                scores, where = score(name, model, trace, **settings), words
            entropy, reason = spread(scores, where)
            entropies.append(entropy)
            reasons.append(reason)
            boundaries.append(_boundaries(model, trace) if name == "gradient" else unknown)
        measures = {
            "entropy": torch.stack(entropies),
            "reason": torch.stack(reasons),
            "boundaries": torch.stack(boundaries),
        }
        labels = [{"of": name} for name in ["attention", *self.names]]
        self.builder.add("dispersion", trace.ids, measures, labels=labels)
        for kind in self.kinds_of_influence:
            self._influence(model, trace, kind)

    def _influence(self, model: AttentionClassifier, trace: Trace, kind: str) -> None:
        targets = Targets.of(trace, self.options.positions, self.seed)
        shape = (5, len(trace))
        total = torch.zeros(shape, dtype=torch.float64, device=trace.mask.device)
        for rows, block, matrix in influences(model, trace, targets, kind, self.max_tokens):
            width = matrix.shape[-1]
            words = trace.batch.words[rows, :width].unsqueeze(1).expand(matrix.shape)
            is_target = targets.mask[rows][:, block]
            entropy, reason = spread(matrix.flatten(0, 1), words.flatten(0, 1))
            entropy, reason = entropy.view(is_target.shape), reason.view(is_target.shape)
            counted = is_target & (reason == 0)
            kept = entropy.masked_fill(~counted, 0.0)
            zero, nan = ((is_target & (reason == code)).sum(-1) for code in (2, 3))
            sums = [kept.sum(-1), kept.square().sum(-1), counted.sum(-1), zero, nan]
            total.index_add_(1, rows, torch.stack([s.double() for s in sums]))
        entropy, square, positions, zero, nan = total
        reason = torch.where(nan > 0, 3, 2).masked_fill(positions > 0, 0)
        reason = reason.masked_fill(trace.batch.words.sum(-1) < 2, 1)
        measures = {
            "entropy": entropy / positions,
            "reason": reason,
            "entropy_square": square / positions,
            "positions": positions,
            "zero": zero,
            "nan": nan,
        }
        # a table a kind would be as many files; one label tells them apart
        self.builder.add(
            f"dispersion_influence_{kind}", trace.ids, measures, labels=[{"kind": kind}]
        )

    def tables(self) -> dict[str, pd.DataFrame]:
        tables = self.builder.tables()
        kinds = [tables.pop(f"dispersion_influence_{k}") for k in self.kinds_of_influence]
        if kinds:
            joined = pd.concat(kinds, ignore_index=True)
            joined["kind"] = joined["kind"].astype("category")
            tables["dispersion_influence"] = joined
        return tables


def spread(scores: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """The normalised entropy of scores ≥ 0 once they sum to one, and why there is none; (batch,).

    Undefined, and NaN, with fewer than two positions, where all scores are zero, or one is NaN.
    """
    scores = scores.double().masked_fill(~mask, 0.0)
    total = scores.sum(-1, keepdim=True)
    entropy = normalised_entropy(scores / total, mask)
    reason = torch.zeros(len(scores), dtype=torch.int8, device=scores.device)
    reason[total.squeeze(-1) == 0] = 2
    reason[~total.squeeze(-1).isfinite()] = 3
    reason[mask.sum(-1) < 2] = 1
    return entropy.masked_fill(reason > 0, torch.nan), reason


def _boundaries(model: AttentionClassifier, trace: Trace) -> Tensor:
    """The share of the gradient's norm that falls on SOS and EOS."""
    every = gradient(model, trace, boundaries=True)
    outside = every.masked_fill(trace.batch.words, 0.0).sum(-1)
    return outside / every.sum(-1)

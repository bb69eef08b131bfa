"""The dispersion exam of Transformers: attention by layer and head, and importances of words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import torch
from torch import Tensor

from verax.exams.dispersion.entropy import support_size
from verax.exams.dispersion.exam import DispersionExam, spread
from verax.exams.dispersion.measures import ATTENTION
from verax.exams.places import head_places, layer_places
from verax.exams.reading import check_finite, correct, labels_of
from verax.importance import names_of, score
from verax.importance.transformers.rows import layer_head_rows, special_share
from verax.models.head import decisions
from verax.models.kinds import TRANSFORMER
from verax.options import option


@dataclass(frozen=True)
class TransformerDispersionOptions:
    entropy_of: str = option(
        "gradient,leave-one-out", "importances of inputs whose entropy is taken, beside attention's"
    )


class TransformerDispersion(DispersionExam):
    """The same for a Transformer, whose attention is that of the positions its classifier reads.

    A head's attention is r·A by words: r says which positions of the last states are read, A is the
    head's attention, and a word has the sum of its pieces. A layer's is the mean of its heads'; the
    model's is its last layer's. Entropies are over words, of shares that sum to one; what special
    tokens and sinks have is told beside them. Gives the first two tables of the exam, where items
    are words, and one more:

    dispersion_heads  by `place` (layer 3, head 3.2): entropy, special (the share that goes to no
                      word)

    Of an importance with signs the magnitudes are taken.
    """

    options_class = TransformerDispersionOptions

    def setup(self) -> None:
        names = names_of(self.options.entropy_of, "inputs", TRANSFORMER)
        self.names = [name for name in names if name != ATTENTION]

    @torch.no_grad()
    def see(self, model: Any, trace: Any) -> None:
        """Examine one batch."""
        check_finite(trace.logits)
        heads = layer_head_rows(model, trace, self.max_tokens)
        special = special_share(model, trace, self.max_tokens)
        layers = heads.mean(2)
        last = layers[:, -1]
        words = trace.mask.sum(-1)
        support = support_size(last, trace.mask)
        measures = {
            "words": words,
            "items": words,
            "support": support,
            "support_share": support.double() / words,
            "correct": correct(labels_of(trace), decisions(trace.logits)),
        }
        self.builder.add("dispersion_instances", trace.ids, measures)
        self._importances(model, trace, last)
        count = heads.shape[1], heads.shape[2]
        rows = torch.cat([layers, heads.flatten(1, 2)], 1).transpose(0, 1)
        entropy, _ = spread(
            rows.flatten(0, 1), trace.mask.expand(len(rows), *trace.mask.shape).flatten(0, 1)
        )
        measures = {
            "entropy": entropy.view(len(rows), -1),
            "special": torch.cat([special.mean(2), special.flatten(1, 2)], 1).transpose(0, 1),
        }
        labels = [{"place": place} for place in (*layer_places(count[0]), *head_places(*count))]
        self.builder.add("dispersion_heads", trace.ids, measures, labels=labels)

    def _importances(self, model: Any, trace: Any, attention: Tensor) -> None:
        """Entropies of the last layer's attention, and of each importance, over words."""
        settings: dict[str, Any] = {"seed": self.seed, "max_tokens": self.max_tokens}
        scored: dict[str, Tensor] = {ATTENTION: attention}
        for name in self.names:
            scored[name] = score(name, model, trace, **settings).abs()
        spreads = [spread(scores, trace.mask) for scores in scored.values()]
        entropy, reason = (torch.stack(parts) for parts in zip(*spreads, strict=True))
        measures = {
            "entropy": entropy,
            "reason": reason,
            "boundaries": torch.full_like(entropy, torch.nan),
        }
        labels = [{"of": name} for name in scored]
        self.builder.add("dispersion", trace.ids, measures, labels=labels)

    def tables(self) -> dict[str, pd.DataFrame]:
        return self.builder.tables()

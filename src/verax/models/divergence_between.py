"""Cached outputs of a model, and how far another model's attention and decisions are from them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.corpus import Documents
from verax.corpora.encoded import EncodedDocuments
from verax.divergence import jensen_shannon, total_variation
from verax.errors import VeraxError
from verax.models.base import Texts
from verax.models.classifier import AttentionClassifier
from verax.models.head import decisions, probabilities
from verax.models.options import READING


@dataclass(frozen=True, eq=False)
class CachedOutputs:
    """Weights of one document after the other, without padding, looked up by `batch.row_index`.

    flat    (all items,)           weights, without padding, SOS and EOS
    starts  (documents,) long      where in `flat` those of each row of the split begin
    items   (documents,) long      how many they are
    outputs (documents, classes)   logits; one column means one sigmoid logit

    A batch may come from another encoding of the same documents: what counts is that they have the
    same rows and the same items, not what is read around these.
    """

    flat: Tensor
    starts: Tensor
    items: Tensor
    outputs: Tensor

    @classmethod
    def of(
        cls, model: AttentionClassifier, encoded: EncodedDocuments, max_tokens: int = MAX_TOKENS
    ) -> CachedOutputs:
        """Read a split once, within a budget of padded tokens; stays on the model's device."""
        none = torch.zeros(0, device=model.device)
        flat, counts, keys, outputs = [none], [none.long()], [none.long()], []
        for trace in model.traces(encoded, max_tokens):
            flat.append(trace.weights[trace.mask])
            counts.append(trace.mask.sum(-1))
            keys.append(trace.batch.row_index)
            outputs.append(trace.logits)
        rows, many = torch.cat(keys), torch.cat(counts)
        places = torch.empty_like(rows)
        places[rows] = torch.arange(len(rows), device=rows.device)
        logits = torch.cat(outputs) if outputs else none.view(0, len(model.head.bias))
        starts = many.cumsum(0) - many
        return cls(torch.cat(flat), starts[places], many[places], logits[places])

    def __len__(self) -> int:
        return len(self.outputs)

    def to(self, device: torch.device) -> CachedOutputs:
        return CachedOutputs(
            *(t.to(device) for t in (self.flat, self.starts, self.items, self.outputs))
        )

    def weights(self, batch: Batch) -> Tensor:
        """(batch, items), zero where masked, for the documents of a batch on the same device."""
        rank = batch.mask.cumsum(-1) - 1
        index = self.starts[batch.row_index].unsqueeze(-1) + rank
        weights = self.flat[index.clamp_(0, max(len(self.flat) - 1, 0))]
        return weights.masked_fill(~batch.mask, 0.0)

    def logits(self, batch: Batch) -> Tensor:
        """(batch, classes)"""
        return self.outputs[batch.row_index]

    def probabilities(self, batch: Batch) -> Tensor:
        """(batch, classes) of every class: one logit gives two columns."""
        return probabilities(self.logits(batch))


def divergences(
    a: AttentionClassifier,
    b: AttentionClassifier,
    documents: Texts | Documents | EncodedDocuments,
    max_tokens: int = MAX_TOKENS,
) -> pd.DataFrame:
    """A row for each document, in order.

    id          the document's
    jsd         Jensen–Shannon divergence of the two attentions, nats, float64
    tvd         total variation distance of the two models' probabilities
    same        whether both decide for the same class
    label       the true class, and
    decision    a's, and
    correct     whether they are the same; label and correct are NaN without labels
    max_weight  the largest weight of b's attention
    items       how many are attended

    The models must attend the same items: both words, or both sentences. Documents are read by each
    in its own way; what is encoded already must fit both.
    """
    refuse_incomparable(a, b)
    if isinstance(documents, EncodedDocuments):
        _refuse_other_reading(a, b)
    other = CachedOutputs.of(b, b.encode(documents), max_tokens).to(a.device)
    encoded = a.encode(documents)
    between = DivergenceBetween.of(a, encoded, other, max_tokens)
    decided = decisions(between.logits).numpy()
    labels = encoded.labels
    nothing = np.full(len(decided), np.nan)
    return pd.DataFrame(
        {
            "id": encoded.ids,
            "jsd": between.jsd.numpy(),
            "tvd": between.tvd.numpy(),
            "same": decided == decisions(other.outputs).cpu().numpy(),
            "correct": nothing if labels is None else decided == labels,
            "label": nothing if labels is None else labels,
            "decision": decided,
            "max_weight": between.max_weight.numpy(),
            "items": other.items.cpu().numpy(),
        }
    )


@dataclass(frozen=True, eq=False)
class DivergenceBetween:
    """A model beside what was recorded of another: (documents,) each, in order, on CPU, float64.

    logits      (documents, classes)  the model's own
    jsd, tvd    between the two
    max_weight  the other's largest
    """

    logits: Tensor
    jsd: Tensor
    tvd: Tensor
    max_weight: Tensor

    @classmethod
    def of(
        cls,
        model: AttentionClassifier,
        encoded: EncodedDocuments,
        other: CachedOutputs,
        max_tokens: int = MAX_TOKENS,
    ) -> DivergenceBetween:
        """Reads the documents once; `other` is on the model's device."""
        logits = torch.empty(other.outputs.shape, dtype=torch.float64)
        numbers = torch.empty(3, len(other), dtype=torch.float64)
        for trace in model.traces(encoded, max_tokens):
            theirs = other.weights(trace.batch).double()
            ours, answers = trace.logits.double(), other.logits(trace.batch).double()
            columns = [
                jensen_shannon(trace.weights.double(), theirs),
                total_variation(probabilities(ours), probabilities(answers)),
                theirs.amax(-1),
            ]
            rows = trace.batch.row_index.cpu()
            logits[rows] = ours.cpu()
            numbers[:, rows] = torch.stack(columns).cpu()
        return cls(logits, *numbers)


def refuse_incomparable(a: AttentionClassifier, b: AttentionClassifier) -> None:
    """Attention over other items, or other classes, cannot be compared."""
    if a.options.hierarchical != b.options.hierarchical:
        raise VeraxError(
            "one model attends words, the other sentences: compare two of the same kind",
            code="model.incomparable",
        )
    for name in READING:
        one, other = getattr(a.options, name), getattr(b.options, name)
        if one != other:
            raise VeraxError(
                f"one model has {name} {one!r}, the other {other!r}: attention over other words "
                "cannot be compared",
                code="model.incomparable",
            )
    if a.classes != b.classes:
        raise VeraxError(
            f"the models have other classes: {a.classes} and {b.classes}", code="model.incomparable"
        )


def _refuse_other_reading(a: AttentionClassifier, b: AttentionClassifier) -> None:
    if (
        bool(a.options.boundaries) != bool(b.options.boundaries)
        or a.vocabulary.words != b.vocabulary.words
    ):
        raise VeraxError(
            "the two models read text as other numbers: give documents that are not yet encoded",
            code="model.incomparable",
        )

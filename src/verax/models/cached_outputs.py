"""Weights and logits of a model for every document of a split, cached."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.encoded import EncodedDocuments
from verax.models.classifier import AttentionClassifier
from verax.models.head import probabilities


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

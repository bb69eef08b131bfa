"""What training minimises: classification, and what grounding adds to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from verax.corpora.batch import Batch
from verax.corpora.vocabulary import SPECIALS
from verax.models.classifier import AttentionClassifier
from verax.models.grounding import (
    Masking,
    mask_words,
    mlm_loss,
    room_for_selected,
    tying_loss,
)
from verax.models.hashed_dropout import HashedDropout
from verax.models.trace import Trace

Step = int | Tensor
"""The number of a step; a tensor () long where steps are replayed."""

# the masked reading drops other units than the clean one
_SECOND_READING = 7_919


@dataclass(frozen=True, eq=False)
class Objective:
    """Mean loss over a batch, additive over its micro-batches.

    classification  mean over documents of class weight × cross-entropy
    tying           + δ × mean over all words of the batch of ‖h − e‖²
    mlm             + η × mean over all selected words of the batch of the cross-entropy

    Each piece of a batch contributes its sum over the whole batch's count, so pieces add up to
    the batch whatever the cut. `class_weights` is (classes,), or None for equal weights.
    """

    model: AttentionClassifier
    class_weights: Tensor | None
    seed: int

    def noise(self, batch: Batch, step: Step) -> HashedDropout:
        return HashedDropout.of(batch.row_index, batch.tokens.shape[1], self.seed, step)

    def noise_if_any(self, batch: Batch, step: Step) -> HashedDropout | None:
        return self.noise(batch, step) if self.model.options.is_random else None

    def counts(self, pieces: list[Batch], step: Step) -> BatchCounts:
        """What the batch's means divide by."""
        documents = sum(len(piece) for piece in pieces)
        grounding = self.model.options.grounding
        words = selected = None
        if grounding == "tying":
            words = torch.stack([p.words.sum() for p in pieces]).sum()
        elif grounding == "mlm":
            maskings = [self._masking(p, self.noise(p, step)) for p in pieces]
            selected = torch.stack([m.selected.sum() for m in maskings]).sum()
        return BatchCounts(documents, words, selected)

    def __call__(self, batch: Batch, step: Step, counts: BatchCounts) -> Tensor:
        noise = self.noise_if_any(batch, step)
        trace = self.model(batch, noise)
        loss = self.losses(trace).sum() / counts.documents
        return loss + self.grounding_loss(batch, trace, noise, counts)

    def grounding_loss(
        self, batch: Batch, trace: Trace, noise: HashedDropout | None, counts: BatchCounts
    ) -> Tensor | float:
        """What grounding adds: a tying or a masked-LM loss times its strength, or 0."""
        strength = self.model.options.grounding_weight
        if counts.words is not None and strength:
            tying = tying_loss(trace.states, trace.embedded, batch.words)
            return strength * tying / counts.words
        if counts.selected is not None and noise is not None and strength:
            return strength * self.masked_lm(batch, noise) / counts.selected.clamp(min=1)
        return 0.0

    def losses(self, trace: Trace) -> Tensor:
        """(batch,) loss of each document before grounding: here its weighted cross-entropy."""
        labels = trace.labels
        assert labels is not None
        if trace.logits.shape[1] == 1:
            # −log σ(z) for a positive, −log σ(−z) for a negative
            losses = functional.softplus(trace.logits.squeeze(1) * (1 - 2 * labels))
        else:
            losses = functional.cross_entropy(trace.logits, labels, reduction="none")
        return losses if self.class_weights is None else losses * self.class_weights[labels]

    def masked_lm(self, batch: Batch, noise: HashedDropout) -> Tensor:
        """Summed cross-entropy of the selected words, from a second, corrupted reading."""
        masking = self._masking(batch, noise)
        embedding = self.model.embedding
        mask_vector = self.model.mask_vector
        assert mask_vector is not None
        embedded = torch.where(masking.masked.unsqueeze(-1), mask_vector, embedding(masking.tokens))
        second = HashedDropout(noise.keys, noise.seed ^ _SECOND_READING)
        states = self.model.encode_words(batch, embedded, second)
        if batch.tokens.device.type == "cpu":
            chosen = masking.selected
            return mlm_loss(states[chosen], batch.tokens[chosen], embedding.weight).sum()
        return self._with_fixed_room(states, batch.tokens, masking.selected)

    def _with_fixed_room(self, states: Tensor, tokens: Tensor, selected: Tensor) -> Tensor:
        """The same in as many places each time: how many are selected only the device knows.

        Should there be more than fit, which no one will live to see, the loss is NaN.
        """
        room = room_for_selected(selected.numel(), self.model.options.mask_probability)
        is_word, places = selected.flatten().sort(descending=True, stable=True)
        is_word, places = is_word[:room], places[:room]
        targets = torch.where(is_word, tokens.flatten()[places], len(SPECIALS))
        losses = mlm_loss(states.flatten(0, 1)[places], targets, self.model.embedding.weight)
        left_out = torch.where(selected.sum() > room, torch.nan, 0.0)
        return (losses * is_word).sum() + left_out

    def _masking(self, batch: Batch, noise: HashedDropout) -> Masking:
        size, share = len(self.model.vocabulary), self.model.options.mask_probability
        return mask_words(batch.tokens, batch.words, size, share, noise)


@dataclass(frozen=True, eq=False)
class BatchCounts:
    """Documents of a whole batch; its words under tying, its selected words under a masked LM."""

    documents: int
    words: Tensor | None
    selected: Tensor | None


def balanced_weights(labels: NDArray[np.int64], classes: int, one_logit: bool) -> Tensor:
    """(classes,) weights that even out the classes.

    With one sigmoid logit, positives weigh N_neg / N_pos and negatives 1 (Jain & Wallace); with a
    softmax, class c weighs N / (C · N_c), which is scikit-learn's "balanced".
    """
    counts = np.bincount(labels, minlength=classes).astype(np.float64)
    if one_logit:
        return torch.tensor([1.0, counts[0] / counts[1]], dtype=torch.float32)
    weights = counts.sum() / (classes * np.maximum(counts, 1))
    return torch.tensor(weights, dtype=torch.float32)

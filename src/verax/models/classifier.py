"""The attention classifier: text → tokens → items → scores → weights → context → logits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.vocabulary import PAD, Vocabulary
from verax.models.encoders import make_encoder
from verax.models.layers import (
    Additive,
    Attention,
    Dot,
    HashedDropout,
    Head,
    fingerprint,
    ground,
    grounded_size,
    make_mask_vector,
)
from verax.models.options import ModelOptions
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace

_EMBEDDING_PLACE = 11


class AttentionClassifier(PooledClassifier):
    """A classifier with a choice in each slot, over words; `HierarchicalClassifier` is its twin.

    `options` must be resolved. `record` is what a saved model remembers of its making: corpus,
    training options, metrics. `history` has a row per epoch, epoch 0 being the untrained model.
    """

    trained_here = True

    def __init__(
        self,
        options: ModelOptions,
        vocabulary: Vocabulary,
        classes: Sequence[str],
    ) -> None:
        super().__init__()
        self.options = options
        self.vocabulary = vocabulary
        self.classes = list(classes)
        self.word_tokenizer = options.word_tokenizer
        self.history = pd.DataFrame()
        self.record: Mapping[str, Any] = {}
        self.embedding = nn.Embedding(len(vocabulary), options.embedding_size, padding_idx=PAD)
        nn.init.normal_(self.embedding.weight, std=options.embedding_size**-0.5)
        with torch.no_grad():
            self.embedding.weight[PAD] = 0
        self.mask_vector = make_mask_vector(options)
        self.encoder = make_encoder(options.encoder, options.embedding_size, options)
        item_size = self._make_levels(grounded_size(self.encoder.output_size, options))
        self.attention = Attention(item_size, options)
        self.head = Head(
            item_size,
            len(self.classes),
            options.head == "sigmoid",
            options.dropout_head,
            options.dropout_head_on,
        )
        if options.initialisation == "xavier":
            self.head.initialise_xavier()

    def _make_levels(self, state_size: int) -> int:
        """Modules between states and attended items; returns an item's size."""
        return state_size

    @property
    def device(self) -> torch.device:
        return self.embedding.weight.device

    @property
    def attended(self) -> str:
        """Words or sentences: what attention weighs."""
        return "sentences" if self.options.hierarchical else "words"

    def describe(self) -> dict[str, Any]:
        """The model's options, in plain values."""
        return asdict(self.options)

    @property
    def fingerprint(self) -> str:
        """A hash of the weights as they are now, 16 hexadecimal digits; see `fingerprint`."""
        return fingerprint(self)

    @property
    def max_length(self) -> int | None:  # type: ignore[override]
        """How many words of a text are read; None for all."""
        return self.options.max_length

    @property
    def boundaries(self) -> bool:  # type: ignore[override]
        """Whether SOS and EOS are read around the text."""
        return bool(self.options.boundaries)

    @property
    def grounding(self) -> str:  # type: ignore[override]
        """What holds a state to its word; of `ground`'s, what changes states."""
        return self.options.grounding

    @property
    def word_vectors(self) -> Tensor:
        """(vocabulary, size): the vector of each word."""
        return self.embedding.weight.detach()

    @property
    def words_are_items(self) -> bool:
        """Whether no state looks beyond its own word."""
        return self.encoder.reach == 0

    @property
    def known_readout(self) -> tuple[Attention, Head] | None:
        """Attention and head, where both are maps that formulas are known for."""
        known = isinstance(self.head, Head)
        known = known and isinstance(self.attention.alignment, (Additive, Dot))
        return (self.attention, self.head) if known else None

    def embed(self, batch: Batch) -> Tensor:
        """(batch, tokens, embedding): word vectors."""
        return self.embedding(batch.tokens)

    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, items, size) → scores and weights, both (batch, items)."""
        return self.attention(items, batch.mask)

    def weights_left(
        self, trace: Trace, rows: Tensor, left: Tensor, max_tokens: int = MAX_TOKENS
    ) -> Tensor:
        """Scores stay, and the projection is taken again over the items that are left."""
        return weigh_again(self.attention, trace, rows, left)

    def encode_states(
        self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Word vectors → states of words and attended items; here these are the same."""
        states = self.encode_words(batch, embedded, noise)
        return states, states

    def encode_words(
        self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        """(batch, tokens, embedding) → grounded states (batch, tokens, size)."""
        dropped = self._drop_embedded(embedded, noise)
        encoded = self.encoder(dropped, batch.token_mask, batch.lengths, noise)
        return ground(encoded, embedded, self.grounding)

    def _drop_embedded(self, embedded: Tensor, noise: HashedDropout | None) -> Tensor:
        if noise is None:
            return embedded
        return noise.dropout(embedded, self.options.dropout_embedding, _EMBEDDING_PLACE)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Write the model into a folder that `verax.load` reads.

        Args:
            folder: a new or an empty folder. It gets `config.json`, `vocabulary.json` and
                `model.safetensors`.
            overwrite: replace the model that the folder holds, if it holds nothing else.
        """
        from verax.models.saving import save

        save(self, folder, overwrite=overwrite)


def weigh_again(attention: Attention, trace: Trace, rows: Tensor, left: Tensor) -> Tensor:
    """The projection of a trace's scores over the items that are left; see `weights_left`."""
    scores = trace.scores[rows].double().unsqueeze(1).expand(left.shape)
    n = left.shape[-1]
    return attention.weigh(scores.reshape(-1, n), left.reshape(-1, n)).view(left.shape)

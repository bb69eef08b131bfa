"""HAN: words make sentences, sentences make the document (Yang et al. 2016; Serrano & Smith)."""

from __future__ import annotations

import torch
from torch import Tensor

from verax.corpora.batch import Batch, SentenceLayout
from verax.models.classifier import AttentionClassifier
from verax.models.encoders import make_encoder
from verax.models.layers import Attention, HashedDropout, ground, pool

_SENTENCE_PLACE = 12


class HierarchicalClassifier(AttentionClassifier):
    """Words are encoded and attended within each sentence, sentences within the document.

    Both attentions use the chosen alignment and projection; exams question the last one, whose
    items are sentences. Grounding acts on words.
    """

    words_are_items = False
    known_readout = None

    def _make_levels(self, state_size: int) -> int:
        self.word_attention = Attention(state_size, self.options)
        self.sentence_encoder = make_encoder(
            self.options.sentence_encoder, state_size, self.options
        )
        return self.sentence_encoder.output_size

    def encode_states(
        self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Word vectors → states of words, (batch, tokens, size), and of sentences."""
        layout = _layout(batch)
        states = self._encode_groups(layout, embedded, noise)
        sentences = self._sentences(layout, states)
        if noise is not None:
            noise = noise.columns(sentences.shape[1])
            sentences = noise.dropout(sentences, self.options.dropout_sentence, _SENTENCE_PLACE)
        counts = torch.from_numpy(layout.counts)
        items = self.sentence_encoder(sentences, layout.mask, counts, noise)
        return layout.join_words(states), items

    def sentences(self, batch: Batch, states: Tensor) -> Tensor:
        """States of words, (batch, tokens, size) → what the sentence encoder reads of them."""
        layout = _layout(batch)
        return self._sentences(layout, layout.split(states))

    def word_weights(self, batch: Batch, states: Tensor) -> Tensor:
        """(batch, tokens): the weight of each word within its sentence, zero at PAD."""
        layout = _layout(batch)
        groups = [
            self.word_attention(words, group.mask)[1].unsqueeze(-1)
            for words, group in zip(layout.split(states), layout.groups, strict=True)
        ]
        return layout.join_words(groups).squeeze(-1)

    def _sentences(self, layout: SentenceLayout, states: list[Tensor]) -> Tensor:
        contexts = []
        for words, group in zip(states, layout.groups, strict=True):
            _, weights = self.word_attention(words, group.mask)
            contexts.append(pool(weights, words))
        return layout.join_sentences(contexts)

    def encode_words(
        self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        layout = _layout(batch)
        return layout.join_words(self._encode_groups(layout, embedded, noise))

    def _encode_groups(
        self, layout: SentenceLayout, embedded: Tensor, noise: HashedDropout | None
    ) -> list[Tensor]:
        dropped = self._drop_embedded(embedded, noise)
        word_vectors = layout.split(embedded)
        inputs = word_vectors if dropped is embedded else layout.split(dropped)
        noises: list[HashedDropout | None] = [None] * len(word_vectors)
        if noise is not None:
            noises = [noise.with_keys(keys) for keys in layout.split(noise.keys)]
        return [
            ground(self.encoder(words, group.mask, group.lengths, drops), vectors, self.grounding)
            for words, vectors, group, drops in zip(
                inputs, word_vectors, layout.groups, noises, strict=True
            )
        ]


def _layout(batch: Batch) -> SentenceLayout:
    if batch.layout is None:
        raise TypeError("a hierarchical classifier needs a batch with sentences")
    return batch.layout

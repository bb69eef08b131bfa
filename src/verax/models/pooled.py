"""What exams and importances ask of a model with one attention over items, whoever made it."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verax.budget import tokens_within
from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS, reading_batches
from verax.corpora.corpus import Documents
from verax.corpora.encoded import EncodedDocuments, encode
from verax.corpora.vocabulary import UNK, Vocabulary
from verax.models.base import TextClassifier, Texts
from verax.models.encoders import Encoder
from verax.models.kinds import ATTENTION, DELETE, MASK, POOLED, Watch
from verax.models.layers import Attention, HashedDropout, Head, pool
from verax.models.trace import Trace


class PooledClassifier(nn.Module, TextClassifier):
    """Tokens → word vectors → states → items → weights → Σ α h → logits.

    Every exact exam asks no more than this. `AttentionClassifier` is what Verax trains,
    `verax.from_module` makes one of anybody's module.

    max_length    how many words of a text are read; None for all
    vocabulary    the words that have a vector of their own
    encoder       makes states of word vectors; formulas are used where they are known for it
    head          (…, size) → (…, classes), with `affine`, and a `bias` where that is true
    grounding     what is done to the encoder's states: none, concat, residual
    boundaries    whether SOS and EOS are read around the text
    has_vectors   whether words have vectors to go back to: without, inputs have no gradients
    """

    kind = POOLED
    has_vectors = True
    grounding = "none"
    boundaries = False
    max_length: int | None = None
    vocabulary: Vocabulary
    encoder: Encoder
    head: Head

    @property
    @abstractmethod
    def word_vectors(self) -> Tensor:
        """(vocabulary rows, size): the vector of each word."""

    @property
    @abstractmethod
    def words_are_items(self) -> bool:
        """Whether a word and its item are one: no state or weight looks beyond its own word."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away.

        Attention can only be taken off words where it is words that are attended.
        """
        return (DELETE, MASK, ATTENTION) if self.attended == "words" else (DELETE, MASK)

    @property
    def known_readout(self) -> tuple[Attention, Head] | None:
        """Attention and head, where both are maps that formulas are known for."""
        return None

    @abstractmethod
    def embed(self, batch: Batch) -> Tensor:
        """(batch, tokens, size): word vectors."""

    @abstractmethod
    def encode_states(
        self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Word vectors → states of words, (batch, tokens, …), and items, (batch, items, …)."""

    @abstractmethod
    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, items, size) → scores and weights, both (batch, items)."""

    @abstractmethod
    def weights_left(
        self, trace: Trace, rows: Tensor, left: Tensor, max_tokens: int = MAX_TOKENS
    ) -> Tensor:
        """Weights once items are gone and the rest is weighed again, in float64.

        Args:
            trace: a batch.
            rows: (rows,) long: which documents of the batch.
            left: (rows, variants, items) bool: the items that are left in each variant; with none,
                all weights are zero.
            max_tokens: padded tokens held at once.

        Returns:
            (rows, variants, items), on the simplex over what is left.
        """

    def forward(self, batch: Batch, noise: HashedDropout | None = None) -> Trace:
        """One pass. Without a HashedDropout nothing is dropped, in training mode and out of it."""
        return self.run(batch, self.embed(batch), noise)

    def run(self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None) -> Trace:
        """The pass from any word vectors on, (batch, tokens, embedding)."""
        states, items = self.encode_states(batch, embedded, noise)
        scores, weights = self.attend(batch, items)
        context = pool(weights, items)
        # a head of someone's own need not know of noise
        logits = self.head(context) if noise is None else self.head(context, noise.rows())
        return Trace(
            ids=batch.ids,
            labels=batch.labels,
            tokens=batch.tokens,
            token_mask=batch.token_mask,
            mask=batch.mask,
            batch=batch,
            embedded=embedded,
            states=states,
            items=items,
            scores=scores,
            weights=weights,
            logits=logits,
            head=self.head,
        )

    def trace(self, texts: Texts | Batch) -> Trace:
        """The forward pass over some texts, all at once: weights, scores, logits and items.

        For many or long texts use `traces`, which keeps to a token budget.

        Args:
            texts: texts, token lists, or a `Batch`.

        Returns:
            A trace, with documents in the order given.
        """
        if isinstance(texts, Batch):
            with torch.no_grad():
                return self(texts)
        return super().trace(texts)

    def batches(self, encoded: EncodedDocuments, max_tokens: int) -> list[NDArray[np.int64]]:
        """Which documents are traced together: each item of a trace has a logit of each class."""
        return reading_batches(encoded.lengths, tokens_within(max_tokens, len(self.classes)))

    def _encoded(self, texts: Texts | Documents, watch: Watch) -> EncodedDocuments:
        return encode(
            texts,
            self.vocabulary,
            self.word_tokenizer,
            max_length=self.max_length,
            boundaries=self.boundaries,
            hierarchical=self.attended == "sentences",
            watch=watch,
        )

    def unknown_words(self, texts: Texts | Documents | EncodedDocuments) -> float:
        """The share of the words of texts or documents that the vocabulary lacks."""
        encoded = self.encode(texts)
        words = len(encoded.tokens.values) - (2 * len(encoded) if encoded.boundaries else 0)
        return float((encoded.tokens.values == UNK).sum()) / max(words, 1)

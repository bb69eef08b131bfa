"""A classifier whose attention can read some words only."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

import torch
from torch import Tensor

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.tokenising import Tokeniser
from verax.corpora.vocabulary import SPECIALS, Vocabulary
from verax.models.classifier import AttentionClassifier, weigh_again
from verax.models.options import ModelOptions
from verax.models.trace import Trace
from verax.training.preparing import Make

HIDDEN = -1e4
"""What is added to the score of a word that cannot be read."""


class RestrictedClassifier(AttentionClassifier):
    """An attention classifier that gives no weight to words it may not read, if others are left.

    readable  (vocabulary,) bool
    frozen    whether attention stays as it was drawn
    """

    known_readout = None

    def __init__(
        self,
        options: ModelOptions,
        vocabulary: Vocabulary,
        classes: Sequence[str],
        tokeniser: Tokeniser | None = None,
        *,
        words: Collection[str],
        reads_them: bool,
        frozen: bool = False,
    ) -> None:
        super().__init__(options, vocabulary, classes, tokeniser)
        # rows of special tokens come first, and are no evidence
        among = torch.tensor([False] * len(SPECIALS) + [w in words for w in vocabulary.words])
        self.readable: Tensor
        self.register_buffer("readable", among if reads_them else ~among)
        self.attention.requires_grad_(not frozen)

    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """Scores of what cannot be read are lowered, so that no weight is left there."""
        scores, _ = self.attention(items, batch.mask)
        scores = scores + HIDDEN * ~self.readable[batch.tokens]
        return scores, self.attention.weigh(scores, batch.mask)

    def weights_left(
        self, trace: Trace, rows: Tensor, left: Tensor, max_tokens: int = MAX_TOKENS
    ) -> Tensor:
        """The projection of the same scores over the items that are left."""
        return weigh_again(self.attention, trace, rows, left)


def restricted(words: Collection[str], reads_them: bool, frozen: bool) -> Make:
    """What makes such a classifier.

    Args:
        words: a lexicon.
        reads_them: whether attention can read these words alone, or all others.
        frozen: whether attention stays as it was drawn.
    """
    return partial(
        RestrictedClassifier, words=frozenset(words), reads_them=reads_them, frozen=frozen
    )

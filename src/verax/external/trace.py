"""What one pass over a batch leaves behind, for a model that Verax did not train."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from verax.external.reading import WordBatch

if TYPE_CHECKING:
    from verax.external.pieces import PieceBatch


@dataclass(frozen=True, eq=False, repr=False)
class WordTrace:
    """Logits of a batch of texts. Tokens and items are words here.

    batch   the texts and their words
    logits  (batch, classes); one column means one sigmoid logit
    cache   what was worked out of this trace already, kept by whoever worked it out
    """

    batch: WordBatch
    logits: Tensor
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def ids(self) -> NDArray[np.int64]:
        return self.batch.ids

    @property
    def labels(self) -> Tensor | None:
        return self.batch.labels

    @property
    def mask(self) -> Tensor:
        """(batch, words) bool"""
        return self.batch.words

    @property
    def tokens(self) -> Tensor:
        """(batch, words): one place for each word that is read; only its shape says anything."""
        return self.batch.words.long()

    @property
    def words(self) -> list[list[str]]:
        """The words of each text, as it has them."""
        pairs = zip(self.batch.texts, self.batch.spans, strict=True)
        return [[text[start:stop] for start, stop in spans] for text, spans in pairs]


@dataclass(frozen=True, eq=False, repr=False)
class TransformerTrace(WordTrace):
    """The same of a Transformer, with the pieces that it read.

    pieces  input ids, their mask, and the word that each piece belongs to
    """

    pieces: PieceBatch


@dataclass(frozen=True, eq=False)
class Pass:
    """One pass over a batch of pieces.

    logits  (batch, classes)
    states  of the embeddings and after each layer, (batch, pieces, size) each, where asked for
    last    what the classifier reads, (batch, pieces, size): the last layer's states
    """

    logits: Tensor
    states: tuple[Tensor, ...] | None
    last: Tensor

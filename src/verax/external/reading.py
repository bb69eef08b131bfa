"""Texts as other people's models read them: whole, with the place of each word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.corpus import Documents
from verax.corpora.tokenizer import Tokenizer
from verax.errors import VeraxError

Spans = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ReadTexts:
    """Texts with the places of their words.

    texts    the texts, untouched
    spans    (words, 2) of each: where its words begin and end
    labels   (texts,), or None
    ids      (texts,)
    lengths  (texts,): what a text counts for in a batch's budget
    """

    texts: list[str]
    spans: list[Spans]
    labels: NDArray[np.int64] | None
    ids: NDArray[np.int64]
    lengths: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def words(self) -> list[list[str]]:
        """The words of each text, as it has them."""
        pairs = zip(self.texts, self.spans, strict=True)
        return [[text[start:stop] for start, stop in spans] for text, spans in pairs]

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """(texts,): how many words of each are read."""
        return np.array([len(spans) for spans in self.spans], dtype=np.int64)

    def batch(self, rows: NDArray[np.int64], device: torch.device) -> WordBatch:
        """The texts at `rows`, with a mask of their words on `device`."""
        counts = np.array([len(self.spans[row]) for row in rows], dtype=np.int64)
        words = np.arange(int(counts.max(initial=0))) < counts[:, None]
        labels = None if self.labels is None else torch.from_numpy(self.labels[rows]).to(device)
        return WordBatch(
            texts=[self.texts[row] for row in rows],
            spans=[self.spans[row] for row in rows],
            words=torch.from_numpy(words).to(device),
            labels=labels,
            ids=self.ids[rows],
            row_index=torch.from_numpy(np.asarray(rows, dtype=np.int64)).to(device),
        )


@dataclass(frozen=True, eq=False)
class WordBatch:
    """A batch of texts by their words.

    texts      the texts, untouched
    spans      (words, 2) of each
    words      (batch, words) bool
    labels     (batch,) or None
    ids        (batch,)
    row_index  (batch,): where each stands among all that were read
    """

    texts: list[str]
    spans: list[Spans]
    words: Tensor
    labels: Tensor | None
    ids: NDArray[np.int64]
    row_index: Tensor
    layout: None = None

    def __len__(self) -> int:
        return len(self.texts)

    @property
    def item_of_token(self) -> Tensor:
        """(batch, words): each word is an item of its own; −1 where there is none."""
        places = torch.arange(self.words.shape[1], device=self.words.device)
        return torch.where(self.words, places, -1)

    def without(self, row: int, removed: NDArray[np.bool_]) -> str:
        """A text with some of its words deleted, and the blanks before each.

        removed  (words,) bool
        """
        return without_words(self.texts[row], self.spans[row], removed)

    def masked(self, row: int, removed: NDArray[np.bool_], mask: str) -> str:
        """A text with a mask in the place of some of its words.

        removed  (words,) bool
        """
        return masked_words(self.texts[row], self.spans[row], removed, mask)


def masked_words(text: str, spans: Spans, removed: NDArray[np.bool_], mask: str) -> str:
    """A text with a mask in the place of some of its words.

    >>> spans = Tokenizer("as-written").spans("not a good film.")
    >>> masked_words("not a good film.", spans, np.array([1, 0, 1, 0, 0], dtype=bool), "[MASK]")
    '[MASK] a [MASK] film.'
    """
    written, end = [], 0
    for (start, stop), gone in zip(spans, removed, strict=False):
        written.append(text[end:start] + mask if gone else text[end:stop])
        end = stop
    return "".join([*written, text[end:]])


def without_words(text: str, spans: Spans, removed: NDArray[np.bool_]) -> str:
    """A text with some of its words deleted, and the blanks before each.

    >>> spans = Tokenizer("as-written").spans("not a good film.")
    >>> without_words("not a good film.", spans, np.array([1, 0, 1, 0, 0], dtype=bool))
    'a film.'
    """
    kept, end = [], 0
    for (start, stop), gone in zip(spans, removed, strict=False):
        if not gone:
            kept.append(text[end:stop])
        elif text[end:start].strip():  # signs that belong to no word stay
            kept.append(text[end:start].rstrip())
        end = stop
    kept.append(text[end:])
    return "".join(kept).strip()


def read_texts(
    source: Sequence[str | Sequence[str]] | Documents | ReadTexts, tokenizer: Tokenizer
) -> ReadTexts:
    """Texts, token lists or documents with the places of their words; none may be empty."""
    if isinstance(source, ReadTexts):
        return source
    if isinstance(source, Documents):
        texts, ids = source.texts, source.ids
        labels = source.labels if source.is_labelled else None
    else:
        texts = [text if isinstance(text, str) else " ".join(text) for text in source]
        ids, labels = np.arange(len(texts)), None
    spans = [tokenizer.spans(text) for text in texts]
    counts = np.array([len(one) for one in spans], dtype=np.int64)
    if len(counts) and counts.min() == 0:
        raise VeraxError(
            f"text {int(counts.argmin())} has no words: give texts with at least one",
            code="text.empty",
        )
    return ReadTexts(list(texts), spans, labels, np.asarray(ids), counts)

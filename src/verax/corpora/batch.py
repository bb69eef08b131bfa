"""One padded batch, and how its words regroup into sentences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.ragged import Ragged, positions_within
from verax.corpora.tokenizer import TokenizedTexts


@dataclass(frozen=True, eq=False)
class Batch:
    """Documents side by side.

    tokens          (batch, tokens) long    vocabulary rows, PAD beyond the end
    token_mask      (batch, tokens) bool    what is read: SOS and EOS included
    mask            (batch, items) bool     the attended items: words, or sentences if hierarchical
    lengths         (batch,) long           tokens read of each document; on CPU, but in a step that
                                            is captured and replayed on the device
    labels          (batch,) long or None
    ids             (batch,) numpy          the documents' ids in their corpus
    row_index       (batch,) long           their rows in the encoded split, for `HashedDropout`
    layout          how tokens regroup into sentences, None in a flat batch
    texts           the encoded split as words, by `row_index`; None if unknown
    """

    tokens: Tensor
    token_mask: Tensor
    mask: Tensor
    lengths: Tensor
    labels: Tensor | None
    ids: NDArray[np.int64]
    row_index: Tensor
    layout: SentenceLayout | None = None
    texts: TokenizedTexts | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def words(self) -> Tensor:
        """(batch, tokens) bool: the tokens that are words of the text, not SOS, EOS or PAD."""
        return self.mask if self.layout is None else self.token_mask

    @property
    def item_of_token(self) -> Tensor:
        """(batch, tokens) long: the item each token belongs to, −1 for SOS, EOS and PAD."""
        if self.layout is not None:
            return self.layout.sentence_of_token
        places = torch.arange(self.mask.shape[1], device=self.mask.device)
        return torch.where(self.mask, places, -1)


@dataclass(frozen=True, eq=False)
class SentenceGroup:
    """Sentences of similar length, longest first.

    index    (sentences, words) long   where each word stands in the batch's flattened tokens
    mask     (sentences, words) bool
    lengths  (sentences,) long, on CPU
    """

    index: Tensor
    mask: Tensor
    lengths: Tensor


@dataclass(frozen=True, eq=False)
class SentenceLayout:
    """A batch's words, (batch, tokens), as groups of sentences and back.

    One rectangle of all sentences would be mostly padding, since the longest sets its width; groups
    whose members are at least half as long as their longest keep padding below a half at the cost
    of a few more encoder calls. On a GPU calls cost more than padding: there an eighth will do.

    counts             (batch,) numpy       sentences of each document
    mask               (batch, sentences) bool
    sentence_of_token  (batch, tokens) long, −1 for PAD
    """

    groups: tuple[SentenceGroup, ...]
    counts: NDArray[np.int64]
    mask: Tensor
    sentence_of_token: Tensor
    _slot_of_sentence: Tensor
    _slot_of_token: Tensor

    @classmethod
    def of(cls, sentences: Ragged, width: int, device: torch.device) -> SentenceLayout:
        """`sentences` holds the length of every sentence of every document in the batch."""
        lengths = sentences.values.astype(np.int64)
        counts = sentences.lengths
        document, within = sentences.row_of_value, positions_within(counts)
        document_length = np.bincount(document, weights=lengths, minlength=len(counts))
        before = np.cumsum(lengths) - lengths
        document_start = np.cumsum(document_length).astype(np.int64) - document_length.astype(int)
        start = document * width + before - document_start[document]

        order = np.argsort(-lengths, kind="stable")
        descending = lengths[order]
        groups, slot_start = [], np.empty(len(lengths), np.int64)
        shorter = 2 if device.type == "cpu" else 8
        first = filled = 0
        while first < len(order):
            longest = int(descending[first])
            last = int(np.searchsorted(-descending, -(longest // shorter), side="left"))
            members = order[first : max(last, first + 1)]
            places = np.arange(longest)
            inside = places < lengths[members][:, None]
            index = np.where(inside, start[members][:, None] + places, 0)
            groups.append(
                SentenceGroup(
                    torch.from_numpy(index).to(device),
                    torch.from_numpy(inside).to(device),
                    torch.from_numpy(lengths[members]),
                )
            )
            slot_start[members] = filled + np.arange(len(members)) * longest
            filled += len(members) * longest
            first += len(members)

        slot_of_sentence = np.zeros((len(counts), int(counts.max(initial=0))), np.int64)
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        slot_of_sentence[document, within] = rank
        sentence_of_token = np.full(len(counts) * width, -1, np.int64)
        slot_of_token = np.zeros(len(counts) * width, np.int64)
        inner = positions_within(lengths)
        flat = np.repeat(start, lengths) + inner
        sentence_of_token[flat] = np.repeat(within, lengths)
        slot_of_token[flat] = np.repeat(slot_start, lengths) + inner
        mask = np.arange(slot_of_sentence.shape[1]) < counts[:, None]

        def put(array: NDArray[np.generic]) -> Tensor:
            return torch.from_numpy(array).to(device)

        shape = (len(counts), width)
        return cls(
            groups=tuple(groups),
            counts=counts,
            mask=put(mask),
            sentence_of_token=put(sentence_of_token.reshape(shape)),
            _slot_of_sentence=put(slot_of_sentence),
            _slot_of_token=put(slot_of_token.reshape(shape)),
        )

    def split(self, values: Tensor) -> list[Tensor]:
        """(batch, tokens, …) → one (sentences, words, …) per group; padding holds other words."""
        flat = values.flatten(0, 1)
        return [flat[group.index] for group in self.groups]

    def join_words(self, groups: list[Tensor]) -> Tensor:
        """One (sentences, words, size) per group → (batch, tokens, size), zero at PAD."""
        flat = torch.cat([group.flatten(0, 1) for group in groups])
        return flat[self._slot_of_token] * (self.sentence_of_token >= 0).unsqueeze(-1)

    def join_sentences(self, groups: list[Tensor]) -> Tensor:
        """One (sentences, size) per group → (batch, sentences, size), zero where there is none."""
        return torch.cat(groups)[self._slot_of_sentence] * self.mask.unsqueeze(-1)

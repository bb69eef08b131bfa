"""Pieces of words: what a Hugging Face tokenizer makes of texts, and the word of each piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.errors import VeraxError
from verax.external.reading import ReadTexts, Spans, WordBatch

SPECIAL = -1
"""The word of a piece that belongs to none: [CLS], [SEP], padding, a sign between words."""


@dataclass(frozen=True, eq=False)
class PieceBatch:
    """A padded batch of pieces.

    input_ids  (batch, pieces)
    mask       (batch, pieces) bool: what is no padding
    word       (batch, pieces): the word each belongs to, −1 for none
    more       other inputs of the model by name, (batch, pieces) each, such as token_type_ids
    """

    input_ids: Tensor
    mask: Tensor
    word: Tensor
    more: dict[str, Tensor]

    def __len__(self) -> int:
        return len(self.input_ids)

    def take(self, rows: Tensor, width: int | None = None) -> PieceBatch:
        """The rows at these places, their first `width` pieces; one may be there many times."""
        more = {name: values[rows, :width] for name, values in self.more.items()}
        ids, mask, word = (
            values[rows, :width] for values in (self.input_ids, self.mask, self.word)
        )
        return PieceBatch(ids, mask, word, more)

    def masked_out(self, removed: Tensor) -> PieceBatch:
        """The same with the pieces of some words hidden from attention, (batch, words) bool."""
        return replace(self, mask=self.mask & ~self.of_words(removed))

    def replaced_by(self, piece: int, removed: Tensor) -> PieceBatch:
        """The same with each piece of some words replaced, (batch, words) bool."""
        return replace(self, input_ids=self.input_ids.masked_fill(self.of_words(removed), piece))

    def of_words(self, words: Tensor) -> Tensor:
        """(batch, words) bool → (batch, pieces): whether each piece is of one of these words."""
        chosen = words.gather(-1, self.word.clamp(min=0)) if words.shape[1] else self.word > 0
        return chosen & (self.word >= 0)

    def sum_by_word(self, scores: Tensor, words: int) -> Tensor:
        """(batch, …, pieces) scores → (batch, …, words): the sum over each word's pieces."""
        return self._by_word(scores, words, "sum")

    def max_by_word(self, scores: Tensor, words: int) -> Tensor:
        """(batch, …, pieces) scores → (batch, …, words): the largest of each word's pieces."""
        return self._by_word(scores, words, "amax")

    def _by_word(self, scores: Tensor, words: int, how: str) -> Tensor:
        between = (1,) * (scores.dim() - 2)
        # special pieces go to a place of their own, which is cut off
        place = torch.where(self.word >= 0, self.word, words)
        place = place.view(len(self), *between, -1).expand(scores.shape)
        if how == "sum":
            if scores.device.type == "cuda":  # adds up in one order; scattering there does not
                belongs = self.word.unsqueeze(-1) == torch.arange(words, device=scores.device)
                return (
                    scores.reshape(len(self), -1, scores.shape[-1]) @ belongs.to(scores.dtype)
                ).view(*scores.shape[:-1], words)
            totals = scores.new_zeros(*scores.shape[:-1], words + 1)
            return totals.scatter_add(-1, place, scores)[..., :words]
        largest = scores.new_full((*scores.shape[:-1], words + 1), -torch.inf)
        largest = largest.scatter_reduce(-1, place, scores, how)[..., :words]
        return largest.masked_fill(largest == -torch.inf, 0.0)


@dataclass(frozen=True, eq=False)
class Pieces:
    """The pieces of texts, not padded yet.

    input_ids  of each text
    word       of each text: the word that each piece belongs to, −1 for none
    more       other inputs by name, of each text
    cut        (texts,) bool: whether some of the text was over the longest length
    """

    input_ids: list[NDArray[np.int64]]
    word: list[NDArray[np.int64]]
    more: dict[str, list[NDArray[np.int64]]]
    cut: NDArray[np.bool_]

    @property
    def lengths(self) -> NDArray[np.int64]:
        return np.array([len(ids) for ids in self.input_ids], dtype=np.int64)

    def batch(
        self, rows: NDArray[np.int64], pad: int, pad_left: bool, device: torch.device
    ) -> PieceBatch:
        """The texts at `rows`, padded to the longest."""
        width = int(max((len(self.input_ids[row]) for row in rows), default=0))

        def padded(lists: list[NDArray[np.int64]], fill: int) -> Tensor:
            values = np.full((len(rows), width), fill, dtype=np.int64)
            for place, row in enumerate(rows):
                one = lists[row]
                if pad_left:
                    values[place, width - len(one) :] = one
                else:
                    values[place, : len(one)] = one
            return torch.from_numpy(values).to(device)

        lengths = torch.tensor([len(self.input_ids[row]) for row in rows], device=device)
        places = torch.arange(width, device=device)
        ends = lengths.unsqueeze(-1)
        mask = places >= width - ends if pad_left else places < ends
        more = {name: padded(lists, 0) for name, lists in self.more.items()}
        return PieceBatch(padded(self.input_ids, pad), mask, padded(self.word, SPECIAL), more)


@dataclass(frozen=True, eq=False)
class ReadPieces(ReadTexts):
    """Texts as a Hugging Face model reads them: words, and the pieces of these.

    Words that were cut off are not among the words: `spans` has those that were read.

    pieces  of each text
    cut_at  the most pieces of a text that were read
    """

    pieces: Pieces
    cut_at: int

    @property
    def cut_texts(self) -> int:
        """How many texts had more pieces than were read."""
        return int(self.pieces.cut.sum())

    def piece_batch(
        self, rows: NDArray[np.int64], pad: int, pad_left: bool, device: torch.device
    ) -> tuple[WordBatch, PieceBatch]:
        """The texts at `rows` as words and as pieces."""
        return self.batch(rows, device), self.pieces.batch(rows, pad, pad_left, device)


class PieceReader:
    """Texts to pieces by a tokenizer that tells where each piece stands.

    Args:
        tokenizer: of Hugging Face, a fast one.
        max_length: the most pieces a text may have; the rest is cut off, and counted.
        separator: splits a text into the two of a pair; None: texts are read whole.
    """

    def __init__(self, tokenizer: Any, max_length: int, separator: str | None = None) -> None:
        self.tokenizer, self.max_length, self.separator = tokenizer, max_length, separator
        names = (f"{name}_token_id" for name in ("bos", "cls", "eos", "pad"))
        known = [piece for name in names if (piece := getattr(tokenizer, name, None)) is not None]
        self.nothing = int(known[0]) if known else 0
        """What stands for an empty text, where the tokenizer makes no piece of it."""

    def __call__(self, texts: Sequence[str], spans: Sequence[Spans]) -> Pieces:
        """The pieces of texts, each with the word it lies in."""
        if not texts:
            return Pieces([], [], {}, np.zeros(0, bool))
        firsts, seconds, starts = self._divided(texts)
        encoded = self.tokenizer(
            firsts,
            seconds,
            truncation=True,
            max_length=self.max_length,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        whole = self.tokenizer(firsts, seconds, verbose=False, return_attention_mask=False)
        ids = [np.array(row or [self.nothing], dtype=np.int64) for row in encoded["input_ids"]]
        cut = np.array(
            [len(a) > len(b) for a, b in zip(whole["input_ids"], ids, strict=True)], dtype=bool
        )
        words = []
        for row, offsets in enumerate(encoded["offset_mapping"]):
            places = np.asarray(offsets, dtype=np.int64).reshape(-1, 2)
            sequence = encoded.sequence_ids(row)
            special = np.array([number is None for number in sequence])
            shift = np.array([starts[row] if number == 1 else 0 for number in sequence])
            if len(places):
                words.append(words_of(places + shift[:, None], special, spans[row]))
            else:
                words.append(np.array([SPECIAL]))
        more = {
            name: [np.array(row or [0], dtype=np.int64) for row in encoded[name]]
            for name in ("token_type_ids",)
            if name in encoded
        }
        return Pieces(ids, words, more, cut)

    def without_separator(self, texts: Sequence[str], spans: Sequence[Spans]) -> list[Spans]:
        """Return the words of each text without the separator, which may not be left out."""
        if self.separator is None:
            return list(spans)
        apart = []
        for row, (text, words) in enumerate(zip(texts, spans, strict=True)):
            start = text.find(self.separator)
            stop = start + len(self.separator)
            overlap = (start >= 0) & (words[:, 0] < stop) & (words[:, 1] > start)
            across = overlap & ((words[:, 0] < start) | (words[:, 1] > stop))
            if across.any():
                raise VeraxError(
                    f"text {row}: the separator {self.separator!r} is part of a word: put blanks "
                    "around it",
                    code="text.bad-pair",
                )
            if overlap.all():
                raise VeraxError(
                    f"text {row} has no words: give texts with at least one", code="text.empty"
                )
            apart.append(words[~overlap])
        return apart

    def refuse_cut(self, pieces: Pieces) -> None:
        """Refuse texts whose beginning was cut off, and pairs that were cut.

        The words left are not the first ones then, and others come in as words are left out.
        """
        from_left = getattr(self.tokenizer, "truncation_side", "right") == "left"
        if not pieces.cut.any() or not (from_left or self.separator is not None):
            return
        why = "pairs are not cut"
        if self.separator is None:
            why = "its tokenizer would cut off the beginning (set its truncation_side to 'right')"
        raise VeraxError(
            f"text {int(pieces.cut.argmax())} is longer than the {self.max_length} pieces of the "
            f"model, and {why}: shorten it, or leave long texts out (--max-words)",
            code="text.too-long",
        )

    def _divided(self, texts: Sequence[str]) -> tuple[list[str], list[str] | None, list[int]]:
        """First texts, second ones where texts are pairs, and where these begin."""
        if self.separator is None:
            return list(texts), None, [0] * len(texts)
        parts = [text.partition(self.separator) for text in texts]
        starts = [len(first) + len(between) for first, between, _ in parts]
        return [part[0] for part in parts], [part[2] for part in parts], starts


def words_of(
    places: NDArray[np.int64], special: NDArray[np.bool_], spans: Spans
) -> NDArray[np.int64]:
    """(pieces,): the word that each piece lies in, by its last character; −1 for none.

    places   (pieces, 2): where each piece begins and ends in the text; the blank before a word may
             belong to its first piece
    special  (pieces,) bool: pieces that stand for no text
    """
    if not len(spans):
        return np.full(len(places), SPECIAL, dtype=np.int64)
    last = places[:, 1] - 1
    word = np.searchsorted(spans[:, 0], last, side="right") - 1
    inside = (word >= 0) & (last < spans[np.maximum(word, 0), 1]) & (places[:, 1] > places[:, 0])
    return np.where(inside & ~special, word, SPECIAL).astype(np.int64)

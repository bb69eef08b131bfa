"""Words of a split as a Transformer reads them: sequences of pieces, and their states by layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.exams.information.occurrences import GatheredStates, choose_places, choose_words
from verax.exams.word_states import word_states
from verax.external.pieces import SPECIAL, PieceBatch, ReadPieces
from verax.models.transformers.classifier import TransformerTrace

_NONE = -1
"""The type of a word without pieces."""


@dataclass(frozen=True, eq=False)
class WordTypes:
    """Every word of a split, those alike that are read as the same pieces.

    types   (words,) a number for each, in order of first occurrence; −1 where it has no pieces
    starts  (documents + 1,) where the words of each begin
    """

    types: NDArray[np.int64]
    starts: NDArray[np.int64]

    @property
    def documents(self) -> NDArray[np.int64]:
        """(words,) the document of each."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


def word_types(read: ReadPieces) -> WordTypes:
    """The types of the words of all documents.

    Args:
        read: documents as a model reads them.
    """
    counts = np.array([len(spans) for spans in read.spans], dtype=np.int64)
    starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    word = np.concatenate([*read.pieces.word, np.zeros(0, np.int64)])
    pieces = np.concatenate([*read.pieces.input_ids, np.zeros(0, np.int64)])
    places = np.repeat(starts[:-1], read.pieces.lengths) + word
    places, pieces = places[word != SPECIAL], pieces[word != SPECIAL]
    each = np.bincount(places, minlength=starts[-1])
    # which piece of its word each is
    nth = np.arange(len(places)) - (np.cumsum(each) - each)[places]
    codes, known = np.full(starts[-1], _NONE, dtype=np.int64), 0
    for number in range(int(each.max(initial=0))):
        at = places[nth == number]
        pairs = (codes[at] + 1) * (int(pieces.max()) + 1) + pieces[nth == number]
        distinct, code = np.unique(pairs, return_inverse=True)
        codes[at] = known + code  # other numbers than those of shorter words
        known += len(distinct)
    return WordTypes(_by_first_occurrence(codes), starts)


def _by_first_occurrence(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    types = np.full(len(codes), _NONE, dtype=np.int64)
    known = np.flatnonzero(codes != _NONE)
    _, first, number = np.unique(codes[known], return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    types[known] = rank[number]
    return types


class LayerStates:
    """States of chosen words at every layer, gathered batch by batch.

    words      (occurrences,) the word of each, in order of the split; a row of `chosen`
    documents  (occurrences,) the document of each
    chosen     (words, 2): a document and a place in it where each word stands
    in_split   how many occurrences there are; at most `limit` are looked at, drawn by the seed
    states     of the embeddings and of each layer, (occurrences, size) float32 each
    """

    def __init__(self, split: WordTypes, words: int, by: str, limit: int, seed: int) -> None:
        counts = np.bincount(split.types[split.types != _NONE])
        rows = choose_words(counts, words, by, seed)
        places, self.in_split = choose_places(split.types, rows, limit, seed)
        self.words = np.searchsorted(rows, split.types[places])
        documents = split.documents
        self.documents = documents[places]
        _, first = np.unique(split.types, return_index=True)
        first = first[split.types[first] != _NONE][rows]
        self.chosen = np.stack([documents[first], first - split.starts[documents[first]]], -1)
        slots = np.full(len(split.types), -1, dtype=np.int64)
        slots[places] = np.arange(len(places))
        self._slots, self._starts = torch.from_numpy(slots), torch.from_numpy(split.starts[:-1])
        self.states: list[Tensor] = []

    def see(self, trace: TransformerTrace, states: Sequence[Tensor]) -> None:
        """Take the states of this batch's occurrences, (batch, pieces, size) of each layer."""
        device, words = trace.mask.device, trace.mask.shape[1]
        self._slots, self._starts = self._slots.to(device), self._starts.to(device)
        if not self.states:
            sizes = (layer.shape[-1] for layer in states)
            self.states = [torch.zeros(len(self.words), size, device=device) for size in sizes]
        places = self._starts[trace.batch.row_index].unsqueeze(-1)
        places = places + torch.arange(words, device=device)
        slots = self._slots[places.clamp_(max=max(len(self._slots) - 1, 0))]
        taken = trace.mask & (slots >= 0)
        for kept, layer in zip(self.states, states, strict=True):
            kept[slots[taken]] = word_states(trace.pieces, layer.float(), words)[taken]

    def layer(self, number: int) -> GatheredStates:
        """The states of one layer; 0 is that of the embeddings."""
        return GatheredStates(self.words, self.in_split, self.states[number], self.documents)


def pieces_of(read: ReadPieces, chosen: NDArray[np.int64], device: torch.device) -> PieceBatch:
    """The pieces of some words, a row each.

    Args:
        read: documents as a model reads them.
        chosen: (words, 2): a document, and a place in it.
        device: where the batch shall be.
    """
    ids = [
        read.pieces.input_ids[document][read.pieces.word[document] == place]
        for document, place in chosen
    ]
    rows = torch.nn.utils.rnn.pad_sequence([torch.from_numpy(row) for row in ids], True)
    lengths = torch.tensor([len(row) for row in ids])
    mask = torch.arange(rows.shape[1]) < lengths.unsqueeze(-1)
    word = torch.where(mask, 0, SPECIAL)
    return PieceBatch(rows.to(device), mask.to(device), word.to(device), {})

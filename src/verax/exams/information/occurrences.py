"""Which words to ask about, and where in a split they occur."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.encoded import EncodedDocuments
from verax.corpora.vocabulary import SPECIALS
from verax.models.trace import Trace

WORDS_BY = ("frequent", "sampled")
_POWER = 0.75


def choose_words(counts: NDArray[np.int64], words: int, by: str, seed: int) -> NDArray[np.int64]:
    """Rows of at most `words` words that occur, in rising order; `counts` has one for each row.

    frequent  those that occur most, the lower row first in a tie
    sampled   drawn without replacement by their frequency to the power ¾
    """
    occurring = np.flatnonzero(counts > 0)
    if len(occurring) <= words:
        return occurring
    if by == "frequent":
        return np.sort(occurring[np.argsort(-counts[occurring], kind="stable")[:words]])
    chances = counts[occurring].astype(np.float64) ** _POWER
    random = np.random.Generator(np.random.PCG64([seed, words]))
    return np.sort(random.choice(occurring, words, replace=False, p=chances / chances.sum()))


def choose_places(
    tokens: NDArray[np.int64], chosen: NDArray[np.int64], limit: int, seed: int
) -> tuple[NDArray[np.int64], int]:
    """Where chosen words stand among the tokens of a split, at most `limit`; how many there are.

    Args:
        tokens: (tokens,) the word of each, a row; −1 for none.
        chosen: rows of words.
        limit: more than these are drawn by the seed.
        seed: of the draw.
    """
    is_chosen = np.zeros(max(int(tokens.max(initial=-1)), int(chosen.max(initial=-1))) + 2, bool)
    is_chosen[chosen] = True  # the last place stays False: it is that of −1
    places = np.flatnonzero(is_chosen[tokens])
    in_split = len(places)
    if in_split > limit:
        random = np.random.Generator(np.random.PCG64([seed, limit, in_split]))
        places = np.sort(random.choice(places, limit, replace=False))
    return places, in_split


@dataclass(eq=False)
class GatheredStates:
    """States of occurrences of words.

    words      (occurrences,) the word of each, a row, in order of the split
    in_split   how many there are in the split, of which these are all, or drawn
    states     (occurrences, size) float32
    documents  (occurrences,) the document of each, where it is known
    """

    words: NDArray[np.int64]
    in_split: int
    states: Tensor
    documents: NDArray[np.int64] | None = None

    def distances(self, embedding: Tensor) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """(occurrences,) each: ‖h‖², and ‖h − e‖², NaN where these are not of one size."""
        step = max(1, 2**22 // max(1, self.states.shape[-1]))
        squares, between = [], []
        rows = torch.from_numpy(self.words).to(self.states.device)
        for states, words in zip(self.states.split(step), rows.split(step), strict=True):
            squares.append(states.double().square().sum(-1))
            if states.shape[-1] == embedding.shape[-1]:
                between.append((states - embedding[words]).double().square().sum(-1))
            else:
                between.append(torch.full_like(squares[-1], torch.nan))
        return _joined(squares), _joined(between)


class Occurrences(GatheredStates):
    """States of chosen words, gathered batch by batch into one matrix.

    words   (occurrences,) the word of each, a vocabulary row, in order of the split
    in_split  how many there are in the split; at most `limit` of them are looked at, drawn by seed
    states  (occurrences, size) float32, once all batches are in
    """

    def __init__(
        self, documents: EncodedDocuments, words: int, by: str, limit: int, seed: int
    ) -> None:
        tokens = documents.tokens.values.astype(np.int64)
        counts = np.bincount(tokens)
        counts[: len(SPECIALS)] = 0  # no words: a text that says <unk> has a row of its own
        places, in_split = choose_places(tokens, choose_words(counts, words, by, seed), limit, seed)
        super().__init__(tokens[places], in_split, torch.empty(0, 0))
        slots = np.full(len(tokens), -1, dtype=np.int64)
        slots[places] = np.arange(len(places))
        self._slots = torch.from_numpy(slots)
        self._starts = torch.from_numpy(documents.tokens.offsets[:-1])

    def see(self, trace: Trace) -> None:
        """Take the states of this batch's occurrences."""
        device, size = trace.states.device, trace.states.shape[-1]
        if not self.states.numel():
            self._slots, self._starts = self._slots.to(device), self._starts.to(device)
            self.states = torch.empty(len(self.words), size, device=device)
        words = trace.batch.words
        places = self._starts[trace.batch.row_index].unsqueeze(-1)
        places = places + torch.arange(words.shape[1], device=device)
        slots = self._slots[places.clamp_(max=max(len(self._slots) - 1, 0))]
        taken = words & (slots >= 0)
        self.states[slots[taken]] = trace.states[taken].float()


def _joined(parts: list[Tensor]) -> NDArray[np.float64]:
    return torch.cat(parts).cpu().numpy() if parts else np.zeros(0)

"""Rankings that know nothing of the model: rare words first, early or late ones, chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.corpus import Documents
from verax.corpora.tokenizer import TokenizedTexts, tokenize
from verax.models.layers import HashedDropout

FREQUENCY, EARLIER, LATER, RANDOM = "frequency", "earlier", "later", "random"
BASELINES = (FREQUENCY, EARLIER, LATER, RANDOM)
_PLACE = 1 << 23


def words_in(model: Any, documents: Documents) -> TokenizedTexts:
    """The words of documents by a model's tokenizer, as many as it reads of words."""
    texts = tokenize(documents, model.word_tokenizer)
    longest = getattr(model, "max_length", None)
    return texts if longest is None else texts.first(longest)


def word_counts(model: Any, documents: Documents) -> Counter[str]:
    """How often each word occurs in documents, whatever its case."""
    texts = words_in(model, documents)
    numbers = texts.numbers.values.astype(np.int64)
    counts: Counter[str] = Counter()
    occurrences = np.bincount(numbers, minlength=len(texts.lexicon))
    for word, count in zip(texts.lexicon, occurrences.tolist(), strict=False):
        counts[word.lower()] += count
    return counts


def rarity(words: Iterable[str], counts: Counter[str]) -> NDArray[np.float64]:
    """(words,): the higher the rarer; a word that was never counted is the rarest."""
    return np.array([-counts[word.lower()] for word in words], dtype=np.float64)


def places(mask: Tensor) -> dict[str, Tensor]:
    """Earlier words first, and later ones, (batch, words) each."""
    place = torch.arange(mask.shape[1], device=mask.device, dtype=torch.float64).expand(mask.shape)
    return {EARLIER: -place, LATER: place}


def random_scores(row_index: Tensor, width: int, seed: int, draws: int) -> Tensor:
    """(draws, batch, words): a document's depend on the seed and its row alone."""
    noise = HashedDropout.of(row_index, width, seed, 0)
    return noise.uniforms(range(_PLACE, _PLACE + draws))

"""What a corpus looks like in numbers: the papers' dataset tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from verax.corpora.corpus import Corpus


def describe(
    corpus: Corpus, watch: Callable[[Iterable[Any]], Iterable[Any]] = iter
) -> dict[str, Any]:
    """Rows per split, classes, mean and sd of words and sentences, and the size of the vocabulary.

    Words are tokens of the corpus's tokeniser; means and standard deviations (n − 1) run over the
    documents of all splits; the vocabulary is the distinct tokens of train.
    """
    for documents in corpus.splits.values():
        documents.tokenise(watch)
    words = np.concatenate([d.token_numbers.lengths for d in corpus.splits.values()])
    sentences = np.concatenate([d.sentences.lengths for d in corpus.splits.values()])
    return {
        "corpus": corpus.name,
        "classes": len(corpus.classes),
        "train": len(corpus.train),
        "validation": len(corpus.validation),
        "test": len(corpus.test),
        "words_mean": float(words.mean()),
        "words_sd": float(words.std(ddof=1)),
        "sentences_mean": float(sentences.mean()),
        "sentences_sd": float(sentences.std(ddof=1)),
        "vocabulary": len(np.unique(corpus.train.token_numbers.values)),
    }

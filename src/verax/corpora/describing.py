"""What a corpus looks like in numbers, and what in it may spoil a result."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from verax.corpora.corpus import ALL, SPLITS, Corpus, Documents
from verax.corpora.tokenizer import Tokenizer, tokenize
from verax.corpora.vocabulary import UNK, Vocabulary

MANY_UNKNOWN = 0.2
"""Share of unknown words from which on a warning says so."""
_MUCH_OVERLAP = 0.05


class Note(NamedTuple):
    """A line about a corpus, and whether it is a warning."""

    text: str
    is_warning: bool = False

    def __str__(self) -> str:
        return f"warning: {self.text}" if self.is_warning else self.text


def describe(
    corpus: Corpus,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
    tokenizer: Tokenizer | None = None,
) -> dict[str, Any]:
    """Numbers of a corpus, as the papers' tables of datasets have them.

    Args:
        corpus: the corpus.
        watch: passes documents on while they are tokenized, for a progress bar.
        tokenizer: splits texts into words; that of `count_words_by`, unless given.

    Returns:
        Documents by split, classes, mean and standard deviation (n − 1) of words and sentences over
        the documents of all splits, the distinct tokens of train (of all where a
        corpus without labels was not cut) as `vocabulary`, and by split
        `unknown_words`, the share of tokens that train lacks, and `overlap`, the documents that
        train has, too.
    """
    tokenizer = tokenizer or tokenizer_of(corpus)
    splits = [tokenize(documents, tokenizer) for documents in corpus.splits.values()]
    for texts in splits:
        texts.number(watch)
    words = np.concatenate([texts.numbers.lengths for texts in splits])
    sentences = np.concatenate([texts.sentences.lengths for texts in splits])
    vocabulary = words_of(corpus, tokenizer)
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
        "vocabulary": len(vocabulary.words),
        "unknown_words": {
            name: unknown_share(corpus.splits[name], vocabulary, tokenizer)
            for name in corpus.overlap
        },
        "overlap": corpus.overlap,
    }


def tokenizer_of(corpus: Corpus) -> Tokenizer:
    """The tokenizer by which words of a corpus are counted."""
    return Tokenizer(str(corpus.config.get("count_words_by", "words")))


def words_of(corpus: Corpus, tokenizer: Tokenizer | None = None) -> Vocabulary:
    """The vocabulary of train, or of all documents where none are in train."""
    documents = corpus.train if len(corpus.train) else corpus.documents(ALL)
    return Vocabulary.of(tokenize(documents, tokenizer or tokenizer_of(corpus)))


def unknown_share(documents: Documents, vocabulary: Vocabulary, tokenizer: Tokenizer) -> float:
    """The share of the documents' words that the vocabulary lacks."""
    rows = vocabulary.encode(tokenize(documents, tokenizer)).values
    return float((rows == UNK).mean()) if len(rows) else 0.0


def reading_notes(
    corpus: Corpus,
    vocabulary: Vocabulary,
    tokenizer: Tokenizer | None = None,
    whose: str = "the model",
) -> list[Note]:
    """Unknown words by split, and documents of validation and test that train has, too.

    Args:
        corpus: the corpus.
        vocabulary: the words that are known.
        tokenizer: splits texts into words; that of `count_words_by`, unless given.
        whose: whose vocabulary it is.
    """
    known = tokenizer or tokenizer_of(corpus)
    shares = {n: unknown_share(d, vocabulary, known) for n, d in corpus.splits.items()}
    notes = []
    if any(shares.values()):
        counts = ", ".join(f"{name} {share:.1%}" for name, share in shares.items() if share)
        notes.append(Note(f"words that {whose} does not have: {counts}"))
    notes += [unknown_warning(s, name, whose) for name, s in shares.items() if s > MANY_UNKNOWN]
    return [*notes, *overlap_notes(corpus)]


def overlap_notes(corpus: Corpus, splits: Collection[str] = SPLITS) -> list[Note]:
    """Documents of validation and test that train has, too: a line for each split with some.

    Args:
        corpus: the corpus.
        splits: the splits of interest.
    """
    notes = []
    for name, count in corpus.overlap.items():
        if count and name in splits:
            documents = len(corpus.splits[name])
            much = count / documents > _MUCH_OVERLAP
            why = ": scores on them tell what was learnt by heart" if much else ""
            text = f"{name}: {count:,} of {documents:,} documents are in train, too{why}"
            notes.append(Note(text, much))
    return notes


def unknown_warning(share: float, where: str, whose: str = "the model") -> Note:
    """Why a high share of unknown words matters, and what to do."""
    text = (
        f"{where}: {share:.0%} of the words are not in the vocabulary of {whose}; a model reads "
        "them all as one word, and attention on them says little: check language and tokenizer"
    )
    return Note(text, is_warning=True)

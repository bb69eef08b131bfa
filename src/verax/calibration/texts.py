"""Corpora with known evidence: `planted`, and texts of others with evidence planted into them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd

from verax.corpora.corpus import Corpus, Documents
from verax.corpora.loading import load_corpus
from verax.corpora.planted import evidence_word
from verax.errors import VeraxError

PLANTED = "planted"
EVIDENCE, DISTRACTORS, LEXICON = 3, 1, 10
"""Words of its class and of another in each text, and the words each class has."""


@dataclass(frozen=True)
class Place:
    """Where models are calibrated: whose texts, how long, of how many classes.

    texts  planted, or a corpus whose texts get evidence
    """

    texts: str
    length: int
    classes: int


def lexicon(classes: int) -> list[str]:
    """Every word that is evidence of a class."""
    return [evidence_word(c, i) for c in range(classes) for i in range(LEXICON)]


def corpus_at(place: Place, documents: int, seed: int, source: str | None = None) -> Corpus:
    """A corpus with a distractor of another class in each text, and its evidence as rationales.

    Args:
        place: whose texts, how long, of how many classes.
        documents: how many, 2/3 of them to train on.
        seed: which corpus.
        source: where texts of others are loaded from, if not by their name.
    """
    if place.texts == PLANTED:
        return load_corpus(
            PLANTED,
            classes=place.classes,
            length=place.length,
            evidence=EVIDENCE,
            distractors=DISTRACTORS,
            lexicon=LEXICON,
            documents=documents,
            seed=seed,
        )
    return planted_into(_others(source or place.texts, documents), place, documents, seed)


@lru_cache(maxsize=1)
def _others(source: str, documents: int) -> Corpus:
    return load_corpus(source, limit=documents)


def planted_into(corpus: Corpus, place: Place, documents: int, seed: int) -> Corpus:
    """A corpus of another's texts, cut to a length, with words of evidence in place of some.

    Labels are drawn anew: only the evidence decides. Texts that are shorter than half the length
    are left out.
    """
    random = np.random.Generator(np.random.PCG64(seed))
    splits = {}
    for name, share in (("train", 4), ("validation", 1), ("test", 1)):
        size = documents * share // 6
        splits[name] = _planted(corpus.splits[name], place, size, random)
    return load_corpus(splits, tokeniser="tokens")


def _planted(
    documents: Documents, place: Place, size: int, random: np.random.Generator
) -> pd.DataFrame:
    least = max(place.length // 2, 2 * (EVIDENCE + DISTRACTORS))
    lengths = documents.token_numbers.lengths
    fit = np.flatnonzero(lengths >= least)
    if len(fit) < size:
        raise VeraxError(
            f"{place.texts} has {len(fit)} texts of at least {least} words, {size} are needed: "
            "lower length, or documents",
            code="corpus.too-small",
        )
    rows, written = [], documents.take(np.sort(random.permutation(fit)[:size])).tokens
    for number, words in enumerate(written):
        label, tokens = number % place.classes, words[: place.length + place.length // 2]
        at = random.permutation(len(tokens))[: EVIDENCE + DISTRACTORS]
        rationale = np.zeros(len(tokens), dtype=np.int8)
        for spot in at[:EVIDENCE]:
            tokens[spot] = evidence_word(label, int(random.integers(LEXICON)))
            rationale[spot] = 1
        for spot in at[EVIDENCE:]:
            rival = (label + 1 + int(random.integers(place.classes - 1))) % place.classes
            tokens[spot] = evidence_word(rival, int(random.integers(LEXICON)))
        rows.append((" ".join(tokens), str(label), tokens, rationale))
    return pd.DataFrame(rows, columns=["text", "label", "tokens", "rationale"])


def swapped(documents: Documents, classes: int, seed: int) -> tuple[list[list[str]], np.ndarray]:
    """Texts whose evidence is that of another class, and which class that is.

    Args:
        documents: with rationales.
        classes: how many there are.
        seed: of the other class and its words.
    """
    assert documents.rationales is not None
    random = np.random.Generator(np.random.PCG64(seed))
    shift = random.integers(1, classes, len(documents))
    texts, rivals = [], []
    for words, marks, label, by in zip(
        documents.tokens, documents.rationales, documents.labels, shift, strict=True
    ):
        rival = int((label + by) % classes)
        texts.append(_swap(words, marks, rival, random))
        rivals.append(rival)
    return texts, np.array(rivals)


def _swap(
    words: Sequence[str], marks: np.ndarray, rival: int, random: np.random.Generator
) -> list[str]:
    other = [evidence_word(rival, int(random.integers(LEXICON))) for _ in words]
    return [o if mark else word for word, mark, o in zip(words, marks, other, strict=True)]


def written_out(corpus: Corpus) -> Corpus:
    """The same documents as texts, words apart by spaces, as a model of Hugging Face reads them."""
    splits = {}
    for name, documents in corpus.splits.items():
        assert documents.rationales is not None
        marks = [np.asarray(mark).tolist() for mark in documents.rationales]
        splits[name] = pd.DataFrame(
            {
                "text": [" ".join(words) for words in documents.tokens],
                "label": [corpus.classes[label] for label in documents.labels],
                "rationale": marks,
            }
        )
    return load_corpus(splits, tokeniser="whitespace", lowercase=False)

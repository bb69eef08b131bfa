"""Corpora with known evidence: `planted`, and other texts with evidence planted into them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from verax.corpora.corpus import Corpus, Documents
from verax.corpora.loading import load_corpus
from verax.corpora.planted import evidence_word
from verax.corpora.tokenizer import Tokenizer, tokenize
from verax.errors import VeraxError

PLANTED = "planted"
Tokens = Mapping[str, Sequence[Sequence[str]]]
EVIDENCE, DISTRACTORS, LEXICON = 3, 1, 10
"""Words of its class and of another in each text, and the words each class has."""


@dataclass(frozen=True)
class CorpusSpec:
    """A corpus for calibration.

    Attributes:
        texts: `planted`, or the name of other texts.
        length: words per document.
        classes: the number of classes.
    """

    texts: str
    length: int
    classes: int


def lexicon(classes: int) -> list[str]:
    """Return every word that is evidence of a class."""
    return [evidence_word(c, i) for c in range(classes) for i in range(LEXICON)]


def corpus_with_evidence(
    spec: CorpusSpec, documents: int, seed: int, source: Tokens | None = None
) -> Corpus:
    """Return a corpus with a distractor of another class in each text, and marked evidence.

    Evidence is planted into the texts of `source`, cut to a length. Their labels are random: only
    the evidence decides. Texts shorter than half the length are left out.

    Args:
        spec: whose texts, how long, and how many classes.
        documents: the number of documents, 2/3 of them for training.
        seed: random seed.
        source: the tokens of the texts by split, unless they are those of `planted`.
    """
    if source is None:
        return load_corpus(
            PLANTED,
            classes=spec.classes,
            length=spec.length,
            evidence=EVIDENCE,
            distractors=DISTRACTORS,
            lexicon=LEXICON,
            documents=documents,
            seed=seed,
        )
    random = np.random.Generator(np.random.PCG64(seed))
    splits = {}
    for name, share in (("train", 4), ("validation", 1), ("test", 1)):
        size = documents * share // 6
        splits[name] = _planted(source[name], spec, size, random)
    return load_corpus(splits, tokens_column="tokens")


def _planted(
    texts: Sequence[Sequence[str]], spec: CorpusSpec, size: int, random: np.random.Generator
) -> pd.DataFrame:
    least = max(spec.length // 2, 2 * (EVIDENCE + DISTRACTORS))
    fit = np.flatnonzero([len(words) >= least for words in texts])
    if len(fit) < size:
        raise VeraxError(
            f"{spec.texts} has {len(fit)} texts of at least {least} words, {size} are needed: "
            "lower length, or documents",
            code="corpus.too-small",
        )
    rows = []
    written = [list(texts[row]) for row in np.sort(random.permutation(fit)[:size])]
    for number, words in enumerate(written):
        label, tokens = number % spec.classes, words[: spec.length + spec.length // 2]
        at = random.permutation(len(tokens))[: EVIDENCE + DISTRACTORS]
        rationale = np.zeros(len(tokens), dtype=np.int8)
        for spot in at[:EVIDENCE]:
            tokens[spot] = evidence_word(label, int(random.integers(LEXICON)))
            rationale[spot] = 1
        for spot in at[EVIDENCE:]:
            rival = (label + 1 + int(random.integers(spec.classes - 1))) % spec.classes
            tokens[spot] = evidence_word(rival, int(random.integers(LEXICON)))
        rows.append((" ".join(tokens), str(label), tokens, rationale))
    return pd.DataFrame(rows, columns=["text", "label", "tokens", "rationale"])


def swapped(documents: Documents, classes: int, seed: int) -> tuple[list[list[str]], np.ndarray]:
    """Return texts whose evidence is that of another class, and this class.

    Args:
        documents: with rationales.
        classes: the number of classes.
        seed: random seed.
    """
    assert documents.marks is not None
    words = tokenize(documents, Tokenizer("whitespace", lowercase=False))
    rationales = documents.marks.majority(words.spans)
    random = np.random.Generator(np.random.PCG64(seed))
    shift = random.integers(1, classes, len(documents))
    texts, rivals = [], []
    for tokens, marks, label, by in zip(
        words.words, rationales, documents.labels, shift, strict=True
    ):
        rival = int((label + by) % classes)
        texts.append(_swap(tokens, marks, rival, random))
        rivals.append(rival)
    return texts, np.array(rivals)


def _swap(
    words: Sequence[str], marks: np.ndarray, rival: int, random: np.random.Generator
) -> list[str]:
    other = [evidence_word(rival, int(random.integers(LEXICON))) for _ in words]
    return [o if mark else word for word, mark, o in zip(words, marks, other, strict=True)]

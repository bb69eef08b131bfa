"""The documents of an audit: corpora cut to a scale, and what is known of each document."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from verax.audits.audit import INJECTIONS, Scale
from verax.audits.injections import make_injections
from verax.corpora.corpus import Corpus, Documents
from verax.corpora.loading import load_corpus, load_for_examining
from verax.corpora.tokenising import Tokeniser

_SEED = 23


def load_texts(texts: str, scale: Scale, tokeniser: str = "as-written") -> Corpus:
    """The corpus that a kind of model is trained and examined on.

    Args:
        texts: sentences, reviews or injections.
        scale: how many documents of it.
        tokeniser: how it is cut into words: as-written for Transformers, words for BiLSTMs.
    """
    if texts == INJECTIONS:
        frame = make_injections(scale.sample[texts])
        reading = {"tokeniser": tokeniser, "lowercase": False}
        return replace(load_for_examining(frame[["text", "label"]], reading, cut=False), name=texts)
    lowercase = tokeniser == "words"
    corpus = load_corpus(scale.corpora[texts], tokeniser=tokeniser, lowercase=lowercase)
    corpus = corpus.read_by(Tokeniser(tokeniser, lowercase))  # planted has tokens of its own
    most = scale.train.get(texts)
    return replace(
        corpus,
        train=drawn(corpus.train, most),
        validation=drawn(corpus.validation, scale.validation),
        test=drawn(corpus.test, None if most is None else most // 8),
    )


def drawn(documents: Documents, most: int | None) -> Documents:
    """At most so many documents, drawn the same way each time, in their order."""
    if most is None or len(documents) <= most:
        return documents
    random = np.random.Generator(np.random.PCG64([_SEED, most]))
    return documents.take(np.sort(random.permutation(len(documents))[:most]))


def known_of(documents: Documents, classes: list[str]) -> pd.DataFrame:
    """What is known of each document without its text: id, class, words and their tercile."""
    words = documents.token_numbers.lengths
    frame = pd.DataFrame({"id": documents.ids, "words": words})
    frame["label"] = [classes[number] for number in documents.labels]
    # by rank, so that terciles are of one size whatever is tied
    thirds = frame["words"].rank(method="first").sub(1) * 3 // max(1, len(frame))
    frame["length"] = thirds.astype(int).map({0: "short", 1: "middle", 2: "long"})
    return frame

"""A corpus cut into words by another tokenizer."""

from __future__ import annotations

import verax
from support.errors import raises
from verax.corpora import Tokenizer


def test_the_same_documents_by_another_tokenizer() -> None:
    texts = [f"Film {n} isn't good." for n in range(20)]
    corpus = verax.load_corpus((texts, ["a", "b"] * 10))
    other = corpus.read_by(Tokenizer("as-written", lowercase=False))
    assert other.train.texts == corpus.train.texts
    assert other.train.tokens[0][2] == "isn't"
    assert corpus.train.tokens[0][2:4] == ["is", "n't"]
    assert other.texts_fingerprint == corpus.texts_fingerprint
    assert other.fingerprint != corpus.fingerprint
    assert other.config["tokenizer"] == "as-written"
    assert corpus.read_by(corpus.word_tokenizer) is corpus
    with raises("corpus.tokenizer-mismatch"):
        corpus.read_by(Tokenizer("tokens"))

"""One corpus for every kind of model: the same texts, ids and fingerprint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from architectures import make_model
from wrapped import untrained, wrapped

import verax
from support.tiny_bert import make_bert

KINDS = ("flat", "hierarchical", "encoder", "decoder", "module", "function")


def polarity(texts: list[str]) -> np.ndarray:
    good = np.array([0.8 if "good" in text or "great" in text else 0.3 for text in texts])
    return np.stack([1 - good, good], axis=1)


@pytest.fixture(scope="module")
def models(reviews: verax.Corpus, tokenizer: Any) -> dict[str, Any]:
    return {
        "flat": untrained(reviews, encoder="conv"),
        "hierarchical": untrained(reviews, hierarchical=True, tokenizer="keras"),
        "encoder": verax.from_transformers(make_bert(), tokenizer),
        "decoder": verax.from_transformers(make_model("GPT2"), tokenizer),
        "module": wrapped(untrained(reviews, tokenizer="whitespace", lowercase=False)),
        "function": verax.from_predict(polarity, reviews.classes),
    }


def test_a_file_is_examined_by_a_transformer(
    tmp_path: Path, reviews: verax.Corpus, bert: Any
) -> None:
    bert.module.save_pretrained(tmp_path / "bert")
    bert.reader.tokenizer.save_pretrained(tmp_path / "bert")
    reviews.documents("all").to_frame(reviews.classes).to_csv(tmp_path / "c.csv", index=False)
    corpus = verax.load_corpus(tmp_path / "c.csv")
    model = verax.from_transformers(tmp_path / "bert")
    assert len(verax.examine(model, corpus, "replacement", permutations=1).summary())


@pytest.mark.parametrize("kind", KINDS)
def test_words_have_spans_in_the_texts_of_the_corpus(
    kind: str, models: dict[str, Any], reviews: verax.Corpus
) -> None:
    documents = reviews.test
    encoded = models[kind].encode(documents)
    assert models[kind].encode(documents) is encoded
    assert encoded.ids.tolist() == documents.ids.tolist()
    assert list(encoded.texts) == documents.texts
    assert encoded.word_counts.tolist() == [len(words) for words in encoded.words]
    for text, words, spans in zip(documents.texts, encoded.words, encoded.spans, strict=True):
        written = [text[start:stop] for start, stop in np.asarray(spans).tolist()]
        assert [word.lower() for word in written] == [word.lower() for word in words]


@pytest.mark.slow
def test_every_kind_of_model_is_examined_on_it(
    models: dict[str, Any], reviews: verax.Corpus
) -> None:
    before = list(vars(reviews.test).items())
    verdicts = {
        kind: verax.examine(model, reviews, "deletion", random_orders=1, progress=False)
        for kind, model in models.items()
    }
    corpora = [verdict.manifest["corpus"] for verdict in verdicts.values()]
    assert all(corpus == corpora[0] for corpus in corpora)
    assert corpora[0]["fingerprint"] == reviews.fingerprint
    for verdict in verdicts.values():
        assert set(verdict.document_values()["id"]) == set(reviews.test.ids.tolist())
    assert list(vars(reviews.test).items()) == before


@pytest.mark.slow
def test_every_kind_of_model_is_compared_on_it(
    models: dict[str, Any], reviews: verax.Corpus
) -> None:
    comparison = verax.compare(models, reviews, "deletion", random_orders=1, progress=False)
    assert comparison.groups == list(KINDS)
    assert comparison.manifest["fingerprint"] == reviews.fingerprint

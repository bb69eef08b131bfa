"""The corpora of $VERAX_DATA, where a machine has them: sizes as their README states."""

from __future__ import annotations

import os

import numpy as np
import pytest

from verax.corpora import Corpus, known_corpora, load_corpus

pytestmark = pytest.mark.skipif(
    not os.environ.get("VERAX_DATA"), reason="$VERAX_DATA names no folder of corpora"
)

SIZES = {
    "sst": (2, 6920, 872, 1821),
    "sst5": (5, 8544, 1101, 2210),
    "imdb": (2, 22500, 2500, 25000),
    "20news": (20, 10184, 1130, 7532),
    "20news_sports": (2, 1017 - 33, 180 - 4, 796 - 23),
    "ag_news": (4, 37799, 4200, 7600),
    "eraser_movies": (2, 1600, 200, 199),
    "yelp": (5, 4499, 501, 5000),
}


@pytest.fixture(scope="module")
def corpus(request: pytest.FixtureRequest) -> Corpus:
    """A corpus by name, read once for the tests of it."""
    return load_corpus(request.param)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("corpus", "name"), [(name, name) for name in sorted(SIZES)], indirect=["corpus"]
)
def test_sizes_are_those_of_the_readme(corpus: Corpus, name: str) -> None:
    assert (len(corpus.classes), *map(len, corpus.splits.values())) == SIZES[name]
    assert name in known_corpora()


@pytest.mark.parametrize("corpus", ["20news_sports"], indirect=True)
def test_dropped_documents_are_counted(corpus: Corpus) -> None:
    notes = corpus.notes
    assert [note.split()[1] for note in notes] == ["33", "4", "23"]


@pytest.mark.slow
def test_two_topics_of_ag_news() -> None:
    corpus = load_corpus("ag_news", labels={0: "world", 2: "business"})
    assert corpus.classes == ["world", "business"]
    assert [len(d) for d in corpus.splits.values()] == [18_990, 2_110, 3_800]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sst", "eraser_movies"])
def test_tokens_and_rationales_stay_aligned(name: str) -> None:
    corpus = load_corpus(name, tokeniser="tokens")
    for documents in corpus.splits.values():
        assert documents.rationales is not None
        assert (documents.rationales.lengths == documents.token_numbers.lengths).all()


@pytest.mark.slow
def test_rationales_of_eraser_are_as_dense_as_published() -> None:
    corpus = load_corpus("eraser_movies", tokeniser="tokens")
    marks = [d.rationales for d in corpus.splits.values() if d.rationales is not None]
    shares = [np.mean([row.mean() for row in rows]) for rows in marks]
    assert np.round(shares, 3).tolist() == [0.093, 0.072, 0.314]


@pytest.mark.slow
def test_imdb_has_the_lengths_of_keras() -> None:
    """`keras.datasets.imdb` has 11 to 2494 words in train, 238.71364 on average, one a start sign.

    Train and validation together are its train split.
    """
    corpus = load_corpus("imdb", tokeniser="keras")
    both = (corpus.train, corpus.validation)
    lengths = np.concatenate([d.token_numbers.lengths for d in both]) + 1
    assert (lengths.min(), lengths.max(), len(lengths)) == (11, 2494, 25_000)
    assert lengths.mean() == pytest.approx(238.71364, abs=1e-9)

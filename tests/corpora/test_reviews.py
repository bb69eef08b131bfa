"""The built-in film reviews: their sizes, their frozen splits, and where they come from."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from support.errors import raises
from support.internals import FIXED, reviews_file
from verax.corpora import Corpus, load_corpus

SIZES = {"rotten_tomatoes": (6_824, 852, 854), "imdb_reviews": (20_000, 2_500, 2_500)}
FINGERPRINTS = {"rotten_tomatoes": "782c24c3db32f431", "imdb_reviews": "c95df10240cf4850"}
IDS = {
    "rotten_tomatoes": ("f3881e5827d97d8d", "645db852822f5597", "bd086e8613261c5e"),
    "imdb_reviews": ("21c4a27c1dc90ea8", "e036366dbf936971", "32f0fdca9c0c266a"),
}


@pytest.fixture(scope="module", params=sorted(SIZES))
def reviews(request: pytest.FixtureRequest) -> Corpus:
    return load_corpus(request.param)


@pytest.mark.slow
def test_sizes_are_the_documented_ones(reviews: Corpus) -> None:
    assert tuple(len(d) for d in reviews.splits.values()) == SIZES[reviews.name]
    assert sum(SIZES["rotten_tomatoes"]) == 8_530
    assert sum(SIZES["imdb_reviews"]) == 25_000


def test_every_split_is_balanced(reviews: Corpus) -> None:
    assert reviews.classes == ["negative", "positive"]
    for documents in reviews.splits.values():
        negative, positive = np.bincount(documents.labels)
        assert negative == positive


@pytest.mark.slow
def test_the_splits_are_frozen(reviews: Corpus) -> None:
    """If this fails, every number published on these corpora means something else than before."""
    assert reviews.fingerprint == FINGERPRINTS[reviews.name]
    hashes = [hashlib.sha256(d.ids.astype("<i8").tobytes()) for d in reviews.splits.values()]
    assert tuple(h.hexdigest()[:16] for h in hashes) == IDS[reviews.name]


def test_no_text_is_in_two_splits(reviews: Corpus) -> None:
    train, validation, test = (set(d.texts) for d in reviews.splits.values())
    assert not train & validation
    assert not train & test
    assert not validation & test


def test_ids_are_rows_of_the_csv(reviews: Corpus) -> None:
    ids = np.concatenate([d.ids for d in reviews.splits.values()])
    assert len(np.unique(ids)) == len(ids)


def test_the_cut_cannot_be_changed() -> None:
    for option, value in zip(FIXED, (0.2, 0.2, 1), strict=True):
        with raises("option.not-applicable"):
            load_corpus("rotten_tomatoes", **{option: value})


def test_the_package_is_read_from_its_file() -> None:
    """That it is never imported, tests of the command's entry see."""
    path = reviews_file()
    assert path is not None
    assert path.suffix == ".csv"

"""What several exams' tests share."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import verax


@pytest.fixture(scope="session")
def few(planted: verax.Corpus) -> verax.Corpus:
    """`planted` with twelve test documents, where what is tested holds of any document."""
    return replace(planted, test=planted.test.take(np.arange(12)))


@pytest.fixture(scope="session")
def sst() -> verax.Corpus:
    return verax.load_corpus(
        "sst", text_column="text_jw", tokenizer="whitespace", min_words=6, limit=800
    )


@pytest.fixture(scope="session")
def yelp() -> verax.Corpus:
    return verax.load_corpus("yelp", limit=100)

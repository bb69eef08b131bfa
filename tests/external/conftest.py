"""Small classifiers over a tiny BERT, and a corpus of texts that it can read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import verax
from support.tiny_bert import TEXTS, make_bert, make_tokenizer
from verax import TransformerClassifier


@pytest.fixture(scope="session")
def tokenizer() -> Any:
    return make_tokenizer()


@pytest.fixture(scope="session")
def make_classifier(tokenizer: Any) -> Callable[..., TransformerClassifier]:
    """A classifier over a small BERT; options of its configuration, and of `from_transformers`."""

    def make(seed: int = 0, how: dict[str, Any] | None = None, **options: Any) -> Any:
        return verax.from_transformers(make_bert(seed, **options), tokenizer, **(how or {}))

    return make


@pytest.fixture(scope="session")
def bert(make_classifier: Callable[..., TransformerClassifier]) -> TransformerClassifier:
    return make_classifier()


@pytest.fixture(scope="session")
def texts() -> list[str]:
    return TEXTS


@pytest.fixture(scope="session")
def reviews() -> verax.Corpus:
    """Forty short texts with the labels that small BERTs call their classes."""
    starts = ["the film was", "the plot is", "it was", "the acting is not"]
    ends = ["good.", "bad!", "very dull", "far better than i had hoped", "great, but too awful"]
    frame = [f"{start} {end}" for start in starts for end in ends]
    texts = [*frame, *(f"{text} and unwatchable" for text in frame)]
    labels = [f"LABEL_{len(text) % 2}" for text in texts]
    return verax.load_corpus((texts, labels), tokenizer="as-written", lowercase=False)

"""The keywords of `load_corpus`, for editors and type checkers.

A type checker reads no dataclass as keywords, so the fields of `CorpusOptions` and `Planted` stand
here once more; a test holds them to each other.
"""

from __future__ import annotations

from typing import Any, TypedDict


class CorpusKeywords(TypedDict, total=False):
    """What `CorpusOptions` declares; its help texts and checks are there."""

    text_column: str
    label_column: str
    tokens_column: str
    rationale_column: str
    tokeniser: str
    lowercase: bool
    strip_messages: bool
    labels: dict[str, Any] | None
    min_length: int | None
    max_length: int | None
    drop_extremes: bool
    limit: int | None
    test_limit: int | None
    resplit: str
    validation_fraction: float
    test_fraction: float
    split_seed: int
    hub_config: str | None


class PlantedKeywords(TypedDict, total=False):
    """What `Planted` declares, for the corpus `planted` alone."""

    classes: int
    length: int
    sentences: int
    evidence: int
    distractors: int
    label_noise: float
    lexicon: int
    vocabulary: int
    documents: int
    seed: int


class LoadKeywords(CorpusKeywords, PlantedKeywords, total=False):
    """Every option of `verax.load_corpus`."""

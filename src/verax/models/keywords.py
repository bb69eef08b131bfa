"""The options of a model as keywords, for editors and type checkers.

A type checker reads no dataclass as keywords, so the fields of `ModelOptions` stand here once more;
a test holds the two to each other.
"""

from __future__ import annotations

from typing import TypedDict


class ModelKeywords(TypedDict, total=False):
    """What `ModelOptions` declares; its help texts and checks are there."""

    encoder: str
    hierarchical: bool
    sentence_encoder: str
    hidden_size: int
    layers: int | None
    heads: int
    feedforward_size: int | None
    attention: str
    attention_size: int | None
    query_init: str
    projection: str
    lam: float
    alpha: float
    grounding: str
    strength: float | str | None
    mask_probability: float
    head: str
    embedding_size: int
    boundaries: bool | None
    dropout_embedding: float
    dropout_sentence: float
    dropout_encoder: float | None
    dropout_head: float
    dropout_head_on: str
    initialisation: str

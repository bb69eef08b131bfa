"""Pooled models of ours as somebody else's: by their parts, by functions, or as a function."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import verax
from verax.functional import pool
from verax.models import AttentionClassifier, ModelOptions, PooledClassifier, make_classifier


def untrained(corpus: verax.Corpus, seed: int = 0, **options: Any) -> AttentionClassifier:
    """A small model with weights large enough for decisions to differ."""
    from verax.corpora import Vocabulary

    sizes: dict[str, Any] = {"hidden_size": 6, "embedding_size": 6, **options}
    resolved = ModelOptions(**sizes).resolved(len(corpus.classes))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        vocabulary = Vocabulary.of(corpus.train)
        model = make_classifier(resolved, vocabulary, corpus.classes, corpus.word_tokenizer)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(3)
    return model


def wrapped(ours: AttentionClassifier, how: str = "parts", **more: Any) -> PooledClassifier:
    """The model through `from_pooled`: parts, functions, or functions without word vectors."""

    def encode(vectors: Tensor, mask: Tensor) -> Tensor:
        return ours.encoder(vectors, mask, mask.sum(-1).cpu())

    def logits(rows: Tensor, mask: Tensor) -> Tensor:
        words = mask.clone()
        if ours.boundaries:
            words[:, 0] = False
            words[torch.arange(len(mask)), mask.sum(-1) - 1] = False
        states = encode(ours.embedding(rows), mask)
        return ours.head(pool(ours.attention(states, words)[1], states))

    parts: dict[str, Any] = {
        "embed": ours.embedding,
        "encode": ours.encoder,
        "attend": ours.attention,
        "head": ours.head,
    }
    if how != "parts":
        parts |= {
            "encode": encode,
            "attend": lambda states, mask: ours.attention(states, mask)[1],
            "head": lambda context: ours.head(context),
        }
    if how == "without vectors":
        parts |= {"embed": None, "encode": lambda rows, mask: encode(ours.embedding(rows), mask)}
    if ours.boundaries:
        parts |= {"start": 2, "end": 3}
    parts |= {
        "vocabulary": ours.vocabulary.rows,
        "classes": ours.classes,
        "unknown": 1,
        "words": ours.word_tokenizer.kind,
        "lowercase": ours.word_tokenizer.lowercase,
        "logits": logits,
    }
    return verax.from_pooled(ours, **{**parts, **more})

"""Bounds of smallest sets, held against every set of every model, by every operator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from deletion_by_force import decided_without, smallest_by_force

import verax
from verax.exams.tables import wide

ENCODERS = ["none", "mlp", "bilstm", "conv", "transformer"]
HOW: dict[str, Any] = {"rankings": "random", "random_orders": 1}


def drawn_texts(number: int = 24, words: int = 40) -> list[str]:
    """Different texts of two to eight words, and one of eleven."""
    random = np.random.default_rng(0)
    lengths = [*random.integers(2, 9, number - 1), 11]
    return [" ".join(f"w{k}" for k in random.integers(0, words, n)) for n in lengths]


TEXTS = drawn_texts()


def corpus_of(model: Any, texts: list[str]) -> verax.Corpus:
    labels = [model.classes[k % len(model.classes)] for k in range(len(texts))]
    how = model.tokeniser
    read: Any = [text.split() for text in texts] if how.kind == "tokens" else texts
    return verax.load_corpus((read, labels), tokeniser=how.kind, lowercase=how.lowercase)


def shaken(model: Any, seed: int) -> Any:
    """A model whose decisions hang on single words, and not on its bias alone."""
    with torch.no_grad():
        torch.manual_seed(seed)
        model.embedding.weight[1:].normal_()
        model.head.linear.weight.normal_(std=3)
        model.head.linear.bias.normal_(std=0.3)
    return model


def check(model: Any, texts: list[str], operator: str, **how: Any) -> int:
    """Hold bounds against brute force; how many smallest sets have more than one word."""
    corpus = corpus_of(model, texts)
    documents = corpus.documents("all")
    tables = [
        verax.examine(model, corpus, "deletion", "all", operator=operator, **HOW, **how).tables
        for how in ({**how, "budget": budget} for budget in (50, 10**6))
    ]
    by_force = {
        id: (text.split(), smallest_by_force(decided_without(model, text.split(), operator), n))
        for id, text in zip(documents.ids, documents.texts, strict=True)
        if (n := len(text.split())) > 1
    }
    for which, name in enumerate(("deletion_smallest", "deletion_sufficient")):
        few, many = (wide(one[name]) for one in tables)
        for id, (words, expected) in by_force.items():
            k = expected[which]
            n = len(words)
            lower, upper = many.loc[id, "lower"], many.loc[id, "upper"]
            if k > n:
                assert lower > 0
                assert upper != upper
            else:
                assert (lower, upper) == (k, k), (operator, words, which)
            assert many.loc[id, "exact"] == 1
            assert few.loc[id, "lower"] <= max(k, lower)
            assert few.loc[id, "upper"] != few.loc[id, "upper"] or few.loc[id, "upper"] >= k
    return sum(1 < k[0] <= len(words) for words, k in by_force.values())


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("operator", ["delete", "mask", "attention"])
def test_bounds_meet_at_what_brute_force_finds(
    encoder: str, operator: str, make_model: Callable[..., Any]
) -> None:
    several = 0
    for seed, options in enumerate([{"classes": 2}, {"classes": 3, "boundaries": True}]):
        model = shaken(make_model(encoder=encoder, **options), seed)
        several += check(model, TEXTS, operator)
    assert several

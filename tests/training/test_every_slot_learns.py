"""A spanning sample of the grid learns in two epochs; `benchmarks/grid.py` trains all of it."""

from __future__ import annotations

from typing import Any

import pytest

import verax
from verax.models.options import ALIGNMENTS, ENCODERS, GROUNDINGS, PROJECTIONS

# encoder, attention, projection, grounding, hierarchical
SAMPLE = [
    ("bilstm", "additive", "softmax", "tying", False),
    ("bilstm", "dot", "sparsemax", "none", True),
    ("bigru", "dot", "sparsegen", "mlm", False),
    ("bigru", "additive", "softmax", "residual", True),
    ("conv", "additive", "entmax", "concat", False),
    ("conv", "dot", "sparsemax", "tying", True),
    ("mlp", "additive", "uniform", "tying", False),
    ("mlp", "dot-unscaled", "softmax", "concat", True),
    ("none", "dot", "sparsemax", "residual", False),
    ("none", "additive", "sparsegen", "none", True),
    ("transformer", "additive", "sparsegen", "none", False),
    ("transformer", "dot", "entmax", "concat", True),
]
SLOTS = ("encoder", "attention", "projection", "grounding", "hierarchical")


@pytest.fixture(scope="session")
def reviews() -> verax.Corpus:
    return verax.load_corpus("rotten_tomatoes", limit=2000)


@pytest.mark.parametrize("choice", SAMPLE, ids=lambda c: "-".join(map(str, c)))
def test_ends_better_than_it_began(choice: tuple[Any, ...], reviews: verax.Corpus) -> None:
    options = dict(zip(SLOTS, choice, strict=True))
    lr = 5e-4 if options["encoder"] == "transformer" else 3e-3
    model = verax.train(reviews, epochs=2, batch_size=16, lr=lr, lam=0.5, metric="loss", **options)
    history = model.history
    assert history.loc[history["selected"], "loss"].item() < history["loss"].iloc[0]


def test_the_sample_spans_every_choice() -> None:
    seen = [set(values) for values in zip(*SAMPLE, strict=True)]
    assert seen == [
        set(ENCODERS),
        set(ALIGNMENTS),
        set(PROJECTIONS),
        set(GROUNDINGS),
        {True, False},
    ]
    assert {(c[0], c[4]) for c in SAMPLE} == {(e, h) for e in ENCODERS for h in (True, False)}

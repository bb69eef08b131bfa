"""A spanning sample of the grid learns in three epochs; `benchmarks/grid.py` trains all of it."""

from __future__ import annotations

from typing import Any

import pytest

import verax
from support.internals import ALIGNMENTS, GROUNDINGS
from verax.models import ENCODERS, PROJECTIONS

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
    ("transformer-prenorm", "additive", "softmax", "none", False),
    ("transformer-prenorm", "dot", "softmax", "residual", True),
]
SLOTS = ("encoder", "attention", "projection", "grounding", "hierarchical")


@pytest.fixture(scope="module")
def easy() -> verax.Corpus:
    """What any model learns in a few steps."""
    return verax.load_corpus(
        "planted", documents=240, length=12, sentences=2, evidence=2, vocabulary=40, lexicon=3
    )


@pytest.mark.slow
@pytest.mark.parametrize("choice", SAMPLE, ids=lambda c: "-".join(map(str, c)))
def test_ends_better_than_it_began(choice: tuple[Any, ...], easy: verax.Corpus) -> None:
    """With each of five seeds the loss fell by more than 0.25, of 0.69."""
    options = dict(zip(SLOTS, choice, strict=True))
    lr = 5e-3 if options["encoder"].startswith("transformer") else 3e-2
    if options["grounding"] == "tying":
        options["strength"] = 0.1
    if options["encoder"] == "none":  # where a larger query may attend one word for ever
        options["query_init"] = "default"
    sizes = {"hidden_size": 16, "embedding_size": 16, "batch_size": 16, "epochs": 3}
    model = verax.train(easy, lr=lr, lam=0.5, metric="loss", **sizes, **options)
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

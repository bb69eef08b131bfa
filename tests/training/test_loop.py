"""In double precision the pieces of a batch add up to it to the last few bits."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import verax
from support.internals import Loop, Objective, Step, encode
from verax.corpora import Vocabulary
from verax.models import ModelOptions, make_classifier
from verax.training import TrainingOptions


def loop(
    corpus: verax.Corpus, options: dict[str, Any], report: Any = None, **training: Any
) -> Loop:
    resolved = ModelOptions(hidden_size=12, embedding_size=12, **options).resolved(2)
    vocabulary = Vocabulary.of(corpus.train)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = make_classifier(
            resolved, vocabulary, corpus.classes, corpus.word_tokenizer
        ).double()
    parts = [
        encode(
            documents,
            vocabulary,
            boundaries=bool(resolved.boundaries),
            hierarchical=resolved.hierarchical,
        )
        for documents in (corpus.train, corpus.validation)
    ]
    settings = TrainingOptions(**training)
    return Loop(
        model, *parts, Objective(model, None, 0), settings, 0, report or (lambda step: None)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"dropout_embedding": 0.4, "dropout_head": 0.3},
        {"encoder": "conv", "grounding": "tying", "projection": "entmax"},
        {"encoder": "transformer", "grounding": "mlm"},
        {"encoder": "bigru", "hierarchical": True, "grounding": "mlm", "dropout_sentence": 0.4},
        {"attention": "dot", "projection": "entmax", "alpha": 2.5},
    ],
)
def test_micro_batches_change_nothing(options: dict[str, Any]) -> None:
    # two whole batches and a part of one: a document at a time is slow
    few = verax.load_corpus("planted", documents=60, sentences=3, length=16, evidence=2)
    found = []
    for budget in (100_000, 150, 1):
        one = loop(few, options, max_tokens=budget, batch_size=16)
        loss = one.epoch(1)
        found.append((loss, one.model.state_dict()))
    for loss, weights in found[1:]:
        assert loss == pytest.approx(found[0][0], rel=1e-9)
        for name, value in weights.items():
            torch.testing.assert_close(value, found[0][1][name], atol=1e-8, rtol=0, msg=name)


def test_every_step_is_reported(planted: verax.Corpus) -> None:
    seen: list[Step] = []
    one = loop(planted, {"encoder": "none"}, seen.append, epochs=2, batch_size=50)
    one.run()
    steps = max(step.steps for step in seen)
    assert [s.step for s in seen if s.epoch == 1] == list(range(1, len(seen) // 2 + 1))
    assert steps in (4, 5)
    assert seen[0].loss is not None
    assert seen[0].score is None
    assert seen[-1].score == one.score

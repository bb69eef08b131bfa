"""The whole pass: identities that hold for every choice of slots."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import torch

import verax
from pairwise import pairwise
from support.errors import raises
from support.internals import ALIGNMENTS, GROUNDINGS, EncodedDocuments
from verax.models import ENCODERS, PROJECTIONS, AttentionClassifier

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]


def allowed(encoder: str, grounding: str) -> bool:
    return not (encoder == "none" and grounding in ("tying", "mlm"))


GRID = [
    {"encoder": e, "attention": a, "projection": p, "grounding": g, "hierarchical": h}
    for h in (False, True)
    for e, g, p, a in pairwise(
        ENCODERS, GROUNDINGS, PROJECTIONS, ALIGNMENTS, allowed=lambda e, g, p, a: allowed(e, g)
    )
]
"""Every pair of slots, flat and hierarchical: a slot does not know what fills the others."""


@pytest.fixture(scope="module")
def grid(make_model: Make) -> list[tuple[dict[str, Any], AttentionClassifier]]:
    """The models, of two classes and in double precision; tests only read with them."""
    return [(options, make_model(**options).double()) for options in GRID]


@pytest.mark.slow
@pytest.mark.parametrize("classes", [2, 4])
def test_item_logits_weighted_by_attention_are_the_logits_for_every_model(
    classes: int,
    grid: list[tuple[dict[str, Any], AttentionClassifier]],
    make_model: Make,
    encoded: Encode,
    first_rows: np.ndarray,
) -> None:
    for options, model in grid:
        if classes != 2:
            model = make_model(classes, **options).double()
        trace = model.trace(encoded(model).batch(first_rows, model.device))
        assert trace.item_logits.shape == (*trace.mask.shape, 1 if classes == 2 else 4)
        mean = (trace.weights.unsqueeze(-1) * trace.item_logits).sum(1)
        torch.testing.assert_close(mean, trace.logits, msg=str(options))
        torch.testing.assert_close(trace.weights.sum(1), torch.ones(9, dtype=torch.float64))
        assert (trace.weights[~trace.mask] == 0).all()


@pytest.mark.slow
def test_padding_a_batch_changes_no_documents_logits_for_any_model(
    grid: list[tuple[dict[str, Any], AttentionClassifier]], encoded: Encode
) -> None:
    for options, model in grid:
        documents = encoded(model)
        longest = int(documents.lengths.argmax())
        rows = np.array([4, longest, 8])
        together = model.trace(documents.batch(rows, model.device))
        for place, row in enumerate(rows):
            alone = model.trace(documents.batch(np.array([row]), model.device))
            torch.testing.assert_close(together.logits[place], alone.logits[0], msg=str(options))
            n = alone.mask.shape[1]
            torch.testing.assert_close(together.weights[place, :n], alone.weights[0])
            assert (together.weights[place, n:] == 0).all()


def test_sos_and_eos_are_read_and_never_attended(make_model: Make) -> None:
    model = make_model()
    trace = model.trace(["w1 good0_1 w2", "w5"])
    assert trace.tokens[0].tolist()[0] == 2
    assert trace.tokens[0].tolist()[-1] == 3
    assert trace.token_mask.tolist() == [[True] * 5, [True] * 3 + [False] * 2]
    assert trace.mask.tolist() == [
        [False, True, True, True, False],
        [False, True, False, False, False],
    ]
    assert trace.item_of_token.tolist() == [[-1, 1, 2, 3, -1], [-1, 1, -1, -1, -1]]
    assert trace.weights[1].tolist() == [0, 1, 0, 0, 0]
    assert trace.items is trace.states


def test_without_boundaries_every_token_is_an_item(make_model: Make) -> None:
    trace = make_model(boundaries=False).trace(["w1 w2", "w5"])
    assert trace.mask.equal(trace.token_mask)
    assert trace.tokens.shape == (2, 2)


def test_a_trace_is_frozen_and_holds_no_graph(make_model: Make) -> None:
    trace = make_model().trace(["w1 w2"])
    assert not trace.logits.requires_grad
    with pytest.raises(FrozenInstanceError):
        trace.logits = trace.logits  # type: ignore[misc]


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"hierarchical": True}, {"projection": "sparsemax"}])
def test_trace_predict_and_logits_agree_in_the_order_given(
    options: dict[str, object], make_model: Make, planted: verax.Corpus
) -> None:
    model = make_model(**options)
    texts = planted.test.texts[:30]
    trace = model.trace(texts)
    logits = model.logits(texts, max_tokens=64)
    torch.testing.assert_close(trace.logits, logits, atol=1e-6, rtol=1e-5)
    frame = model.predict(texts)
    assert frame.columns.tolist() == ["label", "p_0", "p_1"]
    assert np.allclose(frame["p_1"], torch.sigmoid(logits[:, 0]).numpy(), atol=1e-6)
    assert np.allclose(frame["p_0"] + frame["p_1"], 1)
    assert (frame["label"] == np.where(logits[:, 0].numpy() > 0, "1", "0")).all()
    seen = {}
    for piece in model.traces(texts, max_tokens=64):
        assert piece.tokens.numel() <= 64
        seen |= dict(zip(piece.ids.tolist(), piece.logits, strict=True))
    for row in range(30):
        torch.testing.assert_close(seen[row], logits[row], atol=1e-6, rtol=1e-5)


def test_documents_and_their_texts_are_read_alike(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(hierarchical=True)
    assert torch.equal(
        model.logits(planted.test),
        model.logits(planted.test.given_tokens),  # type: ignore[arg-type]
    )


def test_predict_nothing_gives_an_empty_table(make_model: Make) -> None:
    assert make_model().predict([]).shape == (0, 3)


def test_texts_that_are_no_texts_are_refused(make_model: Make) -> None:
    model = make_model()
    with raises("text.empty", "1"):
        model.predict(["w1", "   "])
    with raises("text.wrong-type"):
        model.predict("w1")
    with raises("text.wrong-type", "0"):
        model.predict([3])  # type: ignore[list-item]


def test_a_label_is_the_sign_of_the_logit_however_small(make_model: Make) -> None:
    model = make_model()
    with torch.no_grad():
        model.head.linear.weight.zero_()
        for bias, label in ((1e-9, "1"), (-1e-9, "0"), (0.0, "0")):
            model.head.linear.bias.fill_(bias)
            assert model.predict([["w1"]])["label"].tolist() == [label]


@pytest.mark.slow
def test_documents_read_by_another_tokenizer_are_refused(make_model: Make) -> None:
    foreign = verax.load_corpus("rotten_tomatoes", limit=50)
    with raises("corpus.tokenizer-mismatch"):
        make_model().logits(foreign.test)


def test_tracing_nothing_is_refused(make_model: Make) -> None:
    with raises("text.missing"):
        make_model().trace([])


def test_mode_and_gradients_are_untouched_by_reading(make_model: Make) -> None:
    model = make_model().train()
    model.trace(["w1 w2"])
    model.predict(["w1 w2"])
    assert model.training
    assert all(p.grad is None for p in model.parameters())


def test_nothing_is_dropped_without_a_noise_even_in_training_mode(make_model: Make) -> None:
    model = make_model(encoder="conv", dropout_embedding=0.5, dropout_head=0.5)
    before = model.trace(["w1 w2 w3"]).logits
    assert torch.equal(model.train().trace(["w1 w2 w3"]).logits, before)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"grounding": "tying", "encoder": "none"}, ("option.conflict",)),
        ({"grounding": "mlm", "encoder": "none"}, ("option.conflict",)),
        ({"grounding": "tying", "hidden_size": 10}, ("option.conflict", "hidden_size", "10")),
        ({"grounding": "residual", "hidden_size": 10}, ("option.conflict",)),
        ({"hidden_size": 11}, ("option.out-of-range", "hidden_size")),
        ({"encoder": "conv", "layers": 2}, ("option.conflict",)),
        ({"encoder": "mlp", "layers": 2}, ("option.conflict",)),
        ({"encoder": "transformer", "hidden_size": 10}, ("option.conflict", "hidden_size")),
        ({"hierarchical": True, "boundaries": True}, ("option.conflict",)),
        ({"head": "sigmoid", "classes": 3}, ("option.conflict",)),
    ],
)
def test_impossible_combinations_are_refused(
    options: dict[str, object], expected: tuple[str, ...], make_model: Make
) -> None:
    with raises(*expected):
        make_model(**options)

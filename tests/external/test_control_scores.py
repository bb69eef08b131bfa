"""Controls: gradients beside captum, leave-one-out beside texts edited by hand, chance."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients, Saliency
from torch import Tensor

from support.errors import raises
from support.internals import integrated_gradients_of_words as integrated_gradients
from support.internals import without_words
from verax import TransformerClassifier
from verax.importance import IMPORTANCES, convergence_delta, known_names, score


@pytest.fixture
def some(texts: list[str]) -> list[str]:
    return texts[:3]


def by_word(pieces: Tensor, word: Tensor, largest: bool = False) -> Tensor:
    """(batch, pieces) → (batch, words), a word at a time."""
    rows = torch.zeros(len(pieces), int(word.max()) + 1, dtype=torch.float64)
    for row, place in np.ndindex(*pieces.shape):
        if (number := int(word[row, place])) >= 0:
            value = pieces[row, place].double()
            rows[row, number] = (
                max(rows[row, number], value) if largest else rows[row, number] + value
            )
    return rows


def probability_of(bert: TransformerClassifier, trace: Any) -> Any:
    """p of the class decided for, as captum asks: of input ids, or of vectors."""
    y = trace.logits.argmax(-1)

    def of_ids(ids: Tensor) -> Tensor:
        copies = len(ids) // len(y)
        mask = trace.pieces.mask.long().repeat(copies, 1)
        logits = bert.module(ids, attention_mask=mask).logits
        return logits.softmax(-1).gather(-1, y.repeat(copies).unsqueeze(-1)).squeeze(-1)

    return of_ids


def test_gradients_are_captums(bert: TransformerClassifier, some: list[str]) -> None:
    trace = bert.trace(some)
    pieces = trace.pieces
    y = trace.logits.argmax(-1)

    def of_vectors(vectors: Tensor) -> Tensor:
        more = {"attention_mask": pieces.mask.long(), **pieces.more}
        logits = bert.module(inputs_embeds=vectors, **more).logits
        return logits.softmax(-1).gather(-1, y.unsqueeze(-1)).squeeze(-1)

    vectors = bert.embed(pieces).detach().requires_grad_()
    slopes = Saliency(of_vectors).attribute(vectors, abs=False).detach()
    norms = by_word(slopes.norm(dim=-1), pieces.word, largest=True)
    torch.testing.assert_close(score("gradient", bert, trace), norms, atol=1e-6, rtol=1e-4)
    products = by_word((slopes * vectors.detach()).sum(-1), pieces.word)
    signed = score("gradient-input", bert, trace, signed=True)
    torch.testing.assert_close(signed, products, atol=1e-6, rtol=1e-4)
    assert torch.equal(score("gradient-input", bert, trace), signed.abs())


@pytest.mark.slow
def test_integrated_gradients_are_captums(bert: TransformerClassifier, some: list[str]) -> None:
    trace = bert.trace(some)
    pieces = trace.pieces
    table = bert.module.get_input_embeddings()
    peer = LayerIntegratedGradients(probability_of(bert, trace), table)
    for name, piece in (("mask", 4), ("pad", 0)):
        nothing = torch.where(pieces.word >= 0, piece, pieces.input_ids)
        theirs, delta = peer.attribute(
            *(pieces.input_ids, nothing),
            n_steps=20,
            method="gausslegendre",
            return_convergence_delta=True,
        )
        expected = by_word(theirs.detach().sum(-1), pieces.word)
        options: dict[str, Any] = {"steps": 20, "baseline": name}
        ours = integrated_gradients(bert, trace, signed=True, **options)
        torch.testing.assert_close(ours, expected, atol=1e-6, rtol=1e-4)
        missed = convergence_delta(bert, trace, **options)
        torch.testing.assert_close(missed, delta.double(), atol=1e-6, rtol=0)
    zero = integrated_gradients(bert, trace, steps=20, baseline="zero", signed=True)
    assert not torch.allclose(zero, ours, atol=1e-3)
    default = score("integrated-gradients", bert, trace, signed=True, max_tokens=100)
    mask = integrated_gradients(bert, trace, baseline="mask", signed=True)
    torch.testing.assert_close(default, mask, atol=1e-6, rtol=0)
    with raises("option.unknown-value", "nothing"):
        integrated_gradients(bert, trace, baseline="nothing")


def test_confident_decisions_keep_the_order_of_gradients(
    bert: TransformerClassifier, some: list[str]
) -> None:
    """p near one has a gradient near zero, which single precision would lose."""
    trace = bert.trace(some)
    order = score("gradient", bert, trace).argsort(-1)
    bias = bert.module.classifier.bias
    with torch.no_grad():
        before = bias.clone()
        bias += torch.tensor([0.0, 40.0])
        try:
            sure = score("gradient", bert, bert.trace(some), target=1)
        finally:
            bias.copy_(before)
    assert 0 < float(sure.amax()) < 1e-12
    decided = trace.logits.argmax(-1) == 1
    assert torch.equal(sure.argsort(-1)[decided], order[decided])


def test_leave_one_out_is_reading_texts_without_the_word(
    bert: TransformerClassifier, texts: list[str]
) -> None:
    trace = bert.trace(texts)
    decided = trace.logits.argmax(-1)
    scores = score("leave-one-out", bert, trace, signed=True)
    masked = score("leave-one-out-mask", bert, trace, signed=True)
    whole = trace.logits.softmax(-1)
    tokenizer = bert.reader.tokenizer
    for row, (text, spans) in enumerate(zip(texts, trace.batch.spans, strict=True)):
        y = int(decided[row])
        edited = [without_words(text, spans, one) for one in np.eye(len(spans), dtype=bool)]
        after = torch.cat([logits_of(bert, text) for text in edited]).softmax(-1)[:, y]
        made = scores[row, : len(spans)]
        torch.testing.assert_close(made, (whole[row, y] - after).double(), atol=1e-6, rtol=0)
        assert not scores[row, len(spans) :].any()
        one = trace.pieces.input_ids[row : row + 1, : int(trace.pieces.mask[row].sum())]
        word = trace.pieces.word[row, : one.shape[1]]
        for place in range(len(spans)):
            ids = torch.where(word == place, tokenizer.mask_token_id, one)
            with torch.no_grad():
                p = bert.module(ids).logits.softmax(-1)[0, y]
            assert abs(float(whole[row, y] - p) - float(masked[row, place])) < 1e-6


def logits_of(bert: TransformerClassifier, text: str) -> Tensor:
    with torch.no_grad():
        return bert.module(**bert.reader.tokenizer(text, return_tensors="pt")).logits


def test_chance_knows_its_text_and_seed(bert: TransformerClassifier, texts: list[str]) -> None:
    trace = bert.trace(texts)
    first = score("random", bert, trace, seed=3)
    assert torch.equal(first, score("random", bert, bert.trace(texts), seed=3))
    assert not torch.equal(first, score("random", bert, trace, seed=4))
    assert (first[~trace.mask] == 0).all()


@pytest.mark.parametrize("name", known_names("inputs", "transformer"))
def test_every_score_leaves_the_model_as_it_was(
    bert: TransformerClassifier, some: list[str], name: str
) -> None:
    module = bert.module
    module.train()
    module.classifier.weight.requires_grad_(False)
    before = {n: (p.clone(), p.requires_grad) for n, p in module.named_parameters()}
    hooks = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())
    trace = bert.trace(some)
    try:
        scores = score(name, bert, trace)
        assert scores.shape == trace.mask.shape
        assert scores.isfinite().all()
        assert (scores >= 0).all()
        assert (scores[~trace.mask] == 0).all()
        assert module.training
        for n, p in module.named_parameters():
            assert torch.equal(p, before[n][0])
            assert p.requires_grad == before[n][1]
            assert p.grad is None
        after = sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())
        assert after == hooks
        if "target" in IMPORTANCES[name].for_kind("transformer").takes:  # type: ignore[union-attr]
            other = score(name, bert, trace, target=0), score(name, bert, trace, target=1)
            decided = trace.logits.argmax(-1)
            for row, y in enumerate(decided.tolist()):
                torch.testing.assert_close(other[y][row], scores[row], atol=1e-6, rtol=1e-4)
    finally:
        module.eval()
        module.classifier.weight.requires_grad_(True)

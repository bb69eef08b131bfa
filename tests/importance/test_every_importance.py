"""What holds for every importance, on every encoder, flat and hierarchical."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import verax
from pairwise import pairwise
from support.errors import raises
from support.internals import LOGITS_WITHOUT_WORDS, EncodedDocuments
from verax.importance import IMPORTANCES, attention, influence, random, score
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]
ALL = [
    (name, on)
    for name, every in IMPORTANCES.items()
    for on in getattr(every.for_kind("pooled"), "levels", ())
]
TEXTS = ["w1 good0_2 . w3", "w4", "w5 . good1_3 w6 w7 .", "w2 w2 . w8 w1 good0_1 . w3 w9"]
ENCODERS = ("bilstm", "bigru", "conv", "mlp", "none", "transformer")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "encoder", "hierarchical"), pairwise(ALL, ENCODERS, (False, True)), ids=str
)
def test_scores_are_masked_and_leave_the_model_alone(
    make_model: Make, kind: tuple[str, str], encoder: str, hierarchical: bool
) -> None:
    """Every importance on every encoder, and both on flat and hierarchical models."""
    name, on = kind
    model = make_model(3, encoder=encoder, hierarchical=hierarchical).train()
    model.head.eval()  # each module keeps its own mode
    model.embedding.weight.requires_grad_(False)
    before = {n: (p.clone(), p.requires_grad) for n, p in model.named_parameters()}
    modes = [module.training for module in model.modules()]
    batch = model.encode(TEXTS).batch(np.arange(4), model.device)
    scores = score(name, model, batch, on)
    where = batch.words if on == "inputs" else batch.mask
    assert scores.shape == where.shape
    assert scores.dtype == torch.float64
    assert scores.isfinite().all()
    assert (scores[~where] == 0).all()
    assert scores[where].abs().sum() > 0
    if not name.startswith("attention-"):  # these two keep their sign: it ranks
        assert (scores >= 0).all()
    assert not scores.requires_grad
    for n, parameter in model.named_parameters():
        value, wanted = before[n]
        assert parameter.grad is None
        assert torch.equal(parameter, value)
        assert parameter.requires_grad == wanted
    assert [module.training for module in model.modules()] == modes


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize(("name", "on"), ALL)
def test_attention_that_no_score_moves_can_be_explained(
    make_model: Make, encoded: Encode, name: str, on: str, hierarchical: bool
) -> None:
    model = make_model(encoder="mlp", projection="uniform", hierarchical=hierarchical)
    batch = encoded(model).batch(np.arange(4), model.device)
    scores = score(name, model, batch, on)
    assert scores.isfinite().all()
    assert scores.abs().sum() > 0


@pytest.mark.parametrize("hierarchical", [False, True])
@pytest.mark.parametrize("encoder", ENCODERS)
def test_influence_leaves_the_model_alone(
    make_model: Make, encoded: Encode, encoder: str, hierarchical: bool
) -> None:
    model = make_model(3, encoder=encoder, hierarchical=hierarchical).train()
    batch = encoded(model).batch(np.arange(4), model.device)
    influence(model, batch)
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert all(module.training for module in model.modules())


@pytest.fixture(scope="module")
def company(
    request: pytest.FixtureRequest, make_model: Make
) -> tuple[AttentionClassifier, verax.Trace, verax.Trace]:
    """A model, and its traces of all texts and of the third alone: importances share their work."""
    encoder, hierarchical = request.param
    model = make_model(3, encoder=encoder, hierarchical=hierarchical)
    documents = model.encode(TEXTS)
    batches = [documents.batch(np.array(ids), model.device) for ids in ([0, 1, 2, 3], [2])]
    together, alone = (model.trace(batch) for batch in batches)
    return model, together, alone


@pytest.mark.slow
@pytest.mark.parametrize(("name", "on"), ALL)
@pytest.mark.parametrize(
    "company", [(e, h) for e in ENCODERS for h in (False, True)], indirect=True, ids=str
)
def test_company_in_the_batch_changes_nothing(
    company: tuple[AttentionClassifier, verax.Trace, verax.Trace], name: str, on: str
) -> None:
    model, *traces = company
    together, alone = (score(name, model, trace, on) for trace in traces)
    width = alone.shape[1]
    assert width < together.shape[1]
    torch.testing.assert_close(together[2, :width], alone[0], rtol=1e-4, atol=1e-6)


def test_a_failure_on_the_way_leaves_the_model_as_it_was(
    make_model: Make, encoded: Encode, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model().train()
    batch = encoded(model).batch(np.arange(4), model.device)

    def broken(*given: object) -> None:
        raise RuntimeError("no head for this")

    monkeypatch.setattr(model.head, "forward", broken)
    with pytest.raises(RuntimeError, match="no head"):
        score("gradient", model, batch)
    assert all(module.training for module in model.modules())
    assert all(p.requires_grad for p in model.parameters())


@pytest.mark.parametrize("hierarchical", [False, True])
def test_words_share_out_attention(make_model: Make, encoded: Encode, hierarchical: bool) -> None:
    model = make_model(hierarchical=hierarchical)
    batch = encoded(model).batch(np.arange(6), model.device)
    words, items = attention(model, batch, "inputs"), attention(model, batch)
    torch.testing.assert_close(words.sum(-1), torch.ones(6))
    by_item = torch.zeros_like(items).scatter_add(
        -1, batch.item_of_token.clamp(min=0), words * batch.words
    )
    torch.testing.assert_close(by_item, items)


def test_chance_is_of_the_document_and_the_seed(make_model: Make, encoded: Encode) -> None:
    model = make_model()
    documents = encoded(model)
    together = documents.batch(np.arange(6), model.device)
    alone = documents.batch(np.array([4]), model.device)
    for on in ("inputs", "items"):
        one, other = random(model, together, on, seed=1), random(model, together, on, seed=2)
        assert not torch.equal(one, other)
        assert torch.equal(one[4, : alone.tokens.shape[1]], random(model, alone, on, seed=1)[0])


def test_what_a_trace_knows_is_not_worked_out_twice(
    make_model: Make, encoded: Encode, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model()
    trace = model.trace(encoded(model).batch(np.arange(4), model.device))
    first = score("leave-one-out", model, trace), score("gradient", model, trace)

    def never(*given: object) -> None:
        raise AssertionError("the encoder ran again")

    monkeypatch.setattr(model.encoder, "forward", never)
    monkeypatch.setattr(LOGITS_WITHOUT_WORDS, never)
    assert torch.equal(score("leave-one-out", model, trace), first[0])
    assert torch.equal(score("gradient", model, trace), first[1])
    score("gradient-input", model, trace, "items")


@pytest.mark.parametrize(
    ("name", "on", "expected"),
    [
        ("atention", "inputs", ("option.unknown-value", "attention")),
        ("attention-product", "inputs", ("option.unknown-value", "attention-product")),
        ("gradient", "words", ("option.unknown-value", "words")),
    ],
)
def test_a_wrong_name_is_told(
    make_model: Make, encoded: Encode, name: str, on: str, expected: tuple[str, ...]
) -> None:
    model = make_model()
    with raises(*expected):
        score(name, model, encoded(model).batch(np.arange(2), model.device), on)

"""Gradients against captum, autograd by hand, and what must hold whatever the model."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from captum.attr import InputXGradient, IntegratedGradients, Saliency

from support.internals import EncodedDocuments
from verax.corpora import Batch
from verax.functional import pool
from verax.importance import attention, gradient, gradients, integrated_gradients
from verax.models import AttentionClassifier, decisions, probabilities

Make = Callable[..., AttentionClassifier]
Encode = Callable[[AttentionClassifier], EncodedDocuments]
SLOTS = [
    {"encoder": encoder, "hierarchical": hierarchical, **more}
    for encoder in ("bilstm", "bigru", "conv", "mlp", "none", "transformer")
    for hierarchical in (False, True)
    for more in ({}, {"projection": "sparsemax", "attention": "dot", "grounding": "concat"})
]


def _names(slot: dict[str, object]) -> str:
    return "-".join(str(value) for value in slot.values())


def _batch(model: AttentionClassifier, encoded: Encode, rows: int = 5) -> Batch:
    return encoded(model).batch(np.arange(rows), model.device)


def _probability(model: AttentionClassifier, batch: Batch) -> Callable[..., torch.Tensor]:
    """What captum calls forward: word vectors → probabilities of all classes."""

    def forward(embedded: torch.Tensor) -> torch.Tensor:
        return probabilities(model.run(batch, embedded).logits)

    return forward


@pytest.mark.parametrize("place", range(len(SLOTS)), ids=lambda place: _names(SLOTS[place]))
def test_input_gradients_are_captums(make_model: Make, encoded: Encode, place: int) -> None:
    """Every slot; two classes and three by turns, so that every choice of a slot meets both."""
    model = make_model(2 + (place + place // 2) % 2, **SLOTS[place])
    batch = _batch(model, encoded)
    embedded = model.embedding(batch.tokens).detach()
    forward, target = _probability(model, batch), decisions(model.trace(batch).logits)
    saliency = Saliency(forward).attribute(
        embedded.clone().requires_grad_(), target=target, abs=False
    )
    product = InputXGradient(forward).attribute(embedded.clone().requires_grad_(), target=target)
    words = batch.words
    expected = saliency.norm(dim=-1) * words
    torch.testing.assert_close(gradient(model, batch).float(), expected, rtol=1e-4, atol=1e-8)
    signed = gradient(model, batch, score="product", signed=True).float()
    torch.testing.assert_close(signed, product.sum(-1) * words, rtol=1e-4, atol=1e-7)
    absolute = gradient(model, batch, score="product").float()
    torch.testing.assert_close(absolute, (product.sum(-1) * words).abs(), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("through", ["all", "values"])
@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_gradients_are_those_of_the_model_written_out(
    make_model: Make, encoded: Encode, slot: dict[str, object], through: str
) -> None:
    """p_y written as a function of word vectors and of items, with α held constant or not."""
    model = make_model(3, **slot)
    batch = _batch(model, encoded)
    embedded = model.embedding(batch.tokens).detach().requires_grad_()
    _, items = model.encode_states(batch, embedded)
    _, weights = model.attention(items, batch.mask)
    weights = weights.detach() if through == "values" else weights
    share = probabilities(model.head(pool(weights, items))).amax(-1).sum()
    inputs, of_items = torch.autograd.grad(share, (embedded, items))
    found = gradients(model, model.trace(batch), through)
    # single precision: processors differ in the last digit of what is near zero
    torch.testing.assert_close(found["inputs"].float(), inputs, rtol=1e-4, atol=1e-7)
    torch.testing.assert_close(found["items"].float(), of_items, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("slot", SLOTS, ids=_names)
def test_detached_gradient_of_items_is_attention_itself(
    make_model: Make, encoded: Encode, slot: dict[str, object]
) -> None:
    """∂f/∂h_i = α_i ∇f(Σ α_i h_i): normalised, the norms are the weights, for any model."""
    model = make_model(3, **slot)
    batch = _batch(model, encoded)
    norms = gradient(model, batch, "items", through="values")
    weights = attention(model, batch).double()
    shares = norms / norms.sum(-1, keepdim=True)
    torch.testing.assert_close(shares, weights / weights.sum(-1, keepdim=True))


def test_it_is_attention_itself_behind_a_head_that_is_not_affine(
    make_model: Make, encoded: Encode
) -> None:
    model = make_model(3)
    model.head = torch.nn.Sequential(  # type: ignore[assignment]
        torch.nn.Linear(12, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)
    )
    batch = _batch(model, encoded)
    norms = gradient(model, batch, "items", through="values")
    shares = norms / norms.sum(-1, keepdim=True)
    torch.testing.assert_close(shares.float(), attention(model, batch))


def test_a_sparse_weight_of_zero_has_no_gradient_on_its_item(
    make_model: Make, encoded: Encode
) -> None:
    model = make_model(projection="sparsegen", lam=0.9999)
    batch = _batch(model, encoded)
    off = (attention(model, batch) == 0) & batch.mask
    assert off.any()
    for through in ("all", "values"):
        assert (gradient(model, batch, "items", through=through)[off] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("slot", "steps"),
    [*((slot, 7) for slot in SLOTS[::2]), *((slot, 50) for slot in (SLOTS[0], SLOTS[10]))],
    ids=lambda value: _names(value) if isinstance(value, dict) else str(value),
)
def test_integrated_gradients_are_captums(
    make_model: Make, encoded: Encode, slot: dict[str, object], steps: int
) -> None:
    """Every encoder, flat and hierarchical; more steps only for two, as no encoder knows them."""
    model = make_model(3, **slot)
    batch = _batch(model, encoded, 3)
    embedded = model.embedding(batch.tokens).detach()
    target = decisions(model.trace(batch).logits)
    words = batch.words.unsqueeze(-1)
    expected = IntegratedGradients(_probability(model, batch)).attribute(
        embedded,
        baselines=embedded.masked_fill(words, 0.0),
        target=target,
        n_steps=steps,
        method="gausslegendre",
        internal_batch_size=len(batch),  # the batch's own layout
    )
    for max_tokens in (1, 10_000):  # one step at a time, or many
        found = integrated_gradients(model, batch, steps=steps, signed=True, max_tokens=max_tokens)
        torch.testing.assert_close(
            found.float(), expected.sum(-1) * batch.words, rtol=1e-3, atol=1e-6
        )


@pytest.mark.slow
@pytest.mark.parametrize("on", ["inputs", "items"])
@pytest.mark.parametrize(
    ("encoder", "off"), [("bilstm", 1e-5), ("conv", 1e-4), ("transformer", 1e-4)]
)
def test_integrated_gradients_add_up(
    make_model: Make, encoded: Encode, encoder: str, off: float, on: str
) -> None:
    """Σ scores = p_y(x) − p_y(x⁰), with words' vectors, or items, at zero.

    Quadrature is slow over the kinks of a ReLU and where a layer norm comes out of zero.
    """
    model = make_model(3, encoder=encoder)
    batch = _batch(model, encoded)
    trace = model.trace(batch)
    with torch.no_grad():
        if on == "inputs":
            start = trace.embedded.masked_fill(batch.words.unsqueeze(-1), 0.0)
            nothing = model.run(batch, start).logits
        else:
            _, weights = model.attention(torch.zeros_like(trace.items), batch.mask)
            nothing = model.head(pool(weights, torch.zeros_like(trace.items)))
    target = decisions(trace.logits).unsqueeze(-1)
    whole, none = (probabilities(z).gather(-1, target).squeeze(-1) for z in (trace.logits, nothing))
    found = integrated_gradients(model, batch, on, signed=True, steps=300).sum(-1)
    torch.testing.assert_close(found.float(), whole - none, rtol=1e-3, atol=off)


def test_a_decision_near_certainty_keeps_the_order_of_its_words(
    make_model: Make, encoded: Encode
) -> None:
    """1 − p_y is far below what a probability in single precision tells from zero."""
    model = make_model(2)
    batch = _batch(model, encoded)
    before = gradient(model, batch)
    with torch.no_grad():
        model.head.linear.weight *= 1e3
        model.head.linear.bias.fill_(200.0)
    after = gradient(model, batch)
    assert (after[batch.words] > 0).all()
    assert probabilities(model.trace(batch).logits).amax(-1).eq(1).all()
    torch.testing.assert_close(
        after / after.sum(-1, keepdim=True),
        before / before.sum(-1, keepdim=True),
        rtol=1e-4,
        atol=0,
    )


def test_boundaries_keep_sos_and_eos(make_model: Make, encoded: Encode) -> None:
    model = make_model()
    batch = _batch(model, encoded)
    inside, every = gradient(model, batch), gradient(model, batch, boundaries=True)
    edges = batch.token_mask & ~batch.words
    assert edges.sum() == 2 * len(batch)
    assert (inside[edges] == 0).all()
    assert (every[edges] > 0).all()
    assert torch.equal(inside[batch.words], every[batch.words])

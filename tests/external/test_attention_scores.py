"""Scores derived from attention, each beside the same worked out another way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from architectures import make_model
from numpy.typing import NDArray
from torch import Tensor

import verax
from support.errors import raises
from support.internals import Site
from verax import TransformerClassifier
from verax.importance import layer_head_rows, names_of, score, special_share

Make = Callable[..., TransformerClassifier]
Array = NDArray[np.float64]
TEXT = "Unwatchable, not good!"
LONG = "It was not bad, but the plot is never good and the actings too dull."


@pytest.fixture(scope="module")
def exact(make_classifier: Make) -> TransformerClassifier:
    """Two layers of two heads, in double precision."""
    model = make_classifier(2, num_hidden_layers=2)
    model.module.double()
    return model


@pytest.fixture(scope="module")
def t5(tokenizer: Any) -> TransformerClassifier:
    return verax.from_transformers(make_model("T5"), tokenizer)


@pytest.fixture(scope="module")
def mean_pooled(make_classifier: Make, tokenizer: Any) -> TransformerClassifier:
    encoder = make_classifier(4).module.bert
    head = torch.nn.Linear(16, 2)
    options: dict[str, Any] = {"head": head, "classes": ["no", "yes"]}
    return verax.from_transformers(encoder, tokenizer, "mean", **options)


def sites_of(model: TransformerClassifier, text: str) -> list[Site]:
    sites: list[Site] = []
    with torch.no_grad():
        model.run(model.trace([text]).pieces, lambda site: sites.append(site))
    return sites


def by_word(pieces: Array, word: Any, how: Callable[[Array], float] = np.sum) -> list[float]:
    """The scores of one text's words, from those of its pieces."""
    return [how(pieces[word == number]) for number in range(max(word) + 1)]


def word_of(model: TransformerClassifier, text: str) -> Any:
    return model.encode([text]).pieces.word[0]


def scores_of(name: str, model: TransformerClassifier, text: str, **more: Any) -> Array:
    """The scores of a text, read beside others so that it has padding."""
    trace = model.trace([text, LONG])
    return score(name, model, trace, **more)[0][trace.mask[0]].numpy()


@pytest.mark.slow
def test_attention_is_that_of_eager(
    make_classifier: Make, tokenizer: Any, texts: list[str]
) -> None:
    model = make_classifier()
    bert = model.module
    bert.set_attn_implementation("eager")
    for text in texts[:3]:
        word = word_of(model, text)
        inputs = tokenizer(text, return_tensors="pt")
        with torch.no_grad():
            layers = bert(**inputs, output_attentions=True).attentions
        rows = np.stack([layer[0, :, 0].double().numpy() for layer in layers])
        expected = {
            "attention": rows[-1].mean(0),
            "attention@2": rows[1].mean(0),
            "attention@1.2": rows[0, 1],
            "attention-mean": rows.mean((0, 1)),
        }
        for name, row in expected.items():
            np.testing.assert_allclose(scores_of(name, model, text), by_word(row, word), atol=1e-6)
        trace = model.trace([text])
        special = rows[..., word < 0].sum(-1)
        np.testing.assert_allclose(special_share(model, trace)[0], special, atol=1e-6)
        rest = layer_head_rows(model, trace).sum(-1)[0]
        np.testing.assert_allclose(rest, 1 - special, atol=1e-6)


def test_rollout_by_hand(exact: TransformerClassifier) -> None:
    first, second = (site.weights[0].mean(0).numpy() for site in sites_of(exact, TEXT))
    unit = np.eye(len(first))
    rolled = ((second + unit) / 2 @ (first + unit) / 2)[0]
    expected = by_word(rolled, word_of(exact, TEXT))
    np.testing.assert_allclose(scores_of("rollout", exact, TEXT), expected, atol=1e-6)


def attention_slopes(model: TransformerClassifier, text: str, y: int) -> list[Array]:
    """∂(z_y − z_other)/∂A of each layer by central differences, (heads, queries, keys)."""
    pieces = model.trace([text]).pieces
    slopes, step = [], 1e-6
    for layer, site in enumerate(sites_of(model, text)):
        shape = site.weights.shape[1:]
        moves = torch.eye(int(np.prod(shape)), dtype=torch.float64).view(-1, *shape) * step
        ahead = []
        for side in (1, -1):
            change = side * moves

            def moved(site: Site, layer: int = layer, change: Tensor = change) -> Tensor | None:
                return site.weights + change if site.number == layer else None

            many = pieces.take(torch.zeros(len(moves), dtype=torch.long))
            with torch.no_grad():
                logits = model.run(many, moved).logits
            ahead.append(logits[:, y] - logits[:, 1 - y])
        slopes.append(((ahead[0] - ahead[1]) / (2 * step)).view(shape).numpy())
    return slopes


def test_chefer_and_attention_times_gradient_by_hand(exact: TransformerClassifier) -> None:
    logits = exact.trace([TEXT]).logits[0]
    word = word_of(exact, TEXT)
    for y in (0, 1):
        weights = [site.weights[0].numpy() for site in sites_of(exact, TEXT)]
        slopes = attention_slopes(exact, TEXT, y)
        c = np.eye(len(word))
        for a, slope in zip(weights, slopes, strict=True):
            c = c + np.maximum(a * slope, 0).mean(0) @ c
        made = scores_of("chefer", exact, TEXT, target=y)
        np.testing.assert_allclose(made, by_word(c[0], word), atol=1e-7)
        p = float(logits.softmax(-1)[y])
        product = p * (1 - p) * (weights[-1] * slopes[-1]).sum((0, 1))
        made = scores_of("attention-gradient", exact, TEXT, signed=True, target=y)
        np.testing.assert_allclose(made, by_word(product, word), atol=1e-7)
        size = scores_of("attention-gradient", exact, TEXT, target=y)
        np.testing.assert_array_equal(size, abs(made))


def test_norms_by_the_weights_of_bert(bert: TransformerClassifier, texts: list[str]) -> None:
    """‖Σ_h α_hij W_O^h v_hj‖ with every vector formed."""
    layer = bert.module.bert.encoder.layer[-1].attention
    for text in texts[:3]:
        pieces = bert.trace([text]).pieces
        with torch.no_grad():
            before = bert.run(pieces, states=True).states
            assert before is not None
            values = layer.self.value(before[-2])[0].view(-1, 2, 8)
            alpha = sites_of(bert, text)[-1].weights[0, :, 0]
            blocks = layer.output.dense.weight.view(16, 2, 8)
            moved = torch.einsum("hj,jhd,ohd->jo", alpha, values, blocks)
        expected = by_word(moved.norm(dim=-1).numpy(), word_of(bert, text), np.max)
        np.testing.assert_allclose(scores_of("attention-norm", bert, text), expected, rtol=1e-5)


def test_a_mean_is_read_from_all_positions(mean_pooled: TransformerClassifier) -> None:
    word = word_of(mean_pooled, TEXT)
    layers = [site.weights[0].double().mean(0).numpy() for site in sites_of(mean_pooled, TEXT)]
    unit = np.eye(len(word))
    expected = by_word(layers[-1].mean(0), word)
    np.testing.assert_allclose(scores_of("attention", mean_pooled, TEXT), expected, atol=1e-6)
    rolled = unit
    for layer in layers:
        rolled = (layer + unit) / 2 @ rolled
    expected = by_word(rolled.mean(0), word)
    np.testing.assert_allclose(scores_of("rollout", mean_pooled, TEXT), expected, atol=1e-6)
    site = sites_of(mean_pooled, TEXT)[-1]
    dense = mean_pooled.module.encoder.layer[-1].attention.output.dense.weight
    assert site.values is not None
    with torch.no_grad():
        moved = torch.einsum(
            "hij,hjd,ohd->ijo", site.weights[0], site.values[0], dense.view(16, 2, 8)
        )
    norms = moved.norm(dim=-1).mean(0).numpy()
    expected = by_word(norms, word, np.max)
    np.testing.assert_allclose(scores_of("attention-norm", mean_pooled, TEXT), expected, rtol=1e-5)


@pytest.mark.slow
def test_encoder_and_decoder_are_one_graph(t5: TransformerClassifier) -> None:
    """Rollout over both as one product of block matrices; a decoder reads one place later."""
    word = word_of(t5, TEXT)
    n = len(word)
    rolled = np.eye(2 * n)
    start = {"encoder": 0, "decoder": n}
    sites = sites_of(t5, TEXT)
    assert {(s.queries, s.keys) for s in sites} == {
        *(("encoder", "encoder"), ("decoder", "decoder"), ("decoder", "encoder"))
    }
    for site in sites:
        block = np.eye(2 * n)
        i, j = start[site.queries], start[site.keys]
        block[i : i + n, i : i + n] /= 2
        block[i : i + n, j : j + n] += site.weights[0].double().mean(0).numpy() / 2
        rolled = block @ rolled
    both = np.concatenate([word, [-1], word[:-1]])
    expected = by_word(rolled[-1], both)
    np.testing.assert_allclose(scores_of("rollout", t5, TEXT), expected, atol=1e-6)
    cross = sites[-1].weights[0].double().mean(0).numpy()[-1]
    np.testing.assert_allclose(scores_of("attention", t5, TEXT), by_word(cross, word), atol=1e-6)
    trace = t5.trace([TEXT])
    for name in ("chefer", "attention-norm", "gradient", "integrated-gradients", "leave-one-out"):
        scores = score(name, t5, trace)
        assert scores.isfinite().all()
        assert scores.any()


def test_what_a_sink_takes_belongs_to_no_word(
    bert: TransformerClassifier, texts: list[str]
) -> None:
    """A route that gives three quarters of each row: as where a sink takes the rest."""

    class Sinking:
        name = "sinking"

        def opened(self, handler: Any) -> Any:
            def less(site: Site) -> Tensor:
                weights = 0.75 * site.weights
                handler(Site(site.number, weights, site.allowed, site.values))
                return weights

            return route.opened(less)

    trace, whole = bert.trace(texts), bert.trace(texts)
    share = special_share(bert, whole)
    route, bert.route = bert.route, Sinking()
    try:
        first = special_share(bert, trace)[:, 0]
        rolled = score("rollout", bert, trace)
    finally:
        bert.route = route
    torch.testing.assert_close(first, 1 - 0.75 * (1 - share[:, 0]), atol=1e-6, rtol=0)
    assert (rolled.sum(-1) < (0.5 + 0.375) ** 3).all()


@pytest.mark.slow
def test_budgets_change_nothing_but_rounding(bert: TransformerClassifier, texts: list[str]) -> None:
    for name in names_of("attention,rollout,attention-norm,chefer,gradient", "inputs", bert.kind):
        whole = score(name, bert, bert.trace(texts))
        parts = score(name, bert, bert.trace(texts), max_tokens=20)
        torch.testing.assert_close(parts, whole, atol=1e-5, rtol=1e-5)


def test_places_are_checked(bert: TransformerClassifier) -> None:
    trace = bert.trace([TEXT])
    for name, expected in (
        ("attention@4", ("option.out-of-range",)),
        ("attention@1.3", ("option.out-of-range", "1.3")),
        ("rollout@1", ("option.unknown-value", "rollout@1")),
        ("attention@0", ("option.unknown-value", "attention@0")),
        ("attention-product", ("importance.not-applicable",)),
    ):
        with raises(*expected):
            score(name, bert, trace)
    with raises("importance.not-applicable", "rollout"):
        names_of("rollout", "inputs")
    with raises("option.unknown-value", "attention@2"):
        names_of("attention@2", "inputs")
    assert names_of("attention@2,rollout", "inputs", None) == ["attention@2", "rollout"]


def test_attention_out_of_reach_is_one_line(bert: TransformerClassifier) -> None:
    """A route that does not tell the values."""
    trace = bert.trace([TEXT])
    route = bert.route

    class Silent:
        name = "silent"

        def opened(self, handler: Any) -> Any:
            return route.opened(lambda site: handler(Site(site.number, site.weights, site.allowed)))

    bert.route = Silent()
    try:
        with raises("importance.not-applicable"):
            score("attention-norm", bert, trace)
    finally:
        bert.route = route

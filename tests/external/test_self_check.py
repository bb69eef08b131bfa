"""What the self-check finds, and that a model is left exactly as it was."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from architectures import make_model
from torch import Tensor, nn

import verax
from support.errors import raises
from support.internals import INTERFACE_NAME as NAME
from support.internals import (
    AttentionCall,
    FunctionHook,
    Handler,
    InterfaceHook,
    find_readout,
    probe_pieces,
    self_check,
)
from verax import TransformerClassifier


def left_behind(model: Any) -> list[Any]:
    """All of a model that a pass might change."""
    parts = list(model.modules())
    configs = [part.config for part in parts if hasattr(part, "config")]
    hooks = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return [
        [config.to_dict() | {"attention": config._attn_implementation} for config in configs],
        [part.training for part in parts],
        [sorted(vars(part)) for part in parts],
        [list(getattr(part, name)) for part in parts for name in hooks],
        [parameter.requires_grad for parameter in model.parameters()],
        [values.clone() for values in model.state_dict().values()],
    ]


def same(one: Any, other: Any) -> bool:
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return torch.equal(one, other) if isinstance(one, Tensor) else one == other


@pytest.mark.parametrize("name", ["Bert", "GPT2", "T5", "MPNet"])
def test_a_model_is_left_as_it_was(name: str, tokenizer: Any, texts: list[str]) -> None:
    model = make_model(name)
    if name == "GPT2":
        model.config.pad_token_id = None
    model.train()
    model.base_model.eval()
    next(model.parameters()).requires_grad_(False)
    before = left_behind(model)
    classifier = verax.from_transformers(model, tokenizer)
    assert same(before, left_behind(model))
    pieces = classifier.trace(texts).pieces
    classifier.run(pieces, lambda call: call.weights, embedded=classifier.embed(pieces))

    def failing(call: AttentionCall) -> Tensor | None:
        if call.number == 1:
            raise ZeroDivisionError
        return None

    for run in (classifier.run, lambda pieces, handler: classifier.tail(pieces, 1).run(handler)):
        with pytest.raises(ZeroDivisionError):
            run(pieces, failing)
    with pytest.raises(RuntimeError):
        classifier.run(pieces, embedded=torch.zeros(1, 1, 3))
    assert same(before, left_behind(model))


def test_weight_on_padding_is_found(
    bert: TransformerClassifier, tokenizer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Attention that is registered without its mask sees padding, silently."""
    from transformers.masking_utils import AttentionMaskInterface

    monkeypatch.setitem(AttentionMaskInterface._global_mapping, NAME, lambda *args, **more: None)
    pieces = probe_pieces(bert)
    own = bert.hook
    try:
        with raises("model.attention-mismatch", "1"):
            self_check(bert, InterfaceHook(bert.module), pieces)
        decoder = verax.from_transformers(make_model("Llama"), tokenizer)
        assert decoder.describe()["route"] == FunctionHook.name  # the next hook is right
        alone = pieces.take(torch.tensor([0]))
        with raises("model.attention-mismatch"):
            self_check(decoder, InterfaceHook(decoder.module), alone)
    finally:
        bert.hook, bert.layers = own, 3


class Wrong(InterfaceHook):
    """A hook that shows something else than it uses."""

    def __init__(self, model: Any, shown: Callable[[AttentionCall], Tensor], used: Handler) -> None:
        super().__init__(model)
        self.shown, self.used = shown, used

    def installed(self, handler: Handler) -> Any:
        def handle(call: AttentionCall) -> Tensor | None:
            other = handler(replace(call, weights=self.shown(call)))
            return self.used(call) if other is None else other

        return super().installed(handle)


@pytest.mark.parametrize(
    ("shown", "used", "code"),
    [
        (
            lambda call: call.weights,
            lambda call: call.weights.roll(1, 1),
            "model.attention-mismatch",
        ),
        (lambda call: call.weights.roll(1, 1), lambda call: None, "model.attention-mismatch"),
    ],
)
def test_attention_that_is_not_the_models_is_found(
    bert: TransformerClassifier, shown: Any, used: Any, code: str
) -> None:
    own = bert.hook
    try:
        with raises(code) as refused:
            self_check(bert, Wrong(bert.module, shown, used), probe_pieces(bert))
        assert "\n" not in str(refused.value)
    finally:
        bert.hook, bert.layers = own, 3


def test_wrong_gradients_are_found(make_classifier: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    classifier = make_classifier()
    block = classifier.module.bert.encoder.layer[1].attention.output
    own = block.forward
    monkeypatch.setattr(block, "forward", lambda states, other: own(states.detach(), other))
    with raises("model.attention-mismatch", "1"):
        self_check(classifier, classifier.hook, probe_pieces(classifier))


class Neighbours(nn.Module):
    """Looks at the other texts of a batch."""

    def forward(self, states: Tensor) -> Tensor:
        return states - states.mean(0)


def test_texts_that_hang_on_their_batch_are_refused(make_classifier: Any) -> None:
    classifier = make_classifier()
    classifier.module.dropout = Neighbours()
    with raises("model.batch-dependent"):
        self_check(classifier, classifier.hook, probe_pieces(classifier))


def test_a_layer_that_shows_nothing_is_found(bert: TransformerClassifier) -> None:
    pieces, own = probe_pieces(bert), bert.layers
    bert.layers = 4
    try:
        with raises("model.attention-mismatch"):
            bert.run(pieces, lambda call: None)
    finally:
        bert.layers = own


@pytest.mark.parametrize(
    ("name", "given", "right"),
    [("Bert", "mean", "first"), ("Llama", "first", "last"), ("ModernBert", "first", "mean")],
)
def test_a_readout_that_contradicts_the_model_is_refused(
    name: str, given: str, right: str, tokenizer: Any
) -> None:
    model = make_model(name)
    with raises("option.conflict", given, right):
        verax.from_transformers(model, tokenizer, given)
    assert verax.from_transformers(model, tokenizer, right).readout == right


@pytest.mark.parametrize(
    ("pool", "texts", "code"),
    [
        (lambda states: states[:, 1], 2, "model.unsupported-readout"),
        (lambda states: states[:, 0] * 0, 2, "model.unsupported-readout"),
        (lambda states: states.mean(1), 2, "model.batch-dependent"),
        (lambda states: states.square().sum(1), 1, "model.unsupported-readout"),
    ],
)
def test_other_readouts_are_refused(
    pool: Callable[[Tensor], Tensor],
    texts: int,
    code: str,
    make_classifier: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    classifier = make_classifier()
    monkeypatch.setattr(classifier.module.bert.pooler, "forward", pool)
    pieces = probe_pieces(classifier).take(torch.arange(texts))
    with raises(code):
        find_readout(classifier, pieces)

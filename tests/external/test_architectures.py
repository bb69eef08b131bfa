"""Attention of sixteen architectures: captured, put back, replaced, differentiated."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from architectures import CONFIGURATIONS, make_model
from torch import Tensor

import verax
from support.internals import AttentionCall, FunctionHook, InterfaceHook, probe_pieces, self_check
from verax import TransformerClassifier
from verax.exams import EXAMS, plan

NOT_DISPATCHED = ("DebertaV2", "MPNet")
READOUTS = dict.fromkeys(CONFIGURATIONS, "first") | {"ModernBert": "mean"}
READOUTS |= dict.fromkeys(("Llama", "Qwen2", "Qwen3", "GPT2", "Gemma2", "GptOss", "T5"), "last")


@cache
def classifier_of(name: str, tokenizer: Any) -> TransformerClassifier:
    return verax.from_transformers(make_model(name), tokenizer)


@pytest.fixture(params=list(CONFIGURATIONS))
def classifier(request: pytest.FixtureRequest, tokenizer: Any) -> TransformerClassifier:
    return classifier_of(request.param, tokenizer)


def uniform(call: AttentionCall) -> Tensor:
    """Equal weights where weights are allowed; what a sink takes stays with it."""
    even = call.allowed.expand_as(call.weights).to(call.weights.dtype)
    even = even / even.sum(-1, keepdim=True).clamp(min=1)
    return even if call.sink is None else even * (1 - call.sink)


def eager_weights(model: TransformerClassifier, pieces: Any) -> tuple[Tensor, ...]:
    """Attention as the model tells it under eager attention."""
    module, before = model.module, model.module.config._attn_implementation
    if model.hook.name == InterfaceHook.name:
        module.set_attn_implementation("eager")
    output = module(pieces.input_ids, attention_mask=pieces.mask.long(), output_attentions=True)
    if model.hook.name == InterfaceHook.name:
        module.set_attn_implementation(before)
    if getattr(output, "attentions", None) is not None:
        return output.attentions
    pairs = zip(output.decoder_attentions, output.cross_attentions, strict=True)
    return (*output.encoder_attentions, *(one for pair in pairs for one in pair))


@torch.no_grad()
def test_attention_is_captured_and_replaced(
    classifier: TransformerClassifier, texts: list[str]
) -> None:
    name = classifier.describe()["architecture"].removesuffix("ForSequenceClassification")
    is_legacy = name in NOT_DISPATCHED
    hook = (FunctionHook if is_legacy else InterfaceHook).name
    described = classifier.describe()
    assert (described["route"], described["readout"]) == (hook, READOUTS[name])

    pieces = classifier.trace(texts).pieces
    calls: list[AttentionCall] = []
    captured = classifier.run(pieces, calls.append).logits
    untouched = classifier.run(pieces).logits
    assert torch.allclose(captured, untouched, atol=3e-5)
    assert len(calls) == classifier.layers == (6 if name == "T5" else 2)
    for call, eager in zip(calls, eager_weights(classifier, pieces), strict=True):
        if is_legacy:
            assert torch.allclose(call.weights, eager, atol=3e-6)
        else:
            assert torch.equal(call.weights, eager)
        padding = pieces.mask[:, None, :, None] & ~pieces.mask[:, None, None, :]
        assert (call.weights * padding).max() == 0
        assert (uniform(call) * padding).max() == 0
        assert call.values is not None
        assert call.values.shape[:3] == (len(texts), classifier.heads, call.weights.shape[-1])
        assert (call.sink is not None) == (name == "GptOss")

    kept = [call.weights.clone() for call in calls]
    assert torch.equal(classifier.run(pieces, lambda call: kept[call.number]).logits, captured)

    def one_head(call: AttentionCall) -> Tensor | None:
        if call.number != 0:
            return None
        weights = call.weights.clone()
        weights[:, 0] = uniform(call)[:, 0]
        return weights

    last = classifier.layers - 1
    edits = (one_head, lambda call: uniform(call) if call.number == last else None, uniform)
    moved = [(classifier.run(pieces, edit).logits - captured).abs().max() for edit in edits]
    assert min(moved) > 1e-4
    with torch.enable_grad():
        embedded = classifier.embed(pieces).requires_grad_()
        again = classifier.run(pieces, embedded=embedded).logits
        (slopes,) = torch.autograd.grad(again[:, 1].sum(), embedded)
    assert torch.allclose(again, untouched, atol=1e-6)
    assert (slopes.abs().sum(-1) > 0)[pieces.mask & (pieces.word >= 0)].all()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Bert", "Llama", "T5", "ModernBert"])
def test_functions_show_what_the_interface_shows(name: str, tokenizer: Any) -> None:
    classifier = classifier_of(name, tokenizer)
    pieces = probe_pieces(classifier)
    shown: dict[str, list[AttentionCall]] = {}
    own = classifier.hook
    try:
        for hook in (InterfaceHook(classifier.module), FunctionHook(classifier.module)):
            self_check(classifier, hook, pieces)
            classifier.run(pieces, shown.setdefault(hook.name, []).append)
    finally:
        classifier.hook = own
    for one, other in zip(*shown.values(), strict=True):
        real = pieces.mask[:, None, :, None]
        assert torch.allclose(one.weights * real, other.weights * real, atol=3e-6)
        assert torch.equal((one.allowed & real).expand_as(one.weights), other.allowed & real)
        assert one.values is not None
        assert other.values is not None
        assert torch.allclose(one.values * real, other.values * real, atol=1e-5)
        assert (one.queries, one.keys, one.name) == (other.queries, other.keys, other.name)


RUNS = {"agreement", "adversary", "deletion", "dispersion", "erasure", "information", "replacement"}
"""Exams taken on all but a few; single_token, too, where the mean of all states is read, and
sufficiency when it is named."""


def test_which_exams_run_on_it(classifier: TransformerClassifier) -> None:
    planned = {one.name: one for one in plan(classifier, list(EXAMS))}
    expected = {*RUNS, "sufficiency", "plausibility"}  # the latter needs people's marks, too
    if classifier.readout == "mean":
        expected |= {"single_token"}
    else:
        assert "has seen all words" in planned["single_token"].reason
    if classifier.module.config.is_encoder_decoder:
        expected -= {"information"}
        assert "decoder" in planned["information"].reason
    assert {name for name, one in planned.items() if one.promise} == expected
    assert planned["deletion"].promise == "bounded"
    assert {planned[name].promise for name in ("erasure", "adversary")} == {"searched"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Llama", "GptOss", "T5", "DebertaV2"])
def test_all_of_them_are_taken(name: str, tokenizer: Any) -> None:
    model = classifier_of(name, tokenizer)
    corpus = (["the film was not good .", "it is bad"], ["LABEL_0", "LABEL_1"])
    cheap: dict[str, Any] = {"deletion": {"rankings": "chefer,attention-norm", "steps": 2}}
    cheap |= {"adversary": {"restarts": 1, "search_steps": 2}, "permutations": 1, "draws": 1}
    verdict = verax.examine(model, corpus, progress=False, random_orders=1, **cheap)
    assert set(verdict.summary()["exam"]) == RUNS - ({"information"} if name == "T5" else set())

"""Hooks into the attention of modules of one's own, and what is no attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from architectures import make_model
from torch import Tensor, nn
from transformers.modeling_outputs import BaseModelOutputWithPastAndCrossAttentions as States

import verax
from support.errors import raises
from support.internals import AttentionCall, AttentionHook, FunctionHook

PAD = torch.tensor([[False] * 6, [False] * 4 + [True] * 2])
STATES = torch.randn(2, 6, 8, generator=torch.Generator().manual_seed(0))


class Mixture(nn.Module):
    """Attention by hand, with softmaxes beside it that are none: a router and a pooling."""

    num_heads = 2

    def __init__(self) -> None:
        super().__init__()
        self.project, self.router = nn.Linear(8, 24), nn.Linear(8, 6)

    def forward(self, states: Tensor) -> Tensor:
        experts = self.router(states).softmax(-1)  # as many experts as positions: square
        states = states * experts.topk(1).values
        query, key, value = (
            part.view(2, 6, 2, 4).transpose(1, 2) for part in self.project(states).chunk(3, -1)
        )
        scores = (query @ key.transpose(-1, -2)).masked_fill(PAD[:, None, None], -1e4)
        weights = nn.functional.dropout(torch.softmax(scores, -1), training=False)
        if self.num_heads == 1:
            mixed = torch.einsum("bhqk,bhkd->bhqd", weights, value)
        else:
            mixed = weights.reshape(4, 6, 6).bmm(value.reshape(4, 6, 4)).view(2, 2, 6, 4)
        pooled = torch.softmax(mixed.sum(-1, keepdim=True), 2) * mixed
        return pooled.sum(2).flatten(1).softmax(-1)


def encoder(norm_first: bool = False) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=norm_first)
        return nn.TransformerEncoder(layer, 2, enable_nested_tensor=not norm_first).eval()


def shown_by(hook: AttentionHook, run: Callable[[], Tensor]) -> tuple[list[AttentionCall], Tensor]:
    calls: list[AttentionCall] = []
    with hook.installed(calls.append):
        output = run()
    return calls, output


def test_function_mode_sees_attention_and_nothing_else() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = Mixture()
    for heads in (2, 1):
        module.num_heads = heads
        calls, output = shown_by(FunctionHook(module), lambda: module(STATES))
        assert torch.allclose(output, module(STATES), atol=1e-6)
        (call,) = calls
        assert call.weights.shape == (2, 2, 6, 6)
        assert torch.allclose(call.weights.sum(-1), torch.ones(2, 2, 6))
        assert torch.equal(call.allowed, ~PAD[:, None, None].expand(2, 2, 6, 6))
        assert (call.values is not None) == (heads == 2)
        with FunctionHook(module).installed(lambda call: call.weights.flip(-1)):
            assert not torch.allclose(module(STATES), output, atol=1e-3)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("norm_first", [False, True])
def test_function_mode_sees_into_a_transformer_encoder(norm_first: bool) -> None:
    module = encoder(norm_first)
    hook = FunctionHook(module)

    def run() -> Tensor:
        with torch.no_grad():
            return module(STATES, src_key_padding_mask=PAD)[~PAD]

    untouched = run()
    calls, output = shown_by(hook, run)
    assert torch.allclose(output, untouched, atol=1e-6)
    assert [call.name for call in calls] == ["layers.0.self_attn", "layers.1.self_attn"]
    weights = module.layers[0].self_attn
    states = module.layers[0].norm1(STATES) if norm_first else STATES
    _, own = weights(states, states, states, PAD, average_attn_weights=False)
    assert torch.allclose(calls[0].weights, own, atol=1e-6)
    assert all((call.weights * PAD[:, None, None]).max() == 0 for call in calls)
    with hook.installed(lambda call: calls[call.number].weights):
        assert torch.equal(run(), output)
    with hook.installed(lambda call: calls[call.number].weights.flip(1)):
        assert not torch.allclose(run(), output, atol=1e-3)
    assert torch.equal(run(), untouched)


def test_function_mode_sees_multi_head_attention_that_returns_its_weights() -> None:
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def run() -> Tensor:
        return module(STATES, STATES, STATES, PAD, average_attn_weights=False)[1]

    (call,), weights = shown_by(FunctionHook(module), run)
    assert torch.equal(call.weights, weights)
    assert call.values is not None
    mixed = (call.weights @ call.values).transpose(1, 2).reshape(2, 6, 8)
    output = module(STATES, STATES, STATES, PAD)[0]
    assert torch.allclose(module.out_proj(mixed), output, atol=1e-6)


def test_hooks_are_gone_after_an_error_of_a_handler() -> None:
    by_hand = Mixture()
    for module in (encoder(), by_hand):
        with pytest.raises(ZeroDivisionError), FunctionHook(module).installed(lambda call: 1 // 0):
            module(STATES)
        parts = list(module.modules())
        assert not any(part._forward_hooks or part._forward_pre_hooks for part in parts)


class Blocks(nn.Module):
    """Layers of `nn.TransformerEncoder` in the place of a BERT's own."""

    def __init__(self, size: int) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(size, 2, 16, batch_first=True)
        self.inner = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, states: Tensor, attention_mask: Tensor | None, **more: Any) -> Any:
        if attention_mask is not None:  # (batch, 1, queries, keys), added to scores
            more["src_key_padding_mask"] = attention_mask[:, 0, 0] < 0
        padding = more.get("src_key_padding_mask")
        return States(self.inner(states, src_key_padding_mask=padding))


def test_a_model_in_memory_may_be_made_of_torch_s_own_layers(tokenizer: Any) -> None:
    model = make_model("Bert")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model.bert.encoder = Blocks(model.config.hidden_size)
    model.config._attn_implementation = "eager"
    classifier = verax.from_transformers(model, tokenizer)
    assert classifier.describe()["route"] == FunctionHook.name
    assert classifier.layers == 2
    scores = classifier.explain(["the film was good"], "attention")
    assert scores["attention"].sum() > 0


def test_no_hook_into_what_has_no_attention(tokenizer: Any) -> None:
    model = make_model("Bert")
    model.bert.encoder.forward = lambda states, *args, **more: States(states)
    with raises("model.no-attention"):
        verax.from_transformers(model, tokenizer)

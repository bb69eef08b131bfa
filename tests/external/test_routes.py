"""Routes to the attention of modules that are not Hugging Face's, and what is no attention."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

from support.errors import raises
from support.internals import FunctionRoute, Site
from verax.external.attention.names import NameRoute
from verax.external.attention.routes import NoAttentionError, choose_route
from verax.external.attention.site import Route

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


def shown_by(route: Route, run: Callable[[], Tensor]) -> tuple[list[Site], Tensor]:
    sites: list[Site] = []
    with route.opened(sites.append):
        output = run()
    return sites, output


def test_function_mode_sees_attention_and_nothing_else() -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = Mixture()
    for heads in (2, 1):
        module.num_heads = heads
        sites, output = shown_by(FunctionRoute(module), lambda: module(STATES))
        assert torch.allclose(output, module(STATES), atol=1e-6)
        (site,) = sites
        assert site.weights.shape == (2, 2, 6, 6)
        assert torch.allclose(site.weights.sum(-1), torch.ones(2, 2, 6))
        assert torch.equal(site.allowed, ~PAD[:, None, None].expand(2, 2, 6, 6))
        assert (site.values is not None) == (heads == 2)
        with FunctionRoute(module).opened(lambda site: site.weights.flip(-1)):
            assert not torch.allclose(module(STATES), output, atol=1e-3)


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("norm_first", [False, True])
def test_names_show_the_attention_of_a_transformer_encoder(norm_first: bool) -> None:
    module = encoder(norm_first)
    is_fast = torch.backends.mha.get_fastpath_enabled()

    def run() -> Tensor:
        with torch.no_grad():
            return module(STATES, src_key_padding_mask=PAD)[~PAD]

    def check(route: Route) -> None:
        if not shown_by(route, run)[0]:
            raise NoAttentionError("none")

    untouched = run()
    route = choose_route(module, check)
    assert isinstance(route, NameRoute)
    sites, output = shown_by(route, run)
    assert torch.allclose(output, untouched, atol=1e-6)
    assert [site.name for site in sites] == ["layers.0.self_attn", "layers.1.self_attn"]
    weights = module.layers[0].self_attn
    states = module.layers[0].norm1(STATES) if norm_first else STATES
    _, own = weights(states, states, states, PAD, average_attn_weights=False)
    assert torch.allclose(sites[0].weights, own, atol=1e-6)
    assert all((site.weights * PAD[:, None, None]).max() == 0 for site in sites)
    with route.opened(lambda site: sites[site.number].weights):
        assert torch.equal(run(), output)
    with route.opened(lambda site: sites[site.number].weights.flip(1)):
        assert not torch.allclose(run(), output, atol=1e-3)
    assert torch.backends.mha.get_fastpath_enabled() == is_fast
    assert torch.equal(run(), untouched)


def test_names_show_multi_head_attention_that_returns_its_weights() -> None:
    module = nn.MultiheadAttention(8, 2, batch_first=True).eval()

    def run() -> Tensor:
        return module(STATES, STATES, STATES, PAD, average_attn_weights=False)[1]

    (site,), weights = shown_by(NameRoute(module), run)
    assert torch.equal(site.weights, weights)
    assert site.values is not None
    mixed = (site.weights @ site.values).transpose(1, 2).reshape(2, 6, 8)
    output = module(STATES, STATES, STATES, PAD)[0]
    assert torch.allclose(module.out_proj(mixed), output, atol=1e-6)


def test_torch_is_itself_after_an_error_of_a_handler() -> None:
    module = encoder()
    names = [(nn.functional, "softmax"), (torch, "bmm")]
    names.append((nn.functional, "scaled_dot_product_attention"))
    before = [getattr(owner, name) for owner, name in names]
    by_hand = Mixture()
    for route in (NameRoute(module), FunctionRoute(by_hand)):
        with pytest.raises(ZeroDivisionError), route.opened(lambda site: 1 // 0):
            route.model(STATES)
    assert [getattr(owner, name) for owner, name in names] == before
    assert torch.backends.mha.get_fastpath_enabled()
    parts = [*module.modules(), *by_hand.modules()]
    assert not any(part._forward_hooks or part._forward_pre_hooks for part in parts)


def test_no_route_to_what_has_no_attention() -> None:
    def check(route: Route) -> None:
        if not shown_by(route, lambda: module(STATES))[0]:
            raise NoAttentionError(f"none by {route.name}")

    module = nn.Linear(8, 8)
    with raises("model.no-attention"):
        choose_route(module, check)

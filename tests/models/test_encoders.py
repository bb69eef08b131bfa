"""Each encoder against itself, one document at a time, where there is no padding to go wrong."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from support.internals import (
    Recurrent,
    Reverse,
    make_encoder,
    reversal,
    sinusoids,
)
from verax.models import ModelOptions

LENGTHS = torch.tensor([3, 7, 1, 5])
NAMES = ("bilstm", "bigru", "conv", "mlp", "none", "transformer")


def padded(lengths: torch.Tensor, size: int, width: int | None = None) -> tuple[torch.Tensor, ...]:
    torch.manual_seed(1)
    width = width or int(lengths.max())
    inputs = torch.randn(len(lengths), width, size, dtype=torch.float64)
    return inputs, torch.arange(width) < lengths[:, None]


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_padding_changes_no_state(name: str, layers: int) -> None:
    if name in ("conv", "mlp", "none") and layers > 1:
        layers = 1
    options = ModelOptions(encoder=name, hidden_size=8, layers=layers, heads=2).resolved(2)
    encoder = make_encoder(name, 6, options).double()
    inputs, mask = padded(LENGTHS, 6, width=9)
    states = encoder(inputs, mask, LENGTHS)
    assert (states[~mask] == 0).all()
    for row, length in enumerate(LENGTHS.tolist()):
        alone = encoder(
            inputs[row : row + 1, :length],
            torch.ones(1, length, dtype=torch.bool),
            LENGTHS[row : row + 1],
        )
        torch.testing.assert_close(states[row, :length], alone[0])


@pytest.mark.parametrize("name", NAMES)
def test_nothing_flows_back_into_padding_or_another_document(name: str) -> None:
    options = ModelOptions(encoder=name, hidden_size=8, heads=2).resolved(2)
    encoder = make_encoder(name, 6, options).double()
    inputs, mask = padded(LENGTHS, 6)
    inputs.requires_grad_()
    encoder(inputs, mask, LENGTHS)[1].square().sum().backward()
    assert inputs.grad is not None
    assert (inputs.grad[[0, 2, 3]] == 0).all()
    assert (inputs.grad[1] != 0).any(-1).all()


def torch_twin(encoder: Recurrent, cell: str, layers: int) -> nn.LSTM | nn.GRU:
    """torch's own bidirectional module with the same weights."""
    kind = {"bilstm": nn.LSTM, "bigru": nn.GRU}[cell]
    twin = kind(6, 4, num_layers=layers, batch_first=True, bidirectional=True).double()
    ways = (("", encoder.forwards), ("_reverse", encoder.backwards))
    twin.load_state_dict(
        {
            f"{name.removesuffix('0')}{layer}{suffix}": value
            for suffix, modules in ways
            for layer, module in enumerate(modules)
            for name, value in module.state_dict().items()
        }
    )
    return twin


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("cell", ["bilstm", "bigru"])
def test_turning_documents_round_equals_torch_over_packed_sequences(cell: str, layers: int) -> None:
    options = ModelOptions(encoder=cell, hidden_size=8, layers=layers).resolved(2)
    encoder = make_encoder(cell, 6, options).double()
    assert isinstance(encoder, Recurrent)
    twin = torch_twin(encoder, cell, layers)
    inputs, mask = padded(LENGTHS, 6)
    packed = pack_padded_sequence(inputs, LENGTHS, batch_first=True, enforce_sorted=False)
    expected, _ = pad_packed_sequence(twin(packed)[0], batch_first=True)
    states = encoder(inputs, mask, LENGTHS)
    torch.testing.assert_close(states, expected)
    states.square().sum().backward()
    expected.square().sum().backward()
    theirs = dict(twin.named_parameters())
    for suffix, modules in (("", encoder.forwards), ("_reverse", encoder.backwards)):
        for layer, module in enumerate(modules):
            for name, parameter in module.named_parameters():
                twin_grad = theirs[f"{name.removesuffix('0')}{layer}{suffix}"].grad
                assert twin_grad is not None
                torch.testing.assert_close(parameter.grad, twin_grad)


@pytest.mark.slow
def test_reversing_is_its_own_inverse_and_has_true_gradients() -> None:
    order = reversal(torch.arange(7) < LENGTHS.unsqueeze(-1))
    values = torch.randn(7, 4, 2, dtype=torch.float64, requires_grad=True)
    turned = Reverse.apply(values, order)
    for document, length in enumerate(LENGTHS.tolist()):
        assert turned[:length, document].equal(values[:length, document].flip(0))
        assert turned[length:, document].equal(values[length:, document])
    assert Reverse.apply(turned, order).equal(values)
    for check in (torch.autograd.gradcheck, torch.autograd.gradgradcheck):
        assert check(lambda v: Reverse.apply(v, order), values)


@pytest.mark.parametrize("name", ["transformer", "transformer-prenorm"])
def test_transformer_layer_equals_torch(name: str) -> None:
    """One ReLU layer of torch.nn with the same weights, without dropout."""
    sizes: dict[str, Any] = {"hidden_size": 8, "layers": 1, "heads": 2, "feedforward_size": 16}
    ours = make_encoder(name, 8, ModelOptions(encoder=name, **sizes).resolved(2)).double()
    theirs = nn.TransformerEncoderLayer(
        *(8, 2),
        dim_feedforward=16,
        dropout=0.0,
        batch_first=True,
        norm_first=name == "transformer-prenorm",
        dtype=torch.float64,
    )
    layer = ours.get_submodule("layers.0")
    names = {
        "self_attn.in_proj_weight": "project_in.weight",
        "self_attn.in_proj_bias": "project_in.bias",
        "self_attn.out_proj.weight": "project_out.weight",
        "self_attn.out_proj.bias": "project_out.bias",
        "linear1.weight": "widen.weight",
        "linear1.bias": "widen.bias",
        "linear2.weight": "narrow.weight",
        "linear2.bias": "narrow.bias",
        "norm1.weight": "norm_attention.weight",
        "norm1.bias": "norm_attention.bias",
        "norm2.weight": "norm_feedforward.weight",
        "norm2.bias": "norm_feedforward.bias",
    }
    values = layer.state_dict()
    theirs.load_state_dict({name: values[mine] for name, mine in names.items()})
    inputs, mask = padded(LENGTHS, 8)
    positions = sinusoids(inputs.shape[1], 8, inputs.device)
    expected = theirs(inputs * 8**0.5 + positions, src_key_padding_mask=~mask) * mask.unsqueeze(-1)
    torch.testing.assert_close(ours(inputs, mask, LENGTHS), expected)


def test_sinusoids_are_the_published_ones() -> None:
    """PE(pos, 2i) = sin(pos / 10000^(2i/d)), PE(pos, 2i+1) = cos of the same."""
    found = sinusoids(50, 10, torch.device("cpu"))
    for position in (0, 1, 49):
        for i in range(5):
            angle = torch.tensor(position / 10_000 ** (2 * i / 10))
            torch.testing.assert_close(found[position, 2 * i], angle.sin(), atol=2e-6, rtol=0)
            torch.testing.assert_close(found[position, 2 * i + 1], angle.cos(), atol=2e-6, rtol=0)


def test_convolution_is_two_widths_side_by_side() -> None:
    """By hand: with all weights one and no bias, a state is the sum of 3 (or 5) neighbours."""
    options = ModelOptions(encoder="conv", hidden_size=2).resolved(2)
    encoder = make_encoder("conv", 1, options)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.fill_(1.0 if parameter.ndim > 1 else 0.0)
    inputs = torch.tensor([[[1.0], [2.0], [3.0], [4.0], [9.0]]])
    mask = torch.tensor([[True, True, True, True, False]])
    states = encoder(inputs, mask, torch.tensor([4]))
    assert states[0].tolist() == [[3, 6], [6, 10], [9, 10], [7, 9], [0, 0]]


def test_mlp_is_a_tanh_of_each_word_by_itself() -> None:
    encoder = make_encoder("mlp", 6, ModelOptions(encoder="mlp", hidden_size=5).resolved(2))
    inputs, mask = padded(LENGTHS, 6)
    inputs = inputs.float()
    states = encoder(inputs, mask, LENGTHS)
    weight, bias = encoder.state_dict().values()
    for row, length in enumerate(LENGTHS.tolist()):
        for place in range(length):
            expected = torch.tanh(weight @ inputs[row, place] + bias)
            torch.testing.assert_close(states[row, place], expected)
    xavier = ModelOptions(encoder="mlp", hidden_size=90, initialisation="xavier").resolved(2)
    weight, bias = make_encoder("mlp", 60, xavier).state_dict().values()
    assert 0.95 * (6 / 150) ** 0.5 < weight.abs().max() <= (6 / 150) ** 0.5
    assert (bias == 0).all()


def test_xavier_initialisation_is_serrano_and_smiths() -> None:
    options = ModelOptions(encoder="bigru", hidden_size=20, initialisation="xavier").resolved(2)
    encoder = make_encoder("bigru", 12, options)
    assert isinstance(encoder, Recurrent)
    onward, back = encoder.forwards[0], encoder.backwards[0]
    assert isinstance(onward, nn.GRU)
    assert isinstance(back, nn.GRU)
    recurrent = onward.weight_hh_l0
    torch.testing.assert_close(recurrent.T @ recurrent, torch.eye(10), atol=1e-5, rtol=0)
    assert (onward.bias_hh_l0 == 0).all()
    assert (back.bias_ih_l0 == 0).all()
    bound = (6 / (12 + 30)) ** 0.5
    largest = onward.weight_ih_l0.abs().max()
    assert 0.9 * bound < largest <= bound

"""The influence matrix against the whole Jacobian."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch.autograd.functional import jacobian

import verax
from support.internals import (
    ADJOINT_MANY,
    Targets,
    backward,
)
from support.internals import (
    jacobian_local as local,
)
from support.internals import (
    jacobian_recurrent as recurrent,
)
from verax.importance import influence, influences
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]
TEXTS = [
    ["w1", "w2", "w3"],
    ["w4"],
    ["good0_3", "w5", ".", "w3"],
    ["w7", "w7", "w8", "w1", "w3", ".", "w4", "w5", "."],
    ["w9", "w2", "w6"],
]
SLOTS = [
    {"encoder": encoder, "hierarchical": hierarchical, **more}
    for encoder in ("bilstm", "bigru", "conv", "mlp", "none", "transformer")
    for hierarchical in (False, True)
    for more in ({}, {"grounding": "concat"}, {"grounding": "residual"})
]
LAYERS = [{"encoder": encoder, "layers": 2} for encoder in ("bilstm", "bigru")]
CASES = [*SLOTS, *LAYERS]


def _names(slot: dict[str, object]) -> str:
    return "-".join(str(value) for value in slot.values())


@pytest.fixture(scope="module")
def own_jacobian(
    request: pytest.FixtureRequest, make_model: Make
) -> tuple[int, AttentionClassifier, verax.Trace, torch.Tensor]:
    """Which slot, its model, the trace, and all of ∂h_p/∂x_i: the slow part, made once for a slot.

    A document's items have no gradient on another's words: those of the sum over documents are
    each one's own.
    """
    model = make_model(3, hidden_size=4, embedding_size=4, heads=2, **CASES[request.param])
    trace = model.trace(TEXTS)
    whole = jacobian(lambda x: model.encode_states(trace.batch, x)[1].sum(0), trace.embedded)
    return request.param, model, trace, whole.permute(2, 0, 1, 3, 4)


def _expected(trace: verax.Trace, own: torch.Tensor, kind: str) -> torch.Tensor:
    """(batch, items, tokens) of ∂h_p/∂x_i."""
    if kind == "frobenius":
        found = own.square().sum((2, 4)).sqrt()
    else:
        norms = torch.linalg.vector_norm(trace.items, dim=-1, keepdim=True)
        units = trace.items / norms.clamp(min=1e-30)
        found = torch.einsum("bis,biste->bite", units, own).norm(dim=-1)
    return found * trace.mask.unsqueeze(-1) * trace.token_mask.unsqueeze(1)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["norm", "frobenius"])
@pytest.mark.parametrize(
    "own_jacobian", range(len(CASES)), ids=lambda place: _names(CASES[place]), indirect=True
)
def test_influence_is_the_jacobians(
    own_jacobian: tuple[int, AttentionClassifier, verax.Trace, torch.Tensor], kind: str
) -> None:
    """Every slot with both kinds and, one each, in one go and in parts; by turns, so that every
    encoder has all four."""
    place, model, trace, own = own_jacobian
    max_tokens = (16_384, 64)[(place + (kind == "norm")) % 2]
    expected = _expected(trace, own, kind)
    found = influence(model, trace, kind=kind, boundaries=True, max_tokens=max_tokens)
    torch.testing.assert_close(found.matrix, expected, rtol=1e-4, atol=2e-6)
    inside = influence(model, trace, kind=kind, max_tokens=max_tokens).matrix
    assert torch.equal(inside, found.matrix * trace.batch.words.unsqueeze(1))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["norm", "frobenius"])
@pytest.mark.parametrize("slot", [*SLOTS[::3], *LAYERS], ids=_names)
def test_a_sample_has_the_same_numbers(
    make_model: Make, slot: dict[str, object], kind: str
) -> None:
    model = make_model(3, **slot)
    trace = model.trace(TEXTS)
    whole = influence(model, trace, kind=kind).matrix
    some = influence(model, trace, kind=kind, positions=2, seed=3)
    assert (some.mask.sum(-1) == trace.mask.sum(-1).clamp(max=2)).all()
    for row in range(len(trace)):
        items = some.positions[row][some.mask[row]]
        assert trace.mask[row][items].all()
        assert len(set(items.tolist())) == len(items)
        assert items.tolist() == sorted(items.tolist())
        torch.testing.assert_close(
            some.matrix[row][some.mask[row]], whole[row, items], rtol=1e-4, atol=1e-6
        )
    assert (some.matrix[~some.mask] == 0).all()


def test_the_sample_is_of_the_document_and_the_seed(make_model: Make) -> None:
    model = make_model()
    encoded = model.encode(TEXTS)
    together = model.trace(encoded.batch(np.arange(5), model.device))
    alone = model.trace(encoded.batch(np.array([3]), model.device))
    drawn = Targets.of(together, 3, seed=1)
    assert torch.equal(drawn.items[3], Targets.of(alone, 3, seed=1).items[0])
    others = [Targets.of(together, 3, seed).items[3].tolist() for seed in range(20)]
    assert len({tuple(items) for items in others}) > 5


def test_the_short_ways_are_taken(make_model: Make) -> None:
    assert recurrent.fits(make_model(encoder="bilstm"))
    assert recurrent.fits(make_model(encoder="bigru"))
    assert local.fits(make_model(encoder="conv"))
    assert local.fits(make_model(encoder="none"))
    assert local.fits(make_model(encoder="mlp"))
    for slot in [{"encoder": "transformer"}, *LAYERS]:
        model = make_model(**slot)
        assert not recurrent.fits(model)
        assert not local.fits(model)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["norm", "frobenius"])
@pytest.mark.parametrize("encoder", ["bilstm", "bigru", "conv"])
def test_a_backward_pass_a_target_says_the_same(make_model: Make, encoder: str, kind: str) -> None:
    model = make_model(encoder=encoder)
    trace = model.trace(TEXTS)
    targets = Targets.of(trace, None, 0)
    expected = influence(model, trace, kind=kind, boundaries=True).matrix
    for rows, block, matrix in backward.pieces(model, trace, targets, kind, 100):
        there = targets.mask[rows][:, block].unsqueeze(-1)
        torch.testing.assert_close(matrix * there, expected[rows][:, block], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("encoder", ["bilstm", "conv", "transformer"])
def test_pieces_cover_everything_once(make_model: Make, encoder: str) -> None:
    model = make_model(encoder=encoder)
    trace = model.trace(TEXTS)
    targets = Targets.of(trace, None, 0)
    seen = torch.zeros(targets.items.shape, dtype=torch.long)
    for rows, block, _ in influences(model, trace, targets, "norm", max_tokens=40):
        seen[rows.unsqueeze(-1), block] += 1
    assert (seen[targets.mask] == 1).all()


@pytest.mark.parametrize("many", [1, 10**9])
@pytest.mark.parametrize("kind", ["norm", "frobenius"])
@pytest.mark.parametrize(
    "own_jacobian", [0, 6], ids=lambda place: _names(CASES[place]), indirect=True
)
def test_a_document_alone_goes_through_weights_of_its_own(
    own_jacobian: tuple[int, AttentionClassifier, verax.Trace, torch.Tensor],
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    many: int,
) -> None:
    """Recurrent; of TEXTS two have one length, the others are alone."""
    monkeypatch.setattr(ADJOINT_MANY, many)
    _, model, trace, own = own_jacobian
    assert recurrent.fits(model)
    found = influence(model, trace, kind=kind, boundaries=True)
    torch.testing.assert_close(found.matrix, _expected(trace, own, kind), rtol=1e-4, atol=2e-6)

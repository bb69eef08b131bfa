"""Influence through one recurrent layer: all targets walk back together."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from verax.budget import NUMBERS, rows_within
from verax.importance.jacobian.adjoint import GruAdjoint, LstmAdjoint, adjoint_of
from verax.importance.jacobian.targets import Piece, Targets, at
from verax.importance.recurrence import EVERY, LONG, TOGETHER
from verax.importance.similar_length import LengthGroup, alike
from verax.models.encoders import Recurrent, has_one_layer
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.time_limit import check_time

_TOKENS_PER_ROW = 8
_FADED = 1e-12
"""Of a target's largest influence: what is left below it has faded."""

Adjoint = LstmAdjoint | GruAdjoint


def fits(model: PooledClassifier) -> bool:
    return has_one_layer(model.encoder)


def pieces(
    model: PooledClassifier,
    trace: Trace,
    targets: Targets,
    kind: str,
    max_tokens: int,
    boundaries: bool,
) -> Iterator[Piece]:
    """See `Piece`. Of the Frobenius norm, a target has a row for each dimension."""
    encoder = model.encoder
    assert isinstance(encoder, Recurrent)
    longest = int(trace.batch.lengths.max())
    most = rows_within(max_tokens, _TOKENS_PER_ROW, longest)
    each = 1 if kind == "norm" else encoder.output_size // 2
    for group in alike(model, trace, max(1, most // each)):
        mask = targets.mask[group.rows]
        wanted = mask.any(0).nonzero().squeeze(-1)
        find = _norms if kind == "norm" else _frobenius
        end = 0 if boundaries else group.first
        rows = max(1, most // (each * len(group.rows)))
        if group.words > LONG:  # few rows have room for numbers of all their words
            rows = max(rows, min(TOGETHER, NUMBERS // group.length) // each, 1)
        walks = _Walks(encoder, group, rows * each)
        for block in wanted.split(rows):
            places = targets.items[group.rows][:, block]
            squares = find(model, group, places, end, walks)
            yield Piece(group.rows, block, squares.clamp(min=0).sqrt())


def _norms(
    model: PooledClassifier, group: LengthGroup, places: Tensor, end: int, walks: _Walks
) -> Tensor:
    """Squares of ‖∂‖h_p‖/∂x_t‖, (documents, targets, length)."""
    encoder = model.encoder
    assert isinstance(encoder, Recurrent)
    size = encoder.output_size // 2
    states = at(group.states, places)
    units = states / torch.linalg.vector_norm(states, dim=-1, keepdim=True).clamp(min=1e-30)
    word_part = {"concat": units[..., 2 * size :], "residual": units}.get(model.grounding)
    total = group.states.new_zeros(*places.shape, group.length)
    vectors = torch.zeros_like(at(group.embedded, places)) if word_part is None else word_part
    for turned in (0, 1):
        half = units[..., turned * size : (turned + 1) * size]
        squares, here = walks.back(places, half, bool(turned), end)
        total += squares
        vectors = vectors + here
    return total.scatter(-1, places.unsqueeze(-1), vectors.square().sum(-1, keepdim=True))


def _frobenius(
    model: PooledClassifier, group: LengthGroup, places: Tensor, end: int, walks: _Walks
) -> Tensor:
    """Squares of ‖∂h_p/∂x_t‖_F, (documents, targets, length)."""
    encoder = model.encoder
    assert isinstance(encoder, Recurrent)
    size = encoder.output_size // 2
    grounding = model.grounding
    every = torch.eye(size, device=places.device, dtype=group.states.dtype)
    rows = places.repeat_interleave(size, dim=1)
    units = every.repeat(places.shape[1], 1).expand(len(places), -1, -1)
    total = group.states.new_zeros(*places.shape, group.length)
    diagonal = group.states.new_zeros(*places.shape, 1)
    for turned in (0, 1):
        squares, here = walks.back(rows, units, bool(turned), end)
        total += squares.unflatten(1, (-1, size)).sum(2)
        here = here.unflatten(1, (-1, size))
        if grounding == "residual":
            here[..., turned * size : (turned + 1) * size] += every
        diagonal += here.square().sum((-1, -2)).unsqueeze(-1)
    if grounding == "concat":
        diagonal += group.embedded.shape[-1]
    return total.scatter(-1, places.unsqueeze(-1), diagonal)


class _Walks:
    """Both directions of a layer over some documents, to be walked back over.

    Args:
        encoder: the layer.
        group: the documents.
        rows: the most targets that walk together.
    """

    def __init__(self, encoder: Recurrent, group: LengthGroup, rows: int) -> None:
        self._modules = (encoder.forwards[0], encoder.backwards[0])
        self._group, self._rows = group, rows
        self._kept: dict[bool, Adjoint] = {}

    def _adjoint(self, turned: bool, inputs: Tensor, rows: int) -> Adjoint:
        """A long text is read once for all of its targets, another one for each block."""
        if self._group.words <= LONG:
            return adjoint_of(self._modules[turned], inputs, rows)
        if turned not in self._kept:
            self._kept[turned] = adjoint_of(self._modules[turned], inputs, self._rows)
        self._kept[turned].restart()
        return self._kept[turned]

    def back(self, places: Tensor, units: Tensor, turned: bool, end: int) -> tuple[Tensor, Tensor]:
        """Gradients of u · h_p through one direction.

        places  (documents, rows) long: p
        units   (documents, rows, size): u
        end     the last step walked back over, in the order this direction reads
        Gives squared norms at every t, (documents, rows, length), and at t = p the gradient itself,
        (documents, rows, input size).
        """
        group = self._group
        inputs = group.embedded.transpose(0, 1)
        if turned:
            inputs, places = inputs.flip(0), group.length - 1 - places
        order = places.argsort(dim=1, descending=True, stable=True)
        sorted_places = places.gather(1, order).T
        sorted_units = units.gather(1, order.unsqueeze(-1).expand_as(units)).transpose(0, 1)
        rows, documents = sorted_places.shape
        adjoint = self._adjoint(turned, inputs, rows)
        squares = inputs.new_zeros(group.length, rows, documents)
        here = inputs.new_zeros(rows, documents, inputs.shape[-1])
        # how many rows of any document, and of all, have begun by each step
        begun = (sorted_places.unsqueeze(0) >= _steps(group.length + 1, places)).sum(1)
        most, least = begun.amax(-1).tolist(), begun.amin(-1).tolist()
        fading = _Fading(group.words > LONG, squares, adjoint)
        for t in reversed(range(end, group.length)):
            k, first = most[t], least[t + 1]
            if not k:
                continue
            if first < k:
                now = (sorted_places[first:k] == t).unsqueeze(-1)
                fresh = torch.where(now, sorted_units[first:k], adjoint.hidden[first:k])
                adjoint.hidden[first:k] = fresh
            vectors = adjoint.back(k, t)
            squares[t, :k] = torch.linalg.vector_norm(vectors, dim=-1)
            if first < k:
                here[first:k] = torch.where(now, vectors[first:k], here[first:k])
            if t % EVERY == 0 and fading.is_over(t, all_begun=least[t] == rows):
                break
        squares = squares.square_().flip(0) if turned else squares.square_()
        back = order.argsort(dim=1)
        if documents == 1:  # whole rows, which lie together
            ordered = squares.index_select(1, back[0]), here.index_select(0, back[0])
            return ordered[0].permute(2, 1, 0), ordered[1].transpose(0, 1)
        norms, here = squares.permute(2, 1, 0), here.transpose(0, 1)
        back = back.unsqueeze(-1)
        return norms.gather(1, back.expand_as(norms)), here.gather(1, back.expand_as(here))


class _Fading:
    """Whether what targets carry back is next to nothing beside their largest influence.

    Args:
        asked: whether it may end early: of texts that are not long all is computed.
        norms: (length, rows, documents), filled from the last step on.
        adjoint: what carries.
    """

    def __init__(self, asked: bool, norms: Tensor, adjoint: Adjoint) -> None:
        self._asked, self._norms, self._adjoint = asked, norms, adjoint
        self._largest = norms.new_zeros(norms.shape[1:])

    def is_over(self, t: int, all_begun: bool) -> bool:
        """Asked every few steps, once step t has been walked over."""
        check_time()
        if not self._asked:
            return False
        recent = self._norms[t : t + EVERY].amax(0)
        self._largest = torch.maximum(self._largest, recent)
        if not all_begun:
            return False
        return bool((self._adjoint.size_of(len(recent)) <= _FADED * self._largest).all())


def _steps(many: int, like: Tensor) -> Tensor:
    return torch.arange(many, device=like.device).view(-1, 1, 1)

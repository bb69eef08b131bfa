"""A small Transformer encoder."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar, Self

import torch
from torch import Tensor, nn
from torch.nn import functional

from verax.errors import VeraxError
from verax.models.encoders.base import Encoder, register_encoder
from verax.models.hashed_dropout import HashedDropout
from verax.time_limit import check_time, is_limited

if TYPE_CHECKING:
    from verax.models.options import ModelOptions

_PLACE = 201
_SCORES, _FEWEST = 2**26, 256
"""Scores of words by words that are computed at once, and queries there are at least in a part."""


@register_encoder("transformer")
class Transformer(Encoder):
    """Post-norm self-attention layers over word vectors plus sinusoidal positions.

    Meister et al. give no sizes; defaults are 2 layers, 4 heads, a feed-forward layer of twice the
    width, dropout 0.1 on each sublayer's output and inside the feed-forward. Word vectors are
    scaled by √size, as in Vaswani et al. (2017), or the positions would drown them, and so are
    sentences, which are means of words; those of another size go through one linear map first.
    Self-attention is always softmax: the projection under study is the one that pools.
    """

    default_layers = 2
    default_dropout = 0.1
    replayable = True
    training_cost = 2.2
    norms_first: ClassVar[bool] = False

    def __init__(
        self,
        input_size: int,
        output_size: int,
        layers: int,
        heads: int,
        feedforward_size: int,
        dropout: float,
    ) -> None:
        super().__init__()
        same = input_size == output_size
        self.enter = nn.Identity() if same else nn.Linear(input_size, output_size)
        self.layers = nn.ModuleList(
            TransformerLayer(
                *(output_size, heads, feedforward_size, dropout, _PLACE + 10 * i), self.norms_first
            )
            for i in range(layers)
        )
        self.dropout = dropout
        self.output_size = output_size

    @classmethod
    def make(cls, input_size: int, options: ModelOptions) -> Self:
        size = options.hidden_size
        inner = options.feedforward_size or 2 * size
        layers, dropout = options.layers_of(cls), options.dropout_of(cls)
        return cls(input_size, size, layers, options.heads, inner, dropout)

    @classmethod
    def refuse(cls, options: ModelOptions) -> None:
        if options.hidden_size % options.heads:
            raise VeraxError(
                f"hidden_size ({options.hidden_size}) must be a multiple of heads "
                f"({options.heads})",
                options=["hidden_size", "heads"],
                code="option.conflict",
            )

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        states = self.enter(inputs) * math.sqrt(self.output_size)
        states = states + sinusoids(inputs.shape[1], self.output_size, states.device).to(states)
        if noise is not None:
            states = noise.dropout(states, self.dropout, _PLACE - 1)
        for layer in self.layers:
            states = layer(states, mask, noise)
        return states * mask.unsqueeze(-1)


@register_encoder("transformer-prenorm")
class PrenormTransformer(Transformer):
    """As `Transformer`, but each sublayer's input is normed, and nothing after the last one.

    A post-norm encoder ends in a LayerNorm, so that its states have nearly one magnitude. Here it
    is free.
    """

    norms_first = True


class TransformerLayer(nn.Module):
    """Self-attention, then two linear maps around a ReLU; each is added to its input.

    The sum is normed, or with `norms_first` the input alone.
    """

    def __init__(
        self,
        size: int,
        heads: int,
        feedforward_size: int,
        dropout: float,
        place: int,
        norms_first: bool = False,
    ) -> None:
        super().__init__()
        self.norms_first = norms_first
        self.heads = heads
        self.dropout = dropout
        self.place = place
        self.project_in = nn.Linear(size, 3 * size)
        self.project_out = nn.Linear(size, size)
        self.widen = nn.Linear(size, feedforward_size)
        self.narrow = nn.Linear(feedforward_size, size)
        self.norm_attention = nn.LayerNorm(size)
        self.norm_feedforward = nn.LayerNorm(size)
        nn.init.xavier_uniform_(self.project_in.weight)
        nn.init.zeros_(self.project_in.bias)
        nn.init.zeros_(self.project_out.bias)

    def forward(self, states: Tensor, mask: Tensor, noise: HashedDropout | None) -> Tensor:
        if self.norms_first:
            states = states + self._attended(self.norm_attention(states), mask, noise)
            return states + self._fed_forward(self.norm_feedforward(states), noise)
        states = self.norm_attention(states + self._attended(states, mask, noise))
        return self.norm_feedforward(states + self._fed_forward(states, noise))

    def _attended(self, states: Tensor, mask: Tensor, noise: HashedDropout | None) -> Tensor:
        attended = self._attend(states, mask, in_parts=noise is None)
        return self._drop(self.project_out(attended), noise, 0)

    def _fed_forward(self, states: Tensor, noise: HashedDropout | None) -> Tensor:
        inner = self._drop(self.widen(states).relu(), noise, 1)
        return self._drop(self.narrow(inner), noise, 2)

    def _attend(self, states: Tensor, mask: Tensor, in_parts: bool) -> Tensor:
        batch, positions, size = states.shape
        heads = self.project_in(states).view(batch, positions, 3, self.heads, -1)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        # an empty row reads itself, so that it stays finite; the encoder zeroes it afterwards
        readable = mask | ~mask.any(-1, keepdim=True)
        most = _queries_at_once(batch * self.heads, positions) if in_parts else positions
        parts = []
        for part in query.split(max(1, most), dim=2):
            check_time()
            parts.append(
                functional.scaled_dot_product_attention(
                    part, key, value, attn_mask=readable[:, None, None, :]
                )
            )
            if is_limited() and parts[-1].requires_grad:
                parts[-1].register_hook(_check_time_on_the_way_back)
        attended = parts[0] if len(parts) == 1 else torch.cat(parts, dim=2)
        return attended.transpose(1, 2).reshape(batch, positions, size)

    def _drop(self, values: Tensor, noise: HashedDropout | None, place: int) -> Tensor:
        return values if noise is None else noise.dropout(values, self.dropout, self.place + place)


def _queries_at_once(rows: int, positions: int) -> int:
    """How many queries are read together, so that a limit of time can break off a long text.

    Every query reads all words, so parts change nothing but the rounding of gradients.

    >>> _queries_at_once(rows=4, positions=1000), _queries_at_once(rows=4, positions=20_000)
    (1000, 768)
    """
    most = _SCORES // max(1, rows * positions)
    return positions if most >= positions else max(_FEWEST, most // _FEWEST * _FEWEST)


def _check_time_on_the_way_back(gradient: Tensor) -> None:
    check_time()


def sinusoids(positions: int, size: int, device: torch.device) -> Tensor:
    """(positions, size): sine on even features and cosine on odd, wavelengths 2π to 10,000·2π."""
    rates = torch.exp(torch.arange(0, size, 2, device=device) * (-math.log(10_000.0) / size))
    angles = torch.arange(positions, device=device).unsqueeze(-1) * rates
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(1)[:, :size]

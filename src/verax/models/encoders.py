"""What makes items of embedded words: encoders, by name."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from verax.errors import VeraxError
from verax.models.layers import HashedDropout
from verax.plugins import Registry
from verax.time_limit import check_time, is_limited

if TYPE_CHECKING:
    from verax.models.options import ModelOptions

_CONVOLUTION = 101
_TRANSFORMER = 201
_SCORES, _FEWEST = 2**26, 256
"""Scores of words by words that are computed at once, and queries there are at least in a part."""
ENCODER_OPTIONS = ("hidden_size", "layers", "heads", "feedforward_size", "dropout_encoder")
"""The options of a model that are its encoder's alone."""


class Encoder(nn.Module, ABC):
    """Map embedded words to states, one per position; the base class of encoders.

    An encoder is made by `cls(input_size, options)`, with resolved options.

    inputs   (batch, positions, input size)
    mask     (batch, positions) bool, True where there is something to read
    lengths  (batch,) long: True positions of each row, which stand first. On CPU, but in the
             replayed steps of a `replayable` encoder, which has them on the device of the inputs
    returns  (batch, positions, output size), zero beyond the end

    Verax reads everything it needs to know from class attributes. Their defaults are correct for
    any encoder, though not the fastest:

    uses             which of `ENCODER_OPTIONS` it uses; the others have no effect on it
    default_layers   its layers unless option `layers` is set
    default_dropout  its dropout unless option `dropout_encoder` is set
    is_identity      whether a state is its word's embedding itself
    reach            how many words to either side a state depends on: 0 for its own word only, None
                     if unbounded
    replayable       whether a training step can be captured on a GPU and replayed: `forward` asks
                     the device for no value, so it cannot know lengths on the CPU
    training_cost    the training time per token, relative to a BiLSTM

    A subclass that overrides `forward` must declare `reach` and `replayable` again: the values of
    its parent need not hold.
    """

    output_size: int

    uses: ClassVar[frozenset[str]] = frozenset(ENCODER_OPTIONS)
    default_layers: ClassVar[int] = 1
    default_dropout: ClassVar[float] = 0.0
    is_identity: ClassVar[bool] = False
    reach: ClassVar[int | None] = None
    replayable: ClassVar[bool] = False
    training_cost: ClassVar[float] = 1.0

    def __init_subclass__(cls, **settings: Any) -> None:
        super().__init_subclass__(**settings)
        if "forward" in vars(cls):
            for name in ("is_identity", "reach", "replayable"):
                if name not in vars(cls):
                    setattr(cls, name, getattr(Encoder, name))

    @classmethod
    def width(cls, input_size: int, options: ModelOptions) -> int:
        """The `output_size` that it will have, known before anything is made."""
        return options.hidden_size if "hidden_size" in cls.uses else input_size

    @classmethod
    def refuse(cls, options: ModelOptions) -> None:
        """Raise a `VeraxError` for resolved options that it cannot be made with."""

    @abstractmethod
    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor: ...

    def initialise_xavier(self) -> None:
        """Serrano & Smith's initialisation, where an encoder has one; else PyTorch's stands."""

    def computes_as(self, kind: type[Encoder]) -> bool:
        """Whether its `forward` is that of `kind`, so that formulas for `kind` are true of it."""
        return isinstance(self, kind) and type(self).forward is kind.forward


def _refuse_odd_size(options: ModelOptions) -> None:
    """For encoders of two halves."""
    if options.hidden_size % 2:
        raise VeraxError(
            f"hidden_size is {options.hidden_size}: it must be even, for two directions or widths",
            options=["hidden_size"],
            code="option.out-of-range",
        )


E = TypeVar("E", bound=type[Encoder])

SAME = "same"
"""What the option `sentence_encoder` calls the encoder of words."""

ENCODERS: Registry[type[Encoder]] = Registry("encoder", "verax.encoders")
"""The registered encoders, by name."""


def register_encoder(name: str) -> Callable[[E], E]:
    """Register a subclass of `Encoder` under a name, so that `encoder=name` is valid everywhere.

    Args:
        name: its name in options, flags, study files and saved models.

    >>> from verax.models.encoders import Pointwise
    >>> @register_encoder("doubled")
    ... class Doubled(Pointwise):
    ...     "As `mlp`, twice as large."
    ...
    ...     reach = 0
    ...
    ...     def forward(self, inputs, mask, lengths, noise=None):
    ...         return 2 * super().forward(inputs, mask, lengths, noise)
    >>> ENCODERS["doubled"] is Doubled
    True
    >>> ENCODERS.unregister("doubled")
    """

    def register(kind: E) -> E:
        if not (isinstance(kind, type) and issubclass(kind, Encoder)):
            raise VeraxError(
                f"encoder {name!r} is {kind!r}: register a subclass of Encoder",
                code="plugin.invalid",
            )
        if name == SAME:
            raise VeraxError(
                f"encoder {name!r}: option sentence_encoder means another thing by it",
                code="plugin.invalid",
            )
        unknown = set(kind.uses) - set(ENCODER_OPTIONS)
        if unknown:
            raise VeraxError(
                f"encoder {name!r} uses {', '.join(sorted(unknown))}: an encoder's options are "
                f"{', '.join(ENCODER_OPTIONS)}",
                code="plugin.invalid",
            )
        ENCODERS.register(name, kind, f"{kind.__module__}.{kind.__qualname__}")
        return kind

    return register


def make_encoder(name: str, input_size: int, options: ModelOptions) -> Encoder:
    """The encoder called `name`, in the sizes of resolved options."""
    encoder = ENCODERS[name](input_size, options)
    if options.initialisation == "xavier":
        encoder.initialise_xavier()
    return encoder


class Recurrent(Encoder):
    """A BiLSTM or BiGRU of half the output size in each direction; no dropout between layers.

    Each direction of each layer is a `torch.nn` module of its own that runs over the padded batch,
    the backward one over documents turned round in place: padding then comes last for both, and
    changes nothing. Packed sequences would give the same states, several times slower: they take a
    step at a time on a CPU, and on a GPU a kernel for every step.
    """

    uses = frozenset({"hidden_size", "layers"})
    replayable = True
    cell: ClassVar[type[nn.LSTM | nn.GRU]] = nn.LSTM

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        size, layers = options.hidden_size, options.layers_of(type(self))
        sizes = [input_size] + [size] * (layers - 1)
        self.forwards = nn.ModuleList(self.cell(inner, size // 2) for inner in sizes)
        self.backwards = nn.ModuleList(self.cell(inner, size // 2) for inner in sizes)
        self.output_size = size

    @classmethod
    def refuse(cls, options: ModelOptions) -> None:
        _refuse_odd_size(options)

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        # nothing travels from a GPU, and a captured step has its lengths on the device
        padded = inputs.device.type != "cpu" or bool((lengths < inputs.shape[1]).any())
        order = reversal(mask)
        states = inputs
        for onward, back in zip(self.forwards, self.backwards, strict=True):
            ahead = states.transpose(0, 1).contiguous()
            turned = Reverse.apply(back(Reverse.apply(ahead, order))[0], order)
            states = torch.cat([onward(ahead)[0], turned], dim=-1).transpose(0, 1).contiguous()
        return states * mask.unsqueeze(-1) if padded else states

    def initialise_xavier(self) -> None:
        """Input weights Xavier-uniform, recurrent ones orthogonal, biases zero.

        Serrano & Smith's code also sets part of a gate's bias to one, by a helper meant for another
        cell; that slip is not repeated.
        """
        for name, parameter in self.named_parameters():
            if "weight_ih" in name:
                nn.init.xavier_uniform_(parameter)
            elif "weight_hh" in name:
                nn.init.orthogonal_(parameter)
            else:
                nn.init.zeros_(parameter)


@register_encoder("bilstm")
class BiLstm(Recurrent):
    """Encoder `bilstm`."""

    training_cost = 1.0


@register_encoder("bigru")
class BiGru(Recurrent):
    """Encoder `bigru`."""

    cell = nn.GRU
    training_cost = 1.3


def has_one_layer(encoder: Encoder) -> bool:
    """Whether it computes as one recurrent layer, which can be stepped through by its weights."""
    return (
        isinstance(encoder, Recurrent)
        and encoder.computes_as(Recurrent)
        and len(encoder.forwards) == 1
    )


def reversal(mask: Tensor) -> Tensor:
    """Where each step of (width, batch), flattened, goes when documents are reversed in place.

    Args:
        mask: (batch, width) bool, True first in each row; padding stays last.

    >>> reversal(torch.tensor([[True, True, True], [True, False, False]])).tolist()
    [4, 1, 2, 3, 0, 5]
    """
    batch, width = mask.shape
    places = torch.arange(width, device=mask.device)
    turn = torch.where(mask, mask.sum(-1, keepdim=True) - 1 - places, places)
    return (turn * batch + torch.arange(batch, device=mask.device).unsqueeze(-1)).T.reshape(-1)


class Reverse(torch.autograd.Function):
    """(width, batch, size) with the steps of each document in reverse; its own inverse.

    So its gradient is gathered, too; indexing alone would scatter it into zeros, at several times
    the cost.
    """

    @staticmethod
    def forward(ctx: Any, values: Tensor, order: Tensor) -> Tensor:
        ctx.order = order
        return values.reshape(-1, values.shape[-1]).index_select(0, order).view(values.shape)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return Reverse.apply(gradient, ctx.order), None


@register_encoder("conv")
class Convolution(Encoder):
    """ReLU of two 1-d convolutions, half the output size each, concatenated.

    Zero padding keeps the length; inputs are masked before and outputs after, so a word next to
    the end sees zeros there, never padding. Dropout of its own on the input.
    """

    uses = frozenset({"hidden_size", "dropout_encoder"})
    default_dropout = 0.3
    reach = 2
    replayable = True
    training_cost = 1.0

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.output_size = options.hidden_size
        self.narrow = nn.Conv1d(input_size, self.output_size // 2, 3, padding=1)
        self.wide = nn.Conv1d(input_size, self.output_size // 2, 5, padding=2)
        self.dropout = options.dropout_of(type(self))

    @classmethod
    def refuse(cls, options: ModelOptions) -> None:
        _refuse_odd_size(options)

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        inside = mask.unsqueeze(-1)
        if noise is not None:
            inputs = noise.dropout(inputs, self.dropout, _CONVOLUTION)
        channels = (inputs * inside).transpose(1, 2)
        states = torch.cat([self.narrow(channels), self.wide(channels)], dim=1).relu()
        return states.transpose(1, 2) * inside


@register_encoder("mlp")
class Pointwise(Encoder):
    """Encoder `mlp`: h_t = tanh(W e_t + b).

    What Wiegreffe & Pinter (2019, section 3.4) put other models' attention on, and Jain & Wallace's
    encoder "average" in their code: a state knows its own word and nothing of what stands around.
    """

    uses = frozenset({"hidden_size"})
    reach = 0
    replayable = True
    training_cost = 0.4

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.linear = nn.Linear(input_size, options.hidden_size)
        self.output_size = options.hidden_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        return self.linear(inputs).tanh() * mask.unsqueeze(-1)

    def initialise_xavier(self) -> None:
        """Weights Xavier-uniform, bias zero."""
        nn.init.xavier_uniform_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)


@register_encoder("none")
class Identity(Encoder):
    """Encoder `none`: an item is its word's vector."""

    uses = frozenset()
    is_identity = True
    reach = 0
    replayable = True
    training_cost = 0.2

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        self.output_size = input_size

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        return inputs * mask.unsqueeze(-1)


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

    def __init__(self, input_size: int, options: ModelOptions) -> None:
        super().__init__()
        size = options.hidden_size
        inner = options.feedforward_size or 2 * size
        self.output_size = size
        self.dropout = options.dropout_of(type(self))
        self.enter = nn.Identity() if input_size == size else nn.Linear(input_size, size)
        self.layers = nn.ModuleList(
            TransformerLayer(
                *(size, options.heads, inner, self.dropout, _TRANSFORMER + 10 * layer),
                self.norms_first,
            )
            for layer in range(options.layers_of(type(self)))
        )

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
            states = noise.dropout(states, self.dropout, _TRANSFORMER - 1)
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

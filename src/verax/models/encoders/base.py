"""What every encoder is, a map from embedded words to as many states; encoders by name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

from torch import Tensor, nn

from verax.errors import VeraxError
from verax.models.hashed_dropout import HashedDropout
from verax.plugins import Registry

if TYPE_CHECKING:
    from verax.models.options import ModelOptions

ENCODER_OPTIONS = ("hidden_size", "layers", "heads", "feedforward_size", "dropout_encoder")
"""The options of a model that are its encoder's alone."""


class Encoder(nn.Module, ABC):
    """Map embedded words to states, one per position; the base class of encoders.

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
    def make(cls, input_size: int, options: ModelOptions) -> Self:
        """The encoder in the sizes of resolved options.

        Here it is `cls(input_size, options)`; a class that is constructed otherwise overrides it.
        """
        return cls(input_size, options)

    @classmethod
    def width(cls, input_size: int, options: ModelOptions) -> int:
        """The `output_size` that `make` would give, known before anything is made."""
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


def refuse_odd_size(options: ModelOptions) -> None:
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

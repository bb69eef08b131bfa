"""What makes items of embedded words, by plain name."""

from __future__ import annotations

from verax.models.encoders.base import Encoder, Identity
from verax.models.encoders.convolution import Convolution
from verax.models.encoders.pointwise import Pointwise
from verax.models.encoders.recurrent import Recurrent
from verax.models.encoders.transformer import Transformer
from verax.models.options import ModelOptions


def make_encoder(name: str, input_size: int, options: ModelOptions) -> Encoder:
    """The encoder called `name`, in the sizes of resolved options."""
    layers, size = options.layers_of(name), options.hidden_size
    dropout = options.dropout_inside(name)
    encoder: Encoder
    if name in ("bilstm", "bigru"):
        encoder = Recurrent(name, input_size, size, layers)
    elif name == "conv":
        encoder = Convolution(input_size, size, dropout)
    elif name == "mlp":
        encoder = Pointwise(input_size, size)
    elif name == "transformer":
        inner = options.feedforward_size or 2 * size
        encoder = Transformer(input_size, size, layers, options.heads, inner, dropout)
    else:
        encoder = Identity(input_size)
    if options.initialisation == "xavier":
        encoder.initialise_xavier()
    return encoder


__all__ = [
    "Convolution",
    "Encoder",
    "Identity",
    "Pointwise",
    "Recurrent",
    "Transformer",
    "make_encoder",
]

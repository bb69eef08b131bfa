"""What makes items of embedded words, by plain name."""

from __future__ import annotations

from typing import TYPE_CHECKING

# In the order in which help lists them.
# isort: off
from verax.models.encoders.base import ENCODER_OPTIONS, ENCODERS, Encoder, register_encoder
from verax.models.encoders.recurrent import BiGru, BiLstm, Recurrent
from verax.models.encoders.convolution import Convolution
from verax.models.encoders.pointwise import Identity, Pointwise
from verax.models.encoders.transformer import PrenormTransformer, Transformer
# isort: on

if TYPE_CHECKING:
    from verax.models.options import ModelOptions


def make_encoder(name: str, input_size: int, options: ModelOptions) -> Encoder:
    """The encoder called `name`, in the sizes of resolved options."""
    encoder = ENCODERS[name].make(input_size, options)
    if options.initialisation == "xavier":
        encoder.initialise_xavier()
    return encoder


__all__ = [
    "ENCODERS",
    "ENCODER_OPTIONS",
    "BiGru",
    "BiLstm",
    "Convolution",
    "Encoder",
    "Identity",
    "Pointwise",
    "PrenormTransformer",
    "Recurrent",
    "Transformer",
    "make_encoder",
    "register_encoder",
]

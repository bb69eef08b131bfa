"""Kinds of models whose attention is honest, deceptive or neither, by how they are built."""

from __future__ import annotations

from dataclasses import dataclass

from verax.errors import VeraxError, nearest
from verax.training.marked import AWAY, TOWARDS

HONEST, DECEPTIVE, BETWEEN, UNIFORM = "honest", "deceptive", "between", "uniform"
"""Sides. The last two are reported and never used for limits."""
EVIDENCE, OTHERS = "evidence", "others"
"""Which words attention can read, where it cannot read all."""


@dataclass(frozen=True)
class Kind:
    """How a kind of model is built; its side follows from that, never from what an exam says.

    name       what to call it
    side       honest, deceptive, between or uniform
    encoder    what makes its states
    move       where training moves attention: towards the evidence, away from it, or nowhere
    tied       whether states are tied to their words (δ = 1)
    reads      which words attention can read, if not all: evidence or others
    frozen     whether attention stays as it was drawn
    adversary  whether it is trained to decide as a supervised model does and attend elsewhere
    projection how scores become weights
    held_out   whether limits are tested on it, and not chosen
    """

    name: str
    side: str
    encoder: str
    move: str | None = None
    tied: bool = False
    reads: str | None = None
    frozen: bool = False
    adversary: bool = False
    projection: str = "softmax"
    held_out: bool = False


KINDS = {
    kind.name: kind
    for kind in (
        # states hold their own word
        Kind("none", HONEST, "none"),
        Kind("none-supervised", HONEST, "none", TOWARDS),
        Kind("mlp-supervised", HONEST, "mlp", TOWARDS),
        Kind("mlp", HONEST, "mlp", held_out=True),
        Kind("none-sparsemax", HONEST, "none", projection="sparsemax", held_out=True),
        # states are tied to their word, and attention is supervised
        Kind("bilstm-tied", HONEST, "bilstm", TOWARDS, tied=True),
        Kind("conv-tied", HONEST, "conv", TOWARDS, tied=True),
        Kind("bigru-tied", HONEST, "bigru", TOWARDS, tied=True, held_out=True),
        # attention can read the evidence alone
        Kind("mlp-evidence", HONEST, "mlp", reads=EVIDENCE),
        Kind("none-evidence", HONEST, "none", reads=EVIDENCE, held_out=True),
        # attention is moved away from the evidence (Pruthi et al. 2020)
        Kind("bilstm-penalty", DECEPTIVE, "bilstm", AWAY),
        Kind("conv-penalty", DECEPTIVE, "conv", AWAY),
        Kind("bigru-penalty", DECEPTIVE, "bigru", AWAY, held_out=True),
        Kind("transformer-penalty", DECEPTIVE, "transformer", AWAY, held_out=True),
        # attention stays as it was drawn, and cannot read the evidence
        Kind("bilstm-frozen", DECEPTIVE, "bilstm", reads=OTHERS, frozen=True),
        Kind("bigru-frozen", DECEPTIVE, "bigru", reads=OTHERS, frozen=True, held_out=True),
        # attention is moved to a place of its own by a trained adversary
        Kind("bilstm-adversary", DECEPTIVE, "bilstm", adversary=True, held_out=True),
        # neither
        Kind("bilstm-supervised", BETWEEN, "bilstm", TOWARDS),
        Kind("bilstm", BETWEEN, "bilstm"),
        Kind("conv", BETWEEN, "conv"),
        Kind("transformer", BETWEEN, "transformer"),
        Kind("none-uniform", UNIFORM, "none", projection="uniform"),
        Kind("bilstm-uniform", UNIFORM, "bilstm", projection="uniform"),
    )
}
"""Every kind by name."""


def kind_of(name: str) -> Kind:
    """The kind of a name."""
    if name not in KINDS:
        raise VeraxError(f"no kind {name!r}: {nearest(name, KINDS)}")
    return KINDS[name]

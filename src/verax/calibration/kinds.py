"""Kinds of models whose attention is honest, deceptive or neither, by how they are built."""

from __future__ import annotations

from dataclasses import dataclass

from verax.models.kinds import POOLED
from verax.training.train import AWAY, TOWARDS

HONEST = "honest"
"""The side of models whose attention is honest by construction."""
DECEPTIVE = "deceptive"
"""The side of models whose attention deceives by construction."""
BETWEEN, UNIFORM = "between", "uniform"
"""Sides of models that are reported, and used for no threshold."""
EVIDENCE, OTHERS = "evidence", "others"
"""The words that attention can read, where it cannot read all."""


@dataclass(frozen=True)
class Kind:
    """A way to build a model, from which follows whether its attention is honest.

    Attributes:
        name: its id.
        side: honest, deceptive, between or uniform.
        encoder: the encoder of its states.
        move: where training moves attention: towards the evidence, away from it, or nowhere.
        tied: whether states are tied to their words (δ = 1).
        reads: the words that attention can read, if not all: evidence or others.
        frozen: whether attention keeps its random initialization.
        adversary: whether it is trained to decide as a supervised model and to attend elsewhere.
        projection: the projection of scores to weights.
        held_out: whether the shipped thresholds are tested on it, and not chosen on it.
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

    @property
    def family(self) -> str:
        """The kind of classifier; thresholds measured on one family do not apply to another."""
        return POOLED


KINDS: dict[str, Kind] = {
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
        # attention keeps its random initialization, and cannot read the evidence
        Kind("bilstm-frozen", DECEPTIVE, "bilstm", reads=OTHERS, frozen=True),
        Kind("bigru-frozen", DECEPTIVE, "bigru", reads=OTHERS, frozen=True, held_out=True),
        # attention is moved by a trained adversary
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
"""The kinds of pooled models by name."""

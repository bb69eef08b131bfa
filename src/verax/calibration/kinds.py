"""Kinds of models whose attention is honest, deceptive or neither, by how they are built."""

from __future__ import annotations

from dataclasses import dataclass

from verax.errors import VeraxError, nearest
from verax.models.kinds import POOLED, TRANSFORMER
from verax.training.marked import AWAY, TOWARDS

HONEST, DECEPTIVE, BETWEEN, UNIFORM = "honest", "deceptive", "between", "uniform"
"""Sides. The last two are reported and never used for limits."""
EVIDENCE, OTHERS, APART = "evidence", "others", "apart"
"""Which words attention can read, where it cannot read all. Apart: in a BERT a word reads itself
alone, and only the position that the classifier reads can read all, in the last layer."""
BERT = "bert"
"""The encoder of models of Hugging Face; all others are Verax's own."""


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
    layers     of a BERT
    every_layer whether a BERT's attention is moved in all layers, or in the last alone
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
    layers: int = 0
    every_layer: bool = False

    @property
    def family(self) -> str:
        """The kind of model (`verax.models.kinds`): limits of one say nothing of another."""
        return TRANSFORMER if self.encoder == BERT else POOLED


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
        # one layer of BERT: what the first position reads of a word is that word alone
        Kind("bert1-supervised", HONEST, BERT, TOWARDS, layers=1),
        Kind("bert1", HONEST, BERT, layers=1, held_out=True),
        # words read themselves alone, so that states hold their word, and attention is supervised
        Kind("bert2-apart", HONEST, BERT, TOWARDS, reads=APART, layers=2, held_out=True),
        # words that are no evidence cannot be read, and all that is known comes by the last layer
        Kind("bert2-evidence", HONEST, BERT, reads=EVIDENCE, layers=2),
        Kind("bert1-evidence", HONEST, BERT, reads=EVIDENCE, layers=1, held_out=True),
        # words mix in the first layer, and the first position looks away from the evidence
        Kind("bert2-penalty", DECEPTIVE, BERT, AWAY, layers=2),
        Kind("bert2-penalty-all", DECEPTIVE, BERT, AWAY, layers=2, every_layer=True, held_out=True),
        Kind("bert2-others", DECEPTIVE, BERT, reads=OTHERS, layers=2, held_out=True),
        # neither
        Kind("bert2", BETWEEN, BERT, layers=2),
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
        raise VeraxError(f"no kind {name!r}: {nearest(name, KINDS)}", code="option.unknown-value")
    return KINDS[name]

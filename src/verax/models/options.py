"""A choice for each slot of the classifier, declared once."""

from __future__ import annotations

from dataclasses import dataclass, replace

from verax.errors import VeraxError
from verax.options import option

ENCODERS = ("bilstm", "bigru", "conv", "mlp", "none", "transformer")
ALIGNMENTS = ("additive", "dot", "dot-unscaled")
PROJECTIONS = ("softmax", "sparsemax", "sparsegen", "entmax", "uniform")
DENSE = ("softmax", "uniform")
"""Those that give every item weight, whatever the scores."""
ONE_LAYER = ("conv", "mlp", "none")
GROUNDINGS = ("none", "concat", "residual", "tying", "mlm")
AUTO = "auto"
HEADS = ("auto", "softmax", "sigmoid")


@dataclass(frozen=True)
class ModelOptions:
    encoder: str = option("bilstm", "what makes items of embedded words", choices=ENCODERS)
    hierarchical: bool = option(False, "attend words within sentences, then sentences (HAN)")
    sentence_encoder: str = option(
        "same", "encoder over sentences of a hierarchical model", choices=("same", *ENCODERS)
    )
    hidden_size: int = option(
        100, "width of an item: both directions, or both filter widths, together", minimum=2
    )
    layers: int | None = option(
        None, "encoder layers (1, for a transformer 2)", minimum=1, maximum=12
    )
    heads: int = option(4, "self-attention heads of a transformer", minimum=1)
    feedforward_size: int | None = option(
        None, "inner width of a transformer layer (twice the hidden size)", minimum=1
    )
    attention: str = option("additive", "how an item is scored", choices=ALIGNMENTS)
    attention_size: int | None = option(
        None, "width of additive attention (half an item's)", minimum=1
    )
    query_init: str = option(
        "normal",
        "query of dot attention: N(0,1), or PyTorch's default",
        choices=("normal", "default"),
    )
    projection: str = option("softmax", "scores to weights", choices=PROJECTIONS)
    lam: float = option(0.0, "sparsegen: sparser towards 1, flatter towards −∞", below=1)
    alpha: float = option(1.5, "entmax: 1 is softmax, 2 is sparsemax", minimum=1)
    grounding: str = option("none", "what holds a state to its word", choices=GROUNDINGS)
    strength: float | str | None = option(
        None,
        "weight of the tying (1) or masked-LM (0.3) loss, or auto: chosen on validation",
        minimum=0,
        also=(AUTO,),
    )
    mask_probability: float = option(
        0.15, "share of words the masked LM predicts", above=0, below=1
    )
    head: str = option(
        "auto", "softmax over classes, or one sigmoid logit (auto: for two classes)", choices=HEADS
    )
    embedding_size: int = option(100, "width of word vectors, unless a file sets it", minimum=1)
    boundaries: bool | None = option(
        None, "read SOS and EOS around the text, never attended (on, unless hierarchical)"
    )
    dropout_embedding: float = option(0.0, "dropout before the word encoder", minimum=0, below=1)
    dropout_sentence: float = option(0.0, "dropout before the sentence encoder", minimum=0, below=1)
    dropout_encoder: float | None = option(
        None, "dropout inside the encoder (conv 0.3, transformer 0.1)", minimum=0, below=1
    )
    dropout_head: float = option(0.0, "dropout at the classification layer", minimum=0, below=1)
    dropout_head_on: str = option(
        "logits",
        "where that falls: logits (Serrano & Smith) or context",
        choices=("logits", "context"),
    )
    initialisation: str = option(
        "default",
        "PyTorch's, or xavier (input and output weights; orthogonal recurrence, zero biases)",
        choices=("default", "xavier"),
    )

    def resolved(self, classes: int) -> ModelOptions:
        """Every automatic choice made, and impossible combinations refused.

        But for strength auto, which takes training: `verax.train` makes that one.
        """
        strength = self.strength
        if strength is None:
            strength = {"tying": 1.0, "mlm": 0.3}.get(self.grounding, 0.0)
        options = replace(
            self,
            sentence_encoder=self.encoder
            if self.sentence_encoder == "same"
            else self.sentence_encoder,
            feedforward_size=self.feedforward_size or 2 * self.hidden_size,
            head=("sigmoid" if classes == 2 else "softmax") if self.head == "auto" else self.head,
            boundaries=not self.hierarchical if self.boundaries is None else self.boundaries,
            strength=strength,
        )
        options.refuse_the_impossible(classes)
        return options

    @property
    def grounding_weight(self) -> float:
        """The strength of resolved options, as a number."""
        if self.strength is None or isinstance(self.strength, str):
            raise VeraxError(f"strength is {self.strength!r}: it is a number once it is chosen")
        return self.strength

    @property
    def is_random(self) -> bool:
        """Whether a training step draws anything: dropout, or words to mask."""
        inside = [self.dropout_inside(name) for name in self.encoders]
        rates = (self.dropout_embedding, self.dropout_sentence, self.dropout_head, *inside)
        return any(rates) or self.grounding == "mlm"

    @property
    def encoders(self) -> set[str]:
        """The encoders of resolved options: of words, and of sentences if hierarchical."""
        return {self.encoder, self.sentence_encoder} if self.hierarchical else {self.encoder}

    def dropout_inside(self, encoder: str) -> float:
        """Dropout inside an encoder: as chosen, else 0.3 in conv and 0.1 in transformer."""
        if encoder not in ("conv", "transformer"):
            return 0.0
        default = 0.3 if encoder == "conv" else 0.1
        return default if self.dropout_encoder is None else self.dropout_encoder

    def layers_of(self, encoder: str) -> int:
        """Layers of an encoder: as chosen where it can have several, else its default."""
        if encoder in ONE_LAYER:
            return 1
        return self.layers or (2 if encoder == "transformer" else 1)

    def refuse_the_impossible(self, classes: int) -> None:
        width = self.embedding_size if self.encoder == "none" else self.hidden_size
        if self.head == "sigmoid" and classes != 2:
            raise VeraxError(f"head 'sigmoid' is for two classes, not {classes}: use 'softmax'")
        if self.grounding in ("tying", "mlm") and self.encoder == "none":
            raise VeraxError(
                f"grounding {self.grounding!r} needs an encoder: with encoder 'none' "
                "the state is the word vector already"
            )
        if self.grounding in ("residual", "tying", "mlm") and width != self.embedding_size:
            raise VeraxError(
                f"grounding {self.grounding!r} compares states with word vectors: hidden_size "
                f"({width}) must equal embedding_size ({self.embedding_size})"
            )
        if self.hierarchical and self.boundaries:
            raise VeraxError("a hierarchical model reads no SOS and EOS: leave out boundaries")
        halved = {"bilstm", "bigru", "conv"} & self.encoders
        if halved and self.hidden_size % 2:
            raise VeraxError(
                f"hidden_size is {self.hidden_size}: it must be even, for two directions or widths"
            )
        if self.encoders <= set(ONE_LAYER) and self.layers not in (None, 1):
            raise VeraxError(f"encoder {self.encoder!r} has one layer: leave out layers")
        if "transformer" in self.encoders and self.hidden_size % self.heads:
            raise VeraxError(
                f"hidden_size ({self.hidden_size}) must be a multiple of heads ({self.heads})"
            )

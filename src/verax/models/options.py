"""A choice for each slot of the classifier, declared once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from verax.corpora.tokenizer import AS_WRITTEN, TOKENIZERS, Tokenizer
from verax.errors import VeraxError
from verax.models.encoders import ENCODERS, SAME, Encoder
from verax.models.projections import DENSE, PROJECTIONS
from verax.options import WIDEST, option
from verax.plugins import Names

READING = ("tokenizer", "lowercase", "max_length")
"""The options that say how texts are read."""
ALIGNMENTS = ("additive", "dot", "dot-unscaled")
GROUNDINGS = ("none", "concat", "residual", "tying", "mlm")
AUTO = "auto"
HEADS = ("auto", "softmax", "sigmoid")

__all__ = [
    "ALIGNMENTS",
    "AUTO",
    "DENSE",
    "ENCODERS",
    "GROUNDINGS",
    "HEADS",
    "PROJECTIONS",
    "ModelOptions",
]


ActiveWhen = tuple[str, Callable[[Any, Any], bool]]
"""The option that decides whether another has an effect, and when it has; see `option`."""
_HIERARCHICAL: ActiveWhen = ("hierarchical", lambda m, t: m.hierarchical)


def _of_encoder(option: str) -> ActiveWhen:
    return "encoder", lambda m, t: m.encoder_uses(option)


def _of_projection(option: str) -> ActiveWhen:
    return "projection", lambda m, t: option in PROJECTIONS[m.projection].uses


@dataclass(frozen=True)
class ModelOptions:
    """The architecture of a classifier and how it reads texts: the model options of `train`."""

    tokenizer: str = option(
        "words",
        "words (lower-cased words and signs), digits-masked (as words, what has a digit is qqq, "
        "a sign repeated is one), characters (as words, but every character of a script without "
        "spaces is a token), keras (words without signs, as Keras's IMDB), whitespace (split at "
        "blanks), or as-written (words with their apostrophes and hyphens)",
        choices=TOKENIZERS,
    )
    lowercase: bool = option(
        True,
        "lower-case every word",
        active_when=("tokenizer", lambda m, t: m.tokenizer != AS_WRITTEN),
    )
    max_length: int | None = option(
        None, "words of a document that are read, its first (all)", minimum=1
    )
    encoder: str = option("bilstm", "what makes items of embedded words", choices=ENCODERS)
    hierarchical: bool = option(False, "attend words within sentences, then sentences (HAN)")
    sentence_encoder: str = option(
        SAME,
        "encoder over sentences of a hierarchical model",
        choices=Names(ENCODERS, before=(SAME,)),
        active_when=_HIERARCHICAL,
    )
    hidden_size: int = option(
        100,
        "width of an item: both directions, or both filter widths, together",
        minimum=2,
        maximum=WIDEST,
        active_when=_of_encoder("hidden_size"),
    )
    layers: int | None = option(
        None,
        "encoder layers (1, for a transformer 2)",
        minimum=1,
        maximum=12,
        active_when=_of_encoder("layers"),
    )
    heads: int = option(
        4,
        "self-attention heads of a transformer",
        minimum=1,
        maximum=WIDEST,
        active_when=_of_encoder("heads"),
    )
    feedforward_size: int | None = option(
        None,
        "inner width of a transformer layer (twice the hidden size)",
        minimum=1,
        maximum=4 * WIDEST,
        active_when=_of_encoder("feedforward_size"),
    )
    attention: str = option("additive", "how an item is scored", choices=ALIGNMENTS)
    attention_size: int | None = option(
        None,
        "width of additive attention (half an item's)",
        minimum=1,
        maximum=WIDEST,
        active_when=("attention", lambda m, t: m.attention == "additive"),
    )
    query_init: str = option(
        "normal",
        "query of dot attention: N(0,1), or PyTorch's default",
        choices=("normal", "default"),
        active_when=("attention", lambda m, t: m.attention != "additive"),
    )
    projection: str = option("softmax", "scores to weights", choices=PROJECTIONS)
    lam: float = option(
        0.0,
        "sparsegen: sparser towards 1, flatter towards −∞",
        below=1,
        active_when=_of_projection("lam"),
    )
    alpha: float = option(
        1.5, "entmax: 1 is softmax, 2 is sparsemax", minimum=1, active_when=_of_projection("alpha")
    )
    grounding: str = option("none", "what holds a state to its word", choices=GROUNDINGS)
    strength: float | str | None = option(
        None,
        "weight of the tying (1) or masked-LM (0.3) loss, or auto: chosen on validation",
        minimum=0,
        also=(AUTO,),
        active_when=("grounding", lambda m, t: m.grounding in ("tying", "mlm")),
    )
    mask_probability: float = option(
        0.15,
        "share of words the masked LM predicts",
        above=0,
        below=1,
        active_when=("grounding", lambda m, t: m.grounding == "mlm"),
    )
    head: str = option(
        "auto", "softmax over classes, or one sigmoid logit (auto: for two classes)", choices=HEADS
    )
    embedding_size: int = option(
        100, "width of word vectors, unless a file sets it", minimum=1, maximum=WIDEST
    )
    boundaries: bool | None = option(
        None, "read SOS and EOS around the text, never attended (on, unless hierarchical)"
    )
    dropout_embedding: float = option(0.0, "dropout before the word encoder", minimum=0, below=1)
    dropout_sentence: float = option(
        0.0, "dropout before the sentence encoder", minimum=0, below=1, active_when=_HIERARCHICAL
    )
    dropout_encoder: float | None = option(
        None,
        "dropout inside the encoder (conv 0.3, transformer 0.1)",
        minimum=0,
        below=1,
        active_when=_of_encoder("dropout_encoder"),
    )
    dropout_head: float = option(0.0, "dropout at the classification layer", minimum=0, below=1)
    dropout_head_on: str = option(
        "logits",
        "where that falls: logits (Serrano & Smith) or context",
        choices=("logits", "context"),
        active_when=("dropout_head", lambda m, t: m.dropout_head > 0),
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
            if self.sentence_encoder == SAME
            else self.sentence_encoder,
            feedforward_size=self.feedforward_size or 2 * self.hidden_size,
            head=("sigmoid" if classes == 2 else "softmax") if self.head == "auto" else self.head,
            boundaries=not self.hierarchical if self.boundaries is None else self.boundaries,
            strength=strength,
        )
        options.refuse_the_impossible(classes)
        return options

    @property
    def word_tokenizer(self) -> Tokenizer:
        """What splits texts into words."""
        return Tokenizer(self.tokenizer, self.lowercase and self.tokenizer != AS_WRITTEN)

    @property
    def grounding_weight(self) -> float:
        """The strength of resolved options, as a number."""
        if self.strength is None or isinstance(self.strength, str):
            raise VeraxError(
                f"strength is {self.strength!r}: it is a number once it is chosen",
                code="option.wrong-type",
            )
        return self.strength

    @property
    def is_random(self) -> bool:
        """Whether a training step draws anything: dropout, or words to mask."""
        inside = [self.dropout_of(ENCODERS[name]) for name in self.encoders]
        rates = (self.dropout_embedding, self.dropout_sentence, self.dropout_head, *inside)
        return any(rates) or self.grounding == "mlm"

    @property
    def encoders(self) -> set[str]:
        """The encoders of resolved options: of words, and of sentences if hierarchical."""
        return {self.encoder, self.sentence_encoder} if self.hierarchical else {self.encoder}

    def dropout_of(self, kind: type[Encoder]) -> float:
        """Dropout inside an encoder: as chosen where it has any, else its default."""
        if "dropout_encoder" not in kind.uses:
            return 0.0
        return kind.default_dropout if self.dropout_encoder is None else self.dropout_encoder

    def layers_of(self, kind: type[Encoder]) -> int:
        """Layers of an encoder: as chosen where it can have several, else its default."""
        return (self.layers or kind.default_layers) if "layers" in kind.uses else 1

    def encoder_uses(self, option: str) -> bool:
        """Whether an option of encoders has an effect on one of these, which are resolved."""
        return any(option in ENCODERS[name].uses for name in self.encoders)

    def refuse_the_impossible(self, classes: int) -> None:
        encoder = ENCODERS[self.encoder]
        width = encoder.width(self.embedding_size, self)
        if self.head == "sigmoid" and classes != 2:
            raise VeraxError(
                f"head 'sigmoid' is for two classes, not {classes}: use 'softmax'",
                options=["head"],
                code="option.conflict",
            )
        if self.grounding in ("tying", "mlm") and encoder.is_identity:
            raise VeraxError(
                f"grounding {self.grounding!r} needs an encoder: with encoder {self.encoder!r} "
                "the state is the word vector already",
                options=["grounding", "encoder"],
                code="option.conflict",
            )
        if self.grounding in ("residual", "tying", "mlm") and width != self.embedding_size:
            raise VeraxError(
                f"grounding {self.grounding!r} compares states with word vectors: hidden_size "
                f"({width}) must equal embedding_size ({self.embedding_size})",
                options=["grounding", "hidden_size", "embedding_size"],
                code="option.conflict",
            )
        if self.hierarchical and self.boundaries:
            raise VeraxError(
                "a hierarchical model reads no SOS and EOS: leave out boundaries",
                options=["hierarchical", "boundaries"],
                code="option.conflict",
            )
        for name in sorted(self.encoders):
            ENCODERS[name].refuse(self)
        if not self.encoder_uses("layers") and self.layers not in (None, 1):
            raise VeraxError(
                f"encoder {self.encoder!r} has one layer: leave out layers",
                options=["encoder", "layers"],
                code="option.conflict",
            )

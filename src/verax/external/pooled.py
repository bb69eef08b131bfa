"""A module of one's own with one attention, as the exact exams ask for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.tokenizer import Tokenizer
from verax.corpora.vocabulary import UNK, Vocabulary
from verax.errors import VeraxError, foreign_code
from verax.models.classifier import weigh_again
from verax.models.encoders import Encoder
from verax.models.kinds import MASK
from verax.models.layers import Additive, Attention, Dot, HashedDropout, Head, fingerprint
from verax.models.pooled import PooledClassifier, evaluation_mode
from verax.models.trace import Trace

Part = Callable[..., Any]
_OFF = 1e-4
"""How far the sum of weights may be from one."""


class FunctionEncoder(Encoder):
    """Any function of (word vectors, mask) where an `Encoder` is expected."""

    def __init__(self, function: Part) -> None:
        super().__init__()
        self.function = function

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        return call("encode", self.function, inputs, mask)


class FunctionHead(nn.Module):
    """Any function of (n, size) to (n, classes), for contexts of any shape.

    affine  whether it was found to be an affine map
    """

    def __init__(self, function: Part, size: int, like: Tensor) -> None:
        super().__init__()
        self.function, self.affine = function, False
        self.register_buffer("_zeros", like.new_zeros(size), persistent=False)

    @property
    def bias(self) -> Tensor:
        """(classes,): the logits when nothing is attended."""
        return self(self._zeros)

    def forward(self, context: Tensor) -> Tensor:
        """(…, size) → (…, classes)"""
        rows = context.reshape(-1, context.shape[-1])
        logits = call("head", self.function, rows)
        if logits.dim() == 1:  # one logit, squeezed
            logits = logits.unsqueeze(-1)
        if logits.dim() != 2 or len(logits) != len(rows):
            raise VeraxError(
                f"head gave the shape {tuple(logits.shape)} for {tuple(rows.shape)}: expected a "
                "row of logits for each context",
                code="model.wrong-output",
            )
        return logits.view(*context.shape[:-1], -1)


class ModuleClassifier(PooledClassifier):
    """A module of one's own through its parts; `verax.from_pooled` makes and checks it.

    Args:
        module: what the parts belong to: its weights are the model's.
        vocabulary: words, in the order of Verax's own rows.
        rows: (vocabulary rows,) long: the module's row for each of Verax's.
        classes: names of the classes.
        word_tokenizer: how texts become words.
        parts: embed (or None), encode, attend, head.
        boundaries: whether the module reads a start and an end around each text.
        knows_unknown: whether it has a row for words that it does not know.
        name: what results call it.
        max_length: how many words of a text it reads; None for all.
    """

    def __init__(
        self,
        module: nn.Module,
        vocabulary: Vocabulary,
        rows: Tensor,
        classes: Sequence[str],
        word_tokenizer: Tokenizer,
        parts: Mapping[str, Any],
        boundaries: bool,
        knows_unknown: bool,
        name: str,
        max_length: int | None = None,
    ) -> None:
        super().__init__()
        self.module, self.vocabulary, self.word_tokenizer = module, vocabulary, word_tokenizer
        self.classes = [str(one) for one in classes]
        self.record: Mapping[str, Any] = {"name": name}
        self.boundaries, self._knows_unknown = boundaries, knows_unknown
        self.max_length = max_length
        self.has_vectors = parts["embed"] is not None
        self._embed, self._attend = parts["embed"], parts["attend"]
        encode = parts["encode"]
        self.encoder = encode if isinstance(encode, Encoder) else FunctionEncoder(encode)
        self.register_buffer("_rows", rows.to(self.device), persistent=False)
        self.head = parts["head"]
        # modules behind bound methods, which need not be submodules of `module`
        owners = [getattr(part, "__self__", None) for part in parts.values()]
        self._owners = nn.ModuleList(one for one in owners if isinstance(one, nn.Module))

    @property
    def device(self) -> torch.device:
        one = next(self.module.parameters(), next(self.module.buffers(), None))
        return torch.device("cpu") if one is None else one.device

    @property
    def fingerprint(self) -> str:
        """A hash of the module's weights."""
        return fingerprint(self.module)

    def describe(self) -> dict[str, Any]:
        """The module's class, and what was found out about its parts."""
        return {
            "module": type(self.module).__name__,
            "affine_head": bool(self.head.affine),
            "word_vectors": self.has_vectors,
        }

    @property
    def word_vectors(self) -> Tensor:
        """(vocabulary, size): the vector that each word has where it stands alone."""
        every = torch.arange(len(self.vocabulary), device=self.device)
        with torch.no_grad(), evaluation_mode(self):
            parts = [self._vectors(some.unsqueeze(1)) for some in every.split(MAX_TOKENS)]
        return torch.cat(parts).squeeze(1)

    @property
    def words_are_items(self) -> bool:
        """Whether its encoder says so, and its attention scores items one by one."""
        return self.encoder.reach == 0 and isinstance(self._attend, Attention)

    @property
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away; a mask needs a row for unknown words."""
        every = super().operators
        return every if self._knows_unknown else tuple(one for one in every if one != MASK)

    @property
    def known_readout(self) -> tuple[Attention, Head] | None:
        """Attention and head, where both are Verax's own modules."""
        attend, head = self._attend, self.head
        if isinstance(attend, Attention) and isinstance(head, Head):
            return (attend, head) if isinstance(attend.alignment, (Additive, Dot)) else None
        return None

    def forward(self, batch: Batch, noise: HashedDropout | None = None) -> Trace:
        """One pass, as the module predicts, whatever mode it is in."""
        if not self._knows_unknown and bool((batch.tokens == UNK).any()):
            raise VeraxError(
                "a text has a word that the vocabulary lacks: give unknown=…, the row it is "
                "read as",
                code="model.bad-vocabulary",
            )
        with evaluation_mode(self):
            return super().forward(batch, noise)

    def embed(self, batch: Batch) -> Tensor:
        """(batch, tokens, size): word vectors; of size 0 where the module shows none."""
        if self.has_vectors:
            return self._vectors(batch.tokens)
        return torch.zeros(*batch.tokens.shape, 0, device=batch.tokens.device)

    def _vectors(self, tokens: Tensor) -> Tensor:
        vectors = call("embed", self._embed, self.rows_of(tokens))
        _check_shape("embed", vectors, tokens)
        return vectors

    def rows_of(self, tokens: Tensor) -> Tensor:
        """The module's own rows for Verax's."""
        rows: Any = self._rows
        return rows[tokens]

    def encode_states(
        self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Word vectors, or rows where the module shows none, → states, which are the items."""
        read = embedded if self.has_vectors else self.rows_of(batch.tokens)
        states = self.encoder(read, batch.token_mask, batch.lengths)
        _check_shape("encode", states, batch.tokens)
        return states, states

    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """Scores and weights; the scores of a function are logarithms of its weights."""
        if isinstance(self._attend, Attention):
            return self._attend(items, batch.mask)
        weights = self._weights(items, batch.mask)
        return weights.detach().clamp(min=1e-30).log(), weights

    def _weights(self, items: Tensor, mask: Tensor) -> Tensor:
        weights = call("attend", self._attend, items, mask)
        if weights.shape != mask.shape:
            raise VeraxError(
                f"attend gave the shape {tuple(weights.shape)}, expected {tuple(mask.shape)}: a "
                "weight for each token",
                code="model.wrong-output",
            )
        off = float((weights.detach().double().sum(-1) - 1).abs().max())
        outside = float(weights.detach().masked_fill(mask, 0.0).abs().max())
        if not off <= _OFF or not outside <= _OFF or float(weights.detach().min()) < 0:
            raise VeraxError(
                "attend gave weights that are no shares of the attended tokens (sums off by "
                f"{off:.2g}, {outside:.2g} where the mask is False): expected numbers from 0 that "
                "sum to 1 over the mask",
                code="model.wrong-output",
            )
        return weights.masked_fill(~mask, 0.0)

    def weights_left(
        self, trace: Trace, rows: Tensor, left: Tensor, max_tokens: int = MAX_TOKENS
    ) -> Tensor:
        """The attention asked again, with the mask of what is left."""
        if isinstance(self._attend, Attention):
            return weigh_again(self._attend, trace, rows, left)
        variants, n = left.shape[1:]
        flat = left.reshape(-1, n)
        some_left = flat.any(-1, keepdim=True)
        owner = rows.repeat_interleave(variants)
        parts = [
            self._weights(trace.items[owner[some]], flat[some] | ~some_left[some])
            for some in torch.arange(len(flat), device=flat.device).split(max(1, max_tokens // n))
        ]
        return (torch.cat(parts).double() * some_left).view(left.shape)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Refused: only its own code can write a module of one's own."""
        raise VeraxError(
            "a model of from_pooled cannot be saved here: save its module by torch, and name "
            "the function that makes it, as in my_module.py:make",
            code="model.not-saveable",
        )


def call(part: str, function: Part, *inputs: Tensor) -> Tensor:
    """What a part of the module gives; its errors name the part."""
    shapes = ", ".join(str(tuple(one.shape)) for one in inputs)
    with foreign_code(f"{part} failed on tensors of shape {shapes}"):
        given = function(*inputs)
    if not isinstance(given, Tensor):
        raise VeraxError(
            f"{part} gave a {type(given).__name__}: expected a tensor", code="model.wrong-output"
        )
    return given


def _check_shape(part: str, values: Tensor, tokens: Tensor) -> None:
    if values.dim() != 3 or values.shape[:2] != tokens.shape:
        raise VeraxError(
            f"{part} gave the shape {tuple(values.shape)} for tokens of shape "
            f"{tuple(tokens.shape)}: expected a vector for each token (batch first)",
            code="model.wrong-output",
        )

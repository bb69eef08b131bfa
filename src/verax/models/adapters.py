"""Wrap user-defined models: `from_module` for a PyTorch module, `from_predict` for a function."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS
from verax.corpora.encoded import EncodedDocuments
from verax.corpora.ragged import Ragged
from verax.corpora.tokenizer import AS_WRITTEN, TOKENIZERS, TokenizedTexts, Tokenizer
from verax.corpora.vocabulary import EOS, PAD, SOS, SPECIALS, UNK, Vocabulary
from verax.errors import VeraxError, foreign_code, nearest
from verax.models.base import ExternalClassifier, WordTrace, class_names, evaluation_mode
from verax.models.classifier import weigh_again
from verax.models.encoders import Encoder
from verax.models.kinds import DELETE, MASK, PREDICT, Watch
from verax.models.layers import Additive, Attention, Dot, HashedDropout, Head, fingerprint
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.models.transformers.loading import check_fast
from verax.options import check
from verax.time_limit import check_time

Part = Callable[..., Any]
Predict = Callable[[list[str]], Any]
GIVES = ("probabilities", "logits")
PROBES = ("a", "good film", "not a good film.", "It was late; nobody had read the last page.")
"""Texts with which every function is checked first: alone, in batches and in two orders."""
FULL = 64
"""The most of these texts in the batch that checks how full batches are answered."""
LEAST = 1e-12
"""Probabilities below this count as this, so that they have a logarithm."""
_OFF = 1e-4
"""How far numbers that should be the same may differ, by the largest."""
_SUM = 1e-3
"""How far probabilities may be from a sum of one."""
_GIVE_SPANS = "expected (ids, spans), a row of the module and its (start, stop) for each token"
_EACH = "a vector for each token (batch first)"
_LENGTHS = (8, 5, 3, 2, 1)
"""Words of the made-up texts that a module is tried on."""
_SCALES = (0.0, 0.1, 1.0, 10.0)
_SHARES = (0.5, 0.3, -1.5)
"""Sizes of contexts, and shares of two, at which a head is tried for being affine."""


# checks of both


def _call_part(what: str, function: Part, *inputs: Tensor) -> Tensor:
    """What a part of a module gives; its errors name the part."""
    shapes = ", ".join(str(tuple(one.shape)) for one in inputs)
    with foreign_code(f"{what} failed on tensors of shape {shapes}"):
        given = function(*inputs)
    if not isinstance(given, Tensor):
        raise VeraxError(
            f"{what} gave a {type(given).__name__}: expected a tensor", code="model.wrong-output"
        )
    return given


def _check_shape(what: str, given: Tensor, expected: tuple[int | None, ...], each: str) -> None:
    """Refuse another shape than expected, where None is any size."""
    shape = tuple(given.shape)
    same = (one in (None, other) for one, other in zip(expected, shape, strict=False))
    if len(shape) != len(expected) or not all(same):
        sizes = ", ".join("any" if size is None else str(size) for size in expected)
        raise VeraxError(
            f"{what} gave the shape {shape}, expected ({sizes}): {each}", code="model.wrong-output"
        )


def _same(one: Tensor, other: Tensor) -> bool:
    most = max(1.0, float(other.detach().abs().max()))
    return bool(((one - other).abs() <= _OFF * most).all())


def _check_same(one: Tensor, other: Tensor, what: str, advice: str, *, code: str) -> None:
    """Refuse numbers that differ and should not."""
    if not _same(one, other):
        off = float((one - other).abs().max())
        raise VeraxError(f"{what} (off by {off:.2g}): {advice}", code=code)


# a module


def from_module(
    module: nn.Module,
    *,
    vocabulary: Mapping[str, int] | Sequence[str] | None = None,
    classes: Sequence[str],
    encode: Callable[[Tensor, Tensor], Tensor],
    attend: Callable[[Tensor, Tensor], Tensor],
    head: Callable[[Tensor], Tensor],
    embed: Callable[[Tensor], Tensor] | None = None,
    logits: Callable[[Tensor, Tensor], Tensor] | None = None,
    tokenizer: Any = "words",
    lowercase: bool = True,
    max_length: int | None = None,
    padding: int | str | None = None,
    unknown: int | str | None = None,
    start: int | str | None = None,
    end: int | str | None = None,
    name: str | None = None,
) -> ModuleClassifier:
    """Wrap a PyTorch classifier with one attention, so that all exact exams run on it.

    The module pools its states as Σ α h, and a head reads the result.

    Batches come first, masks are True where there is something. Modules of Verax's own
    (`verax.models.encoders.Encoder`, `Attention`, `Head`) may stand for functions; formulas that
    are known for them are then used.

    Args:
        module: the module that the parts belong to; its weights are the model's.
        vocabulary: word → row, or the words in the order of their rows; that of a Hugging Face
            tokenizer, unless given.
        classes: names of the classes, in the order of logits; a head with one logit means the
            second of two.
        encode: (word vectors, mask) → states, (batch, tokens, size). Without `embed` it gets rows,
            (batch, tokens), in place of vectors.
        attend: (states, mask) → weights, (batch, tokens): from 0, summing to 1 over the mask.
        head: (n, size) → (n, classes). Whether it is affine is found by trying.
        embed: rows, (batch, tokens) → word vectors, (batch, tokens, size). Without it, inputs have
            no gradients: importances and exams that need them do not apply.
        logits: (rows, mask) → the module's own logits, which must be those of its parts;
            `module(rows, mask)`, unless given.
        tokenizer: the module's own: a name, as `tokenizer` of `verax.train` has them; a fast
            tokenizer of Hugging Face; or a function from a text to its token ids, rows of the
            module, and their spans, (start, stop) of each in the text.
        lowercase: whether words are lower-cased, by a tokenizer that is named.
        max_length: how many tokens of a text are read, its first; all, unless given.
        padding: row, or word of the vocabulary, that fills up short texts; 0, or that of a Hugging
            Face tokenizer, unless given.
        unknown: row, or word, for words that the vocabulary lacks.
        start: row, or word, that is read before each text, never attended; with `end`.
        end: row, or word, that is read after each text. Other special tokens are attended.
        name: what results call the model; the module's class, unless given.

    Returns:
        The classifier, once its parts gave what they should for a few made-up texts: the module's
        own logits, weights on the simplex, the same with more padding, and the same again.

    >>> class Bag(nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.vectors, self.score = nn.Embedding(4, 3), nn.Linear(3, 1)
    ...         self.out = nn.Linear(3, 2)
    ...     def attend(self, states, mask):
    ...         scores = self.score(states).squeeze(-1)
    ...         return scores.masked_fill(~mask, -torch.inf).softmax(-1)
    ...     def forward(self, rows, mask):
    ...         states = self.vectors(rows)
    ...         return self.out((self.attend(states, mask).unsqueeze(-1) * states).sum(1))
    >>> bag = Bag()
    >>> model = from_module(
    ...     bag, vocabulary=["<pad>", "<unk>", "good", "bad"], unknown="<unk>",
    ...     classes=["neg", "pos"], embed=bag.vectors, encode=lambda vectors, mask: vectors,
    ...     attend=bag.attend, head=bag.out)
    >>> model.head.affine
    True
    """
    if not isinstance(module, nn.Module):
        raise VeraxError(
            f"module is a {type(module).__name__}: expected a torch.nn.Module",
            code="model.wrong-type",
        )
    parts = {"embed": embed, "encode": encode, "attend": attend, "head": head}
    for part, function in parts.items():
        if not callable(function) and not (part == "embed" and function is None):
            raise VeraxError(
                f"{part} is a {type(function).__name__}: expected a function",
                code="option.wrong-type",
            )
    classes = class_names(classes)
    if (start is None) != (end is None):
        raise VeraxError(
            "start and end come together: give both, or neither", code="option.conflict"
        )
    if max_length is not None:
        max_length = check("max_length", max_length, int, {"minimum": 1})
    if hasattr(tokenizer, "get_vocab"):
        check_fast(tokenizer)
        vocabulary = tokenizer.get_vocab() if vocabulary is None else vocabulary
        padding = tokenizer.pad_token_id if padding is None else padding
        unknown = tokenizer.unk_token_id if unknown is None else unknown
    advice = "give word → row, and padding as a row or word"
    with foreign_code("vocabulary cannot be read", advice, code="model.bad-vocabulary"):
        padding = 0 if padding is None else padding
        known, rows = _vocabulary(vocabulary, padding, unknown, start, end)
    word_tokenizer: Any
    if callable(tokenizer):
        word_tokenizer = OwnTokenizer(tokenizer, known, rows, start is not None, max_length)
        known = IdVocabulary(known.words)
    elif isinstance(tokenizer, str) and tokenizer in TOKENIZERS:
        word_tokenizer = Tokenizer(tokenizer, lowercase=lowercase and tokenizer != AS_WRITTEN)
    else:
        raise VeraxError(
            f"tokenizer is {tokenizer!r}: {nearest(tokenizer, TOKENIZERS)}, or give a function "
            "from a text to ids and spans",
            code="option.unknown-value",
        )
    model = ModuleClassifier(
        module,
        known,
        rows,
        classes,
        word_tokenizer,
        parts,
        start is not None,
        unknown is not None,
        name or type(module).__name__,
        max_length,
    )
    advice = "check that the parts take and give float32 tensors on the module's device"
    with foreign_code("the module cannot be examined", advice), evaluation_mode(model):
        _check(model, head, logits or module)
    return model


class OwnTokenizer:
    """The tokenizer of a module, where a `Tokenizer` is expected.

    Args:
        function: a fast tokenizer of Hugging Face, or text → token ids, spans.
        vocabulary: names of the tokens.
        rows: (vocabulary rows,) long: the module's row for each of Verax's.
        has_ends: whether each text begins and ends with a special token, which is taken off.
        max_length: how many tokens a Hugging Face tokenizer keeps.
    """

    kind, lowercase = "own", False

    def __init__(
        self,
        function: Any,
        vocabulary: Vocabulary,
        rows: Tensor,
        has_ends: bool,
        max_length: int | None,
    ) -> None:
        self.function, self.vocabulary, self.max_length = function, vocabulary, max_length
        self._ends = rows[[SOS, EOS]].tolist() if has_ends else None
        self._rows = {int(row): place for place, row in enumerate(rows) if place >= len(SPECIALS)}
        if int(rows[UNK]) != int(rows[PAD]):
            self._rows[int(rows[UNK])] = UNK
        self._read = lru_cache(maxsize=2**14)(self._tokens)
        self._read("A good film.")

    def __call__(self, text: str | Sequence[str]) -> list[str]:
        """The tokens of a text, as it has them; special ones by their names."""
        text = _joined(text)
        rows, spans = self._read(text)
        pairs = zip(rows.tolist(), spans.tolist(), strict=True)
        return [text[start:stop] or self.vocabulary.text(row) for row, (start, stop) in pairs]

    def spans(self, text: str | Sequence[str]) -> NDArray[np.int64]:
        """Where each token begins and ends in the text, shape (tokens, 2)."""
        return self._read(_joined(text))[1]

    def rows(self, text: str | Sequence[str]) -> NDArray[np.int64]:
        """The row of each token in the vocabulary."""
        return self._read(_joined(text))[0]

    def finds_words(self, text: str) -> bool:
        return len(self.rows(text)) > 0

    def cannot_part(self, texts: Iterable[str]) -> bool:
        return False

    def _tokens(self, text: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        with foreign_code("tokenizer failed on a text", _GIVE_SPANS, code="model.wrong-output"):
            if hasattr(self.function, "get_vocab"):
                # special tokens at the ends do not count as words
                longest = self.max_length and self.max_length + (2 if self._ends else 0)
                given = self.function(
                    text,
                    truncation=longest is not None,
                    max_length=longest,
                    return_offsets_mapping=True,
                    verbose=False,
                )
                ids, spans = given["input_ids"], given["offset_mapping"]
            else:
                ids, spans = self.function(text)
            ids = [int(one) for one in ids]
            spans = np.array(spans, dtype=np.int64).reshape(len(ids), 2)
        if self._ends is not None:
            if len(ids) < 2 or [ids[0], ids[-1]] != self._ends:
                raise VeraxError(
                    f"tokenizer gave ids that do not begin with {self._ends[0]} and end with "
                    f"{self._ends[1]}: leave start and end out, or let it put them around texts",
                    code="model.wrong-output",
                )
            ids, spans = ids[1:-1], spans[1:-1]
        starts, stops = spans.T
        if ((starts < 0) | (starts > stops) | (stops > len(text))).any():
            raise VeraxError(
                f"tokenizer gave spans that are not within their text: {_GIVE_SPANS}",
                code="model.wrong-output",
            )
        if unknown := set(ids) - set(self._rows):
            raise VeraxError(
                f"tokenizer gave the id {min(unknown)}, which the vocabulary lacks: give "
                "vocabulary=…, the token of each row of the module",
                code="model.bad-vocabulary",
            )
        for place, (start, stop) in enumerate(spans.tolist()):  # some count the blank before a word
            word = text[start:stop]
            if word.strip():
                spans[place] = start + len(word) - len(word.lstrip()), start + len(word.rstrip())
        return np.array([self._rows[one] for one in ids], dtype=np.int64), spans


def _joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else " ".join(map(str, text))


class IdVocabulary(Vocabulary):
    """The tokens of a module's own tokenizer, whose ids it gives itself."""

    def encode(self, texts: TokenizedTexts) -> Ragged:
        tokenizer: Any = texts.tokenizer
        lengths = texts.numbers.lengths
        rows = [tokenizer.rows(text)[:n] for text, n in zip(texts.texts, lengths, strict=True)]
        values = np.concatenate(rows) if rows else np.zeros(0)
        return Ragged.from_lengths(values.astype(np.int32), lengths)


class FunctionEncoder(Encoder):
    """Any function of (word vectors, mask) where an `Encoder` is expected."""

    def __init__(self, function: Part) -> None:
        super().__init__()
        self.function = function

    def forward(
        self, inputs: Tensor, mask: Tensor, lengths: Tensor, noise: HashedDropout | None = None
    ) -> Tensor:
        return _call_part("encode", self.function, inputs, mask)


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
        logits = _call_part("head", self.function, rows)
        if logits.dim() == 1:  # one logit, squeezed
            logits = logits.unsqueeze(-1)
        _check_shape("head", logits, (len(rows), None), "a row of logits for each context")
        return logits.view(*context.shape[:-1], -1)


class ModuleClassifier(PooledClassifier):
    """A user-defined module, split into its parts; built and checked by `verax.from_module`.

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
        self.max_length = max_length
        self.classes = [str(one) for one in classes]
        self.record: Mapping[str, Any] = {"name": name}
        self.boundaries, self._knows_unknown = boundaries, knows_unknown
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
        vectors = _call_part("embed", self._embed, self.rows_of(tokens))
        _check_shape("embed", vectors, (*tokens.shape, None), _EACH)
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
        _check_shape("encode", states, (*batch.tokens.shape, None), _EACH)
        return states, states

    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """Scores and weights; the scores of a function are logarithms of its weights."""
        if isinstance(self._attend, Attention):
            return self._attend(items, batch.mask)
        weights = self._weights(items, batch.mask)
        return weights.detach().clamp(min=1e-30).log(), weights

    def _weights(self, items: Tensor, mask: Tensor) -> Tensor:
        weights = _call_part("attend", self._attend, items, mask)
        _check_shape("attend", weights, tuple(mask.shape), "a weight for each token")
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
        """Raise an error: only the module's own code can save it."""
        raise VeraxError(
            "a model of from_module cannot be saved here: save its module by torch, and name "
            "the function that makes it, as in my_module.py:make",
            code="model.not-saveable",
        )


def _vocabulary(
    vocabulary: Mapping[str, int] | Sequence[str] | None,
    padding: int | str,
    unknown: int | str | None,
    start: int | str | None,
    end: int | str | None,
) -> tuple[Vocabulary, Tensor]:
    """Words in the order of the module's rows, and the module's row for each row of Verax's."""
    if isinstance(vocabulary, str) or not isinstance(vocabulary, (Mapping, Sequence)):
        raise VeraxError(
            "vocabulary is no list of words: give words by row, or word → row",
            code="model.bad-vocabulary",
        )
    plain: Mapping[str, Any]
    plain = {str(word): row for row, word in enumerate(vocabulary)}
    if isinstance(vocabulary, Mapping):
        plain = vocabulary
    if not plain or not all(isinstance(row, (int, np.integer)) for row in plain.values()):
        raise VeraxError(
            "vocabulary has no words, or rows that are no numbers: give word → row",
            code="model.bad-vocabulary",
        )
    ordered = sorted(plain, key=lambda word: int(plain[word]))

    def row(what: str, value: int | str | None) -> int:
        if value is None:
            return row("padding", padding)
        if isinstance(value, str):
            if value not in plain:
                raise VeraxError(
                    f"{what} is {value!r}, which the vocabulary lacks: give its row",
                    code="model.bad-vocabulary",
                )
            return int(plain[value])
        return int(value)

    special = {"padding": padding, "unknown": unknown, "start": start, "end": end}
    first = [row(what, value) for what, value in special.items()]
    rows = torch.tensor([*first, *(int(plain[word]) for word in ordered)])
    return Vocabulary([str(word) for word in ordered]), rows


@torch.no_grad()
def _check(model: ModuleClassifier, head: Any, own: Callable[..., Any]) -> None:
    """Refuse parts that do not add up to the module, on a few made-up texts."""
    documents = _made_up(model)
    batch = documents.batch(np.arange(len(documents)), model.device)
    states, _ = model.encode_states(batch, model.embed(batch))
    if not isinstance(head, Head):
        model.head = FunctionHead(head, states.shape[-1], states)  # type: ignore[assignment]
    trace = model(batch)
    columns, classes = trace.logits.shape[-1], len(model.classes)
    if columns != classes and not (columns == 1 and classes == 2):
        raise VeraxError(
            f"head gives {columns} logits, and there are {classes} classes: name all",
            code="model.class-names",
        )
    if not bool(trace.logits.isfinite().all()):
        raise VeraxError(
            "the module gives logits that are not finite: expected numbers", code="model.not-finite"
        )
    _check_same(
        *(model(batch).logits, trace.logits),
        "the module gives the same texts other logits when it is called again",
        "switch off whatever is random",
        code="model.not-deterministic",
    )
    _check_same(
        *(model(documents.batch(np.array([len(documents) - 1]), model.device)).logits,),
        trace.logits[-1:],
        "a text has other logits beside longer ones",
        "encode and attend must ignore what the mask leaves out",
        code="model.batch-dependent",
    )
    try:
        said = _call_part("the module", own, model.rows_of(batch.tokens), batch.token_mask)
    except VeraxError as error:
        raise VeraxError(f"{error}; give logits=function(rows, mask)", code=error.code) from error
    said = said.unsqueeze(-1) if said.dim() == 1 else said
    expected = tuple(trace.logits.shape)
    _check_shape(
        "the module", said, expected, "as its parts give; give logits=function(rows, mask)"
    )
    _check_same(
        *(said, trace.logits),
        "the module's own logits are not head(Σ α h) of its parts",
        "check embed, encode, attend and head",
        code="model.not-affine",
    )
    affine = _is_affine(model.head, trace)
    if isinstance(model.head, FunctionHead):
        model.head.affine = affine
    elif not affine:
        model.head = FunctionHead(head, states.shape[-1], states)  # type: ignore[assignment]


def _made_up(model: ModuleClassifier) -> EncodedDocuments:
    """Texts of a few lengths, of words drawn from the vocabulary, longest first."""
    random = np.random.Generator(np.random.PCG64(0))
    many = len(model.vocabulary.words)
    texts = [random.integers(many, size=length) + len(SPECIALS) for length in _LENGTHS]
    if model.boundaries:
        texts = [np.concatenate([[SOS], text, [EOS]]) for text in texts]
    lengths = np.array([len(text) for text in texts])
    tokens = Ragged.from_lengths(np.concatenate(texts).astype(np.int32), lengths)
    return EncodedDocuments(tokens, None, np.arange(len(texts)), model.boundaries)


def _is_affine(head: nn.Module, trace: Trace) -> bool:
    """Whether head(t a + (1 − t) b) = t head(a) + (1 − t) head(b), for contexts small and large."""
    states = trace.items[trace.mask]
    generator = torch.Generator().manual_seed(0)
    spread = max(float(states.double().square().mean().sqrt()), 1e-3)
    drawn = torch.randn(len(_SCALES), 32, states.shape[-1], generator=generator).to(states)
    scales = torch.tensor(_SCALES).view(-1, 1, 1).to(states)
    points = torch.cat([states, (drawn * scales * spread).flatten(0, 1)])
    others = points[torch.randperm(len(points), generator=generator).to(points.device)]
    for share in _SHARES:
        mixed = head(share * points + (1 - share) * others)
        expected = share * head(points) + (1 - share) * head(others)
        if not _same(mixed, expected):
            return False
    return True


# a function


def from_predict(
    function: Predict,
    classes: Sequence[str],
    *,
    words: str = AS_WRITTEN,
    gives: str = "probabilities",
    max_batch: int = 64,
    name: str | None = None,
    mask: str | None = None,
) -> PredictClassifier:
    """A classifier of which nothing is known but what it says: for the exams of inputs.

    Args:
        function: takes a list of texts, and gives a row of numbers for each and a column for each
            class: an array, a tensor, or lists.
        classes: names of the classes, in the order of the columns.
        words: how texts are cut into words: as-written or whitespace.
        gives: probabilities or logits: what the numbers are.
        max_batch: the most texts that the function gets at once.
        name: what results call the model; the function's own name, unless given.
        mask: what can stand for a word, such as [MASK]: where the operator mask shall be one of
            the ways to take words away.

    Returns:
        The classifier, once the function has answered for a few texts as it should: the right
        shape, finite numbers, rows that sum to one, and the same answer to a text in another order,
        alone and in batches.

    >>> import numpy as np
    >>> def by_length(texts):
    ...     long = np.array([min(len(text), 40) / 40 for text in texts])
    ...     return np.stack([1 - long, long], axis=1)
    >>> model = from_predict(by_length, ["short", "long"])
    >>> model.predict(["A text.", "A text that is not short, as texts go."]).label.tolist()
    ['short', 'long']
    """
    if not callable(function):
        raise VeraxError(
            f"function is a {type(function).__name__}: expected a function from a list of texts to "
            "probabilities",
            code="model.wrong-type",
        )
    classes = class_names(classes)
    if gives not in GIVES:
        raise VeraxError(
            f"gives is {gives!r}: {nearest(gives, GIVES)}", code="option.unknown-value"
        )
    if words not in (AS_WRITTEN, "whitespace"):
        raise VeraxError(
            f"words {words!r}: use {AS_WRITTEN} or whitespace", code="option.unknown-value"
        )
    max_batch = check("max_batch", max_batch, int, {"minimum": 1})
    if mask is not None and not (isinstance(mask, str) and mask.strip()):
        raise VeraxError(
            f"mask is {mask!r}: give the string that stands for a word, as in [MASK]",
            code="option.wrong-type",
        )
    called = str(name or getattr(function, "__name__", type(function).__name__))
    return PredictClassifier(function, classes, words, gives, max_batch, called, mask)


class PredictClassifier(ExternalClassifier):
    """A function of texts, asked in batches; see `from_predict`.

    Logits are logarithms of its probabilities. Within a call of `logits_of_texts` it is asked
    about each text once, however often the text is there.
    """

    kind = PREDICT

    def __init__(
        self,
        function: Predict,
        classes: Sequence[str],
        words: str,
        gives: str,
        max_batch: int,
        name: str,
        mask: str | None = None,
    ) -> None:
        super().__init__(classes, Tokenizer(words, lowercase=False), {"name": name})
        self._function, self._gives, self._max_batch = function, gives, max_batch
        self._mask = mask
        self._fingerprint = self._probed()

    @property
    def fingerprint(self) -> str:
        """A hash of what the function says of `PROBES`, to five decimals; it has no weights."""
        return self._fingerprint

    def describe(self) -> dict[str, Any]:
        """The function's name and what it gives."""
        return {"function": self.record["name"], "gives": self._gives}

    @property
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away; mask, where a string was named for it."""
        return (DELETE,) if self._mask is None else (DELETE, MASK)

    def logits_without(
        self,
        trace: WordTrace,
        rows: Tensor,
        removed: Tensor,
        operator: str = DELETE,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Tensor:
        if operator != MASK or self._mask is None:
            return super().logits_without(trace, rows, removed, operator, max_tokens, watch)
        pairs = zip(rows.tolist(), removed.cpu().numpy(), strict=True)
        texts = [trace.batch.masked(row, words, self._mask) for row, words in pairs]
        return self.logits_of_texts(texts, max_tokens, watch)

    def logits_of_texts(
        self, texts: list[str], max_tokens: int = MAX_TOKENS, watch: Watch = iter
    ) -> Tensor:
        """(texts, classes) in float64: each different text is asked about once."""
        once = list(dict.fromkeys(texts))
        parts = [once[i : i + self._max_batch] for i in range(0, len(once), self._max_batch)]
        answers = []
        for part in watch(parts):
            check_time()
            answers.append(self._ask(part))
        if not answers:
            return torch.zeros(0, len(self.classes), dtype=torch.float64)
        place = {text: number for number, text in enumerate(once)}
        return torch.cat(answers)[torch.tensor([place[text] for text in texts])]

    def _ask(self, texts: list[str]) -> Tensor:
        """(texts, classes): logits of what the function gave, once that is what it should be."""
        with foreign_code(f"the function failed on {len(texts)} texts"):
            given = self._function(list(texts))
        try:
            plain = given.detach().cpu().numpy() if isinstance(given, Tensor) else given
            numbers = torch.from_numpy(np.array(plain, dtype=np.float64))
        except (Exception, SystemExit, GeneratorExit) as error:  # of an array of any library
            raise VeraxError(
                f"the function gave a {type(given).__name__} that is no array of numbers: expected "
                f"a row for each text and a column for each of {len(self.classes)} classes",
                code="model.wrong-output",
            ) from error
        expected = (len(texts), len(self.classes))
        each = "a row for each text, a column for each class"
        _check_shape("the function", numbers, expected, each)
        if not bool(numbers.isfinite().all()):
            row = int((~numbers.isfinite()).any(-1).nonzero()[0])
            raise VeraxError(
                f"the function gave {numbers[row].tolist()} for {_short(texts[row])}: expected "
                "finite numbers",
                code="model.not-finite",
            )
        if self._gives == "logits":
            return numbers
        off = ((numbers.sum(-1) - 1).abs() > _SUM) | (numbers < -_SUM).any(-1)
        if bool(off.any()):
            row = int(off.nonzero()[0])
            raise VeraxError(
                f"the function gave {numbers[row].tolist()} for {_short(texts[row])}: expected "
                "probabilities that sum to one; for logits give gives='logits'",
                code="model.wrong-output",
            )
        return numbers.clamp(min=LEAST).log()

    def _probed(self) -> str:
        """Return a hash of the answers to a few texts, which must not depend on how they are asked.

        Each text is passed alone, in a small batch in two orders, and in a full one.
        """
        first = self._probabilities(PROBES)
        _check_same(
            *(self._probabilities(PROBES[::-1]).flip(0), first),
            "the function gives a text another answer when it is called again, or in another order",
            "switch off dropout and whatever is random (model.eval())",
            code="model.not-deterministic",
        )
        alone = self._probabilities(PROBES, at_once=1)
        full = max(len(PROBES), min(self._max_batch, FULL))
        repeated = (PROBES * full)[:full]
        for texts, answers in ((PROBES, first), (repeated, self._probabilities(repeated))):
            size = min(len(texts), self._max_batch)
            expected = alone[torch.arange(len(texts)) % len(PROBES)]
            why = "the texts beside it, as where padding is read"
            if not _same(expected, answers):
                copies = [self._probabilities([text] * size)[:1] for text in PROBES]
                if not _same(alone, torch.cat(copies)):
                    why = f"how many texts are passed at once (1 or {size})"
            _check_same(
                *(expected, answers),
                f"the function's answer to a text depends on {why}",
                "answer each text by itself, or give max_batch=1",
                code="model.batch-dependent",
            )
        digest = hashlib.sha256("\0".join(self.classes).encode())
        digest.update((first * 1e5).round().long().numpy().tobytes())
        return digest.hexdigest()[:16]

    def _probabilities(self, texts: Sequence[str], at_once: int | None = None) -> Tensor:
        """(texts, classes): what the function says, asked in batches of at most `max_batch`."""
        size = at_once or self._max_batch
        parts = [self._ask(list(texts[i : i + size])) for i in range(0, len(texts), size)]
        return torch.cat(parts).softmax(-1)


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:39]}…")

"""`from_pooled`: one's own PyTorch module with one attention, checked before it is examined."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from verax.corpora.encoded import EncodedDocuments
from verax.corpora.ragged import Ragged
from verax.corpora.tokenizer import AS_WRITTEN, TOKENIZERS, Tokenizer
from verax.corpora.vocabulary import EOS, SOS, SPECIALS, Vocabulary
from verax.errors import VeraxError, foreign_code, nearest
from verax.external.external_classifier import class_names
from verax.external.pooled import FunctionHead, ModuleClassifier, call
from verax.models.layers import Head
from verax.models.pooled import evaluation_mode
from verax.models.trace import Trace
from verax.options import check

_LENGTHS = (8, 5, 3, 2, 1)
_OFF = 1e-4
_SCALES = (0.0, 0.1, 1.0, 10.0)
_SHARES = (0.5, 0.3, -1.5)


def from_pooled(
    module: nn.Module,
    *,
    vocabulary: Mapping[str, int] | Sequence[str],
    classes: Sequence[str],
    encode: Callable[[Tensor, Tensor], Tensor],
    attend: Callable[[Tensor, Tensor], Tensor],
    head: Callable[[Tensor], Tensor],
    embed: Callable[[Tensor], Tensor] | None = None,
    logits: Callable[[Tensor, Tensor], Tensor] | None = None,
    words: str = "words",
    lowercase: bool = True,
    max_length: int | None = None,
    padding: int | str = 0,
    unknown: int | str | None = None,
    start: int | str | None = None,
    end: int | str | None = None,
    name: str | None = None,
) -> ModuleClassifier:
    """A classifier of one's own that all exact exams take: a head reads Σ α h of one attention.

    Batches come first, masks are True where there is something. Modules of Verax's own
    (`verax.models.encoders.Encoder`, `Attention`, `Head`) may stand for functions; formulas that
    are known for them are then used.

    Args:
        module: the module that the parts belong to; its weights are the model's.
        vocabulary: word → row, or the words in the order of their rows.
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
        words: how texts are cut into words, as `tokenizer` of `verax.train`.
        lowercase: whether words are lower-cased.
        max_length: how many words of a text are read, its first; all, unless given.
        padding: row, or word of the vocabulary, that fills up short texts.
        unknown: row, or word, for words that the vocabulary lacks.
        start: row, or word, that is read before each text, never attended; with `end`.
        end: row, or word, that is read after each text.
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
    >>> model = from_pooled(
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
    if callable(words):
        raise VeraxError(
            "words is a function: expected the name of a tokenizer; for one of your own, give "
            "words='whitespace' and texts as lists of its tokens",
            code="option.wrong-type",
        )
    if not isinstance(words, str) or words not in TOKENIZERS:
        raise VeraxError(
            f"words is {words!r}: {nearest(words, TOKENIZERS)}", code="option.unknown-value"
        )
    if (start is None) != (end is None):
        raise VeraxError(
            "start and end come together: give both, or neither", code="option.conflict"
        )
    advice = "give word → row, and padding as a row or word"
    with foreign_code("vocabulary cannot be read", advice, code="model.bad-vocabulary"):
        known, rows = _vocabulary(vocabulary, padding, unknown, start, end)
    model = ModuleClassifier(
        module,
        known,
        rows,
        classes,
        Tokenizer(words, lowercase=lowercase and words != AS_WRITTEN),
        parts,
        start is not None,
        unknown is not None,
        name or type(module).__name__,
        None if max_length is None else check("max_length", max_length, int, {"minimum": 1}),
    )
    advice = "check that the parts take and give float32 tensors on the module's device"
    with foreign_code("the module cannot be examined", advice), evaluation_mode(model):
        _check(model, head, logits or module)
    return model


def _vocabulary(
    vocabulary: Mapping[str, int] | Sequence[str],
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
    plain = vocabulary if isinstance(vocabulary, Mapping) else enumerate_words(vocabulary)
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


def enumerate_words(words: Sequence[str]) -> dict[str, int]:
    """Word → its place."""
    return {str(word): row for row, word in enumerate(words)}


@torch.no_grad()
def _check(model: ModuleClassifier, head: Any, own: Callable[..., Any]) -> None:
    """Refuse parts that do not add up to the module, on a few made-up texts."""
    documents = _made_up(model)
    batch = documents.batch(np.arange(len(documents)), model.device)
    states, _ = model.encode_states(batch, model.embed(batch))
    if not isinstance(head, Head):
        model.head = FunctionHead(head, states.shape[-1], states)  # type: ignore[assignment]
    trace = model(batch)
    _check_logits(model, trace)
    if not _same(model(batch).logits, trace.logits):
        raise VeraxError(
            "the module gives the same texts other logits when asked again: refused",
            code="model.not-deterministic",
        )
    short = model(documents.batch(np.array([len(documents) - 1]), model.device)).logits
    if not _same(short, trace.logits[-1:]):
        raise VeraxError(
            f"a text has other logits beside longer ones (off by {_off(short, trace.logits[-1:])}):"
            " encode and attend must pay no heed to what the mask leaves out",
            code="model.batch-dependent",
        )
    rows = model.rows_of(batch.tokens)
    said = _own_logits(own, rows, batch.token_mask)
    if said.shape != trace.logits.shape:
        raise VeraxError(
            f"the module's own logits have the shape {tuple(said.shape)}, those of its parts "
            f"{tuple(trace.logits.shape)}: give logits=function(rows, mask)",
            code="model.wrong-output",
        )
    if not _same(said, trace.logits):
        raise VeraxError(
            "the module's own logits are not head(Σ α h) of its parts (off by "
            f"{_off(said, trace.logits)}): check embed, encode, attend and head",
            code="model.not-affine",
        )
    affine = _is_affine(model.head, trace)
    if isinstance(model.head, FunctionHead):
        model.head.affine = affine
    elif not affine:
        model.head = FunctionHead(head, states.shape[-1], states)  # type: ignore[assignment]


def _own_logits(own: Callable[..., Any], rows: Tensor, mask: Tensor) -> Tensor:
    try:
        said = call("the module", own, rows, mask)
    except VeraxError as error:
        raise VeraxError(f"{error}; give logits=function(rows, mask)", code=error.code) from error
    return said.unsqueeze(-1) if said.dim() == 1 else said


def _check_logits(model: ModuleClassifier, trace: Trace) -> None:
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


def _same(one: Tensor, other: Tensor) -> bool:
    most = max(1.0, float(other.detach().abs().max()))
    return bool(((one - other).abs() <= _OFF * most).all())


def _off(one: Tensor, other: Tensor) -> str:
    return f"{float((one - other).abs().max()):.2g}"

"""What every model can do, whoever made it: decide on texts and explain its decisions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verax.corpora.batching import MAX_TOKENS, reading_batches
from verax.corpora.corpus import Documents
from verax.corpora.encoded import EncodedDocuments, encodings_of
from verax.corpora.tokenizer import AS_WRITTEN, Tokenizer
from verax.errors import VeraxError, nearest
from verax.external.reading import ReadTexts, WordBatch, read_texts
from verax.models.kinds import DELETE, Watch
from verax.models.layers import decisions, probabilities
from verax.progress import Display, shown

Texts = Sequence[str | Sequence[str]]


@contextmanager
def evaluation_mode(*models: object) -> Iterator[None]:
    """Keep PyTorch models in evaluation mode, and restore the mode of each submodule afterwards.

    Dropout is off and batch norm uses its running statistics, and leaves them alone. Uses may be
    nested. Models that are not a `torch.nn.Module` are left alone.

    >>> model = nn.Sequential(nn.Dropout(), nn.Linear(2, 2).eval())
    >>> with evaluation_mode(model):
    ...     print([part.training for part in model.modules()])
    [False, False, False]
    >>> [part.training for part in model.modules()]
    [True, True, False]
    """
    modules = [model for model in models if isinstance(model, nn.Module)]
    training = [part for module in modules for part in module.modules() if part.training]
    try:
        for part in training:
            part.training = False
        yield
    finally:
        for part in training:
            part.training = True


@contextmanager
def unchanged_state(model: object) -> Iterator[None]:
    """Restore what passes in evaluation mode may still change: buffers, and a module's weights.

    Weights are copied for modules of `verax.from_module` only, whose own code runs in each pass.

    >>> model = nn.BatchNorm1d(2)
    >>> with unchanged_state(model):
    ...     _ = model(torch.ones(3, 2))
    >>> int(model.num_batches_tracked)
    0
    """
    foreign = isinstance(model, TextClassifier) and not model.trained_here
    before = [
        (part, name, tensor, tensor.detach().clone())
        for part in (model.modules() if isinstance(model, nn.Module) else ())
        for tensors in (part.named_buffers, *([part.named_parameters] if foreign else []))
        for name, tensor in tensors(recurse=False)
    ]
    try:
        yield
    finally:
        with torch.no_grad():
            for part, name, tensor, values in before:
                if getattr(part, name, None) is not tensor:
                    setattr(part, name, tensor)
                if tensor.shape != values.shape:
                    tensor.data = values
                elif not torch.equal(tensor, values):
                    tensor.copy_(values)


def class_names(classes: Any) -> list[str]:
    """Return the names of a model's classes as a list: two or more, no two the same."""
    unordered = isinstance(classes, (str, Mapping, Set)) or not isinstance(classes, Iterable)
    given = [] if unordered else list(classes)
    for name in given:
        if name is None or (isinstance(name, Iterable) and not isinstance(name, str)):
            raise VeraxError(
                f"a class is named {name!r}: give text or numbers, as in classes=['neg', 'pos'] "
                "(--class-names neg,pos)",
                code="model.class-names",
            )
    names = [str(name) for name in given]
    if len(names) < 2:
        raise VeraxError(
            f"classes is {classes!r}: give a list of two names or more", code="model.class-names"
        )
    for name in names:
        if names.count(name) > 1:
            raise VeraxError(
                f"two classes are named {name!r}: give each a name of its own, as in "
                "classes=['neg', 'pos'] (--class-names neg,pos)",
                code="model.class-names",
            )
    return names


class TextClassifier(ABC):
    """A text classifier, as `examine`, `explain`, `compare` and reports use it.

    A subclass encodes texts (`_encoded`) and runs a forward pass over a batch (`forward`); all
    else follows from these.

    kind       pooled, transformer or predict
    classes    names of the classes, in the order of logits
    word_tokenizer  splits texts into words
    record     metadata saved with results
    attended   words or sentences: what attention weighs
    trained_here  whether Verax trained it
    """

    kind: str
    trained_here = False
    classes: list[str]
    word_tokenizer: Tokenizer
    record: Mapping[str, Any]

    @property
    def attended(self) -> str:
        """Words or sentences: what attention weighs."""
        return "words"

    @property
    @abstractmethod
    def device(self) -> torch.device: ...

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the weights as they are now, 16 hexadecimal digits; empty without any."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What the model is, in plain values: options, or architecture, layers and heads."""

    @property
    @abstractmethod
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away."""

    def encode(self, texts: Any, watch: Watch = iter) -> Any:
        """Return texts as the model reads them.

        Whatever it is, it has `texts`, the `words` and their `spans` in each, and `lengths`.

        Args:
            texts: documents of a corpus, which are encoded once; texts; or lists of words.
            watch: passes texts on while they are tokenized, for a progress bar.
        """
        if isinstance(texts, (EncodedDocuments, ReadTexts)):
            return texts
        if not isinstance(texts, Documents):
            return self._encoded(texts, watch)
        known = encodings_of(self)
        if texts not in known:
            known[texts] = self._encoded(texts, watch)
        return known[texts]

    @abstractmethod
    def _encoded(self, texts: Any, watch: Watch) -> Any:
        """Encode texts or documents."""

    def batch(self, read: Any, rows: NDArray[np.int64]) -> Any:
        """The texts at `rows` of what `encode` returned, padded, on the model's device."""
        return read.batch(rows, self.device)

    @abstractmethod
    def forward(self, batch: Any) -> Any:
        """Run a forward pass over a batch; return its trace."""

    def __call__(self, batch: Any) -> Any:
        return self.forward(batch)

    def unknown_words(self, texts: Any) -> float:
        """The share of words that the model reads as unknown; 0 where it does not know."""
        return 0.0

    def label_number(self, label: str) -> int | None:
        """The class that a label of a corpus stands for, None where it stands for none."""
        return self.classes.index(label) if label in self.classes else None

    @torch.no_grad()
    def trace_rows(self, read: Any, rows: NDArray[np.int64]) -> Any:
        """The forward pass over the texts at `rows` of what `encode` returned."""
        return self(self.batch(read, rows))

    def trace(self, texts: Any) -> Any:
        """The forward pass over some texts, all at once, in the order given.

        For many or long texts use `traces`, which keeps to a token budget.
        """
        read = self.encode(texts)
        if len(read) == 0:
            raise VeraxError("no text to trace: give at least one", code="text.missing")
        return self.trace_rows(read, np.arange(len(read)))

    def batches(self, read: Any, max_tokens: int) -> list[NDArray[np.int64]]:
        """Which texts are traced together, within a budget of padded tokens."""
        return reading_batches(read.lengths, max_tokens)

    def traces(
        self, texts: Any, max_tokens: int = MAX_TOKENS, watch: Watch = iter
    ) -> Iterator[Any]:
        """Traces of any number of texts, batch by batch within a budget of padded tokens.

        Batches are longest first; `trace.ids` tells which documents a trace is of (positions in
        the list, for texts).
        """
        read = self.encode(texts)
        for rows in watch(self.batches(read, max_tokens)):
            yield self.trace_rows(read, rows)

    def logits(self, texts: Any, max_tokens: int = MAX_TOKENS, watch: Watch = iter) -> Tensor:
        """(documents, classes) in the order given, on CPU; one column means one sigmoid logit."""
        read = self.encode(texts)
        batches = reading_batches(read.lengths, max_tokens)
        parts = [self.trace_rows(read, rows).logits.float() for rows in watch(batches)]
        if not parts:
            return torch.zeros(0, len(self.classes))
        joined = torch.cat(parts).cpu()
        logits = torch.empty_like(joined)
        logits[torch.from_numpy(np.concatenate(batches))] = joined
        return logits

    def predict(
        self,
        texts: Texts,
        max_tokens: int = MAX_TOKENS,
        watch: Watch | None = None,
        *,
        progress: bool | Display | None = None,
    ) -> pd.DataFrame:
        """Decide on new texts.

        Args:
            texts: texts, or lists of tokens; none may be empty.
            max_tokens: padded tokens held at once; it changes no result beyond rounding.
            watch: passes batches on; for programs that show progress themselves.
            progress: show how far it got; None shows it on a terminal and in a notebook.

        Returns:
            A row per text: `label`, the class decided for, and `p_<class>` for each class, its
            probability.
        """
        with shown(progress if watch is None else False) as display:
            logits = self.logits(texts, max_tokens, watch or display.watching("labelling"))
        shares = probabilities(logits).numpy()
        frame = pd.DataFrame(shares, columns=[f"p_{name}" for name in self.classes])
        labels = [self.classes[i] for i in decisions(logits).tolist()]
        frame.insert(0, "label", pd.Series(labels, dtype=str))
        return frame

    def explain(
        self,
        texts: Texts,
        by: str | Sequence[str] | None = None,
        *,
        target: str | int | None = None,
        importances: Mapping[str, Any] | None = None,
        redact: str | Sequence[str] = (),
        seed: int = 0,
        max_tokens: int = MAX_TOKENS,
        watch: Watch | None = None,
        progress: bool | Display | None = None,
    ) -> pd.DataFrame:
        """Score every word of each text by one or more importances.

        Args:
            texts: texts, or lists of tokens; none may be empty.
            by: names of importances (`verax.IMPORTANCES` has them); attention, gradient and
                leave-one-out, unless given.
            target: the class to explain, by name or number; the class decided for, unless given.
            importances: scores of your own by name: arrays, a tensor, a captum attribution, or a
                function of (model, trace).
            redact: regular expressions; words in which they are found are covered in the table.
            seed: of the importance `random`.
            max_tokens: padded tokens held at once; it changes no result beyond rounding.
            watch: passes batches on; for programs that show progress themselves.
            progress: show how far it got; None shows it on a terminal and in a notebook.

        Returns:
            A row per word: the text's position, its decision and the probability of that, the word,
            and a column per importance. See `verax.importance.explain`.
        """
        from verax.importance.explanation import explain

        return explain(
            *(self, texts, by),
            target=target,
            importances=importances,
            redact=redact,
            seed=seed,
            max_tokens=max_tokens,
            watch=watch,
            progress=progress,
        )


@dataclass(frozen=True, eq=False, repr=False)
class WordTrace:
    """Logits of a batch of texts. Tokens and items are words here.

    batch   the texts and their words
    logits  (batch, classes); one column means one sigmoid logit
    cache   what was worked out of this trace already, kept by whoever worked it out
    """

    batch: WordBatch
    logits: Tensor
    cache: dict[Any, Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.logits)

    @property
    def ids(self) -> NDArray[np.int64]:
        return self.batch.ids

    @property
    def labels(self) -> Tensor | None:
        return self.batch.labels

    @property
    def mask(self) -> Tensor:
        """(batch, words) bool"""
        return self.batch.words

    @property
    def tokens(self) -> Tensor:
        """(batch, words): one place for each word that is read; only its shape says anything."""
        return self.batch.words.long()

    @property
    def words(self) -> list[list[str]]:
        """The words of each text, as it has them."""
        pairs = zip(self.batch.texts, self.batch.spans, strict=True)
        return [[text[start:stop] for start, stop in spans] for text, spans in pairs]


class ExternalClassifier(TextClassifier):
    """A classifier of whole texts that was not trained by Verax: the base class of adapters.

    A subclass gives `fingerprint`, `describe`, `forward` and `logits_of_texts`.

    Args:
        classes: names of the classes, in the order of the logits.
        word_tokenizer: how texts are split into words: as-written or whitespace.
        record: metadata saved with results.
    """

    def __init__(
        self,
        classes: Sequence[str],
        word_tokenizer: Tokenizer | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.classes = [str(name) for name in classes]
        self.word_tokenizer = word_tokenizer or Tokenizer(AS_WRITTEN, lowercase=False)
        self.record = dict(record or {})

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def _encoded(self, texts: Texts | Documents, watch: Watch) -> ReadTexts:
        return read_texts(texts, self.word_tokenizer)

    def forward(self, batch: Any) -> WordTrace:
        """What the model says of the texts of a batch."""
        return WordTrace(batch, self.logits_of_texts(batch.texts))

    @property
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away."""
        return (DELETE,)

    def logits_without(
        self,
        trace: WordTrace,
        rows: Tensor,
        removed: Tensor,
        operator: str = DELETE,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Tensor:
        """(variants, classes): logits of texts without some of their words.

        Args:
            trace: a batch of texts.
            rows: (variants,) long: which text of the batch each variant is of.
            removed: (variants, words) bool: the words that are taken away.
            operator: how: one of `operators`.
            max_tokens: padded tokens held at once.
            watch: passes batches on, to show progress.

        A text without any words is read as the empty text.
        """
        if operator not in self.operators:
            raise VeraxError(
                f"operator {operator!r}: {nearest(operator, self.operators)}",
                code="option.unknown-value",
            )
        gone = removed.cpu().numpy()
        pairs = zip(rows.tolist(), gone, strict=True)
        texts = [trace.batch.without(row, words) for row, words in pairs]
        return self.logits_of_texts(texts, max_tokens, watch).to(trace.logits.device)

    @abstractmethod
    def logits_of_texts(
        self, texts: list[str], max_tokens: int = MAX_TOKENS, watch: Watch = iter
    ) -> Tensor:
        """(texts, classes): logits of any texts, also empty ones, in the order given."""

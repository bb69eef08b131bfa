"""What every model that Verax did not train can do: decide on texts, whole and in part."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.batching import MAX_TOKENS, reading_batches
from verax.corpora.corpus import Documents
from verax.corpora.encoded import encodings_of
from verax.corpora.tokenizer import AS_WRITTEN, Tokenizer
from verax.errors import VeraxError, nearest
from verax.external.reading import ReadTexts, read_texts
from verax.external.trace import WordTrace
from verax.models.kinds import DELETE, Watch
from verax.models.layers import decisions, probabilities
from verax.progress import Display, shown

Texts = Sequence[str | Sequence[str]]


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


class ExternalClassifier(ABC):
    """A text classifier that was not trained by Verax: the base class of all adapters.

    Args:
        classes: names of the classes, in the order of the logits.
        word_tokenizer: how texts are split into words: as-written or whitespace.
        record: metadata saved with results.
    """

    kind: str
    trained_here = False

    def __init__(
        self,
        classes: Sequence[str],
        word_tokenizer: Tokenizer | None = None,
        record: Mapping[str, Any] | None = None,
    ) -> None:
        self.classes = [str(name) for name in classes]
        self.word_tokenizer = word_tokenizer or Tokenizer(AS_WRITTEN, lowercase=False)
        self.record: Mapping[str, Any] = dict(record or {})

    @property
    def attended(self) -> str:
        return "words"

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the model, 16 hexadecimal digits; empty where there is none to be had."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What the model is, in plain values."""

    @abstractmethod
    def trace_rows(self, read: ReadTexts, rows: NDArray[np.int64]) -> WordTrace:
        """A pass over the texts at `rows`."""

    def encode(self, texts: Texts | Documents | ReadTexts, watch: Watch = iter) -> ReadTexts:
        """Return texts as the model reads them: words, with their spans in the text.

        Args:
            texts: documents of a corpus, which are encoded once; texts; or lists of words.
            watch: passes texts on, for a progress bar.
        """
        if isinstance(texts, ReadTexts):
            return texts
        if not isinstance(texts, Documents):
            return self._encoded(texts)
        known = encodings_of(self)
        if texts not in known:
            known[texts] = self._encoded(texts)
        return known[texts]

    def _encoded(self, texts: Texts | Documents) -> ReadTexts:
        return read_texts(texts, self.word_tokenizer)

    def unknown_words(self, texts: Texts | Documents | ReadTexts) -> float:
        """The share of words that the model reads as unknown; 0 where it does not tell."""
        return 0.0

    def trace(self, texts: Texts) -> WordTrace:
        """A pass over some texts, all at once, in the order given."""
        read = self.encode(texts)
        if len(read) == 0:
            raise VeraxError("no text to trace: give at least one", code="text.missing")
        return self.trace_rows(read, np.arange(len(read)))

    def batches(self, read: ReadTexts, max_tokens: int) -> list[NDArray[np.int64]]:
        """Which texts are traced together, within a budget of padded tokens."""
        return reading_batches(read.lengths, max_tokens)

    def traces(
        self,
        texts: Texts | Documents | ReadTexts,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Iterator[WordTrace]:
        """Traces of any number of texts, batch by batch within a budget of padded tokens."""
        read = self.encode(texts)
        for rows in watch(self.batches(read, max_tokens)):
            yield self.trace_rows(read, rows)

    @torch.no_grad()
    def logits(
        self,
        texts: Texts | Documents | ReadTexts,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Tensor:
        """(documents, classes) in the order given, on CPU."""
        read = self.encode(texts)
        batches = reading_batches(read.lengths, max_tokens)
        logits = torch.zeros(len(read), len(self.classes), dtype=torch.float32)
        for rows in watch(batches):
            logits[torch.from_numpy(rows)] = self.trace_rows(read, rows).logits.float().cpu()
        return logits

    def predict(
        self,
        texts: Texts,
        max_tokens: int = MAX_TOKENS,
        *,
        progress: bool | Display | None = None,
    ) -> pd.DataFrame:
        """Decide on texts: a row each, `label` and `p_<class>` for each class.

        Args:
            texts: texts, or lists of words; none may be empty.
            max_tokens: padded tokens held at once.
            progress: show how far it got; None shows it on a terminal and in a notebook.
        """
        with shown(progress) as display:
            logits = self.logits(texts, max_tokens, display.watching("labelling"))
        frame = pd.DataFrame(
            probabilities(logits).numpy(), columns=[f"p_{name}" for name in self.classes]
        )
        labels = [self.classes[i] for i in decisions(logits).tolist()]
        frame.insert(0, "label", pd.Series(labels, dtype=str))
        return frame

    def explain(self, texts: Texts, by: str | Sequence[str] | None = None, **more: Any) -> Any:
        """Score every word of each text by one or more importances.

        Args:
            texts: texts, or lists of words.
            by: names of importances.
            more: `target`, `importances`, `redact`, `seed`, `max_tokens`, `progress`, as
                `verax.importance.explain` has them.
        """
        from verax.importance.explanation import explain

        return explain(self, texts, by, **more)

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
        return self.logits_of_whatever(texts, max_tokens, watch).to(trace.logits.device)

    @abstractmethod
    def logits_of_whatever(
        self, texts: list[str], max_tokens: int = MAX_TOKENS, watch: Watch = iter
    ) -> Tensor:
        """(texts, classes): logits of any texts, also empty ones, in the order given."""

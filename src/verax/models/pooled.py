"""What exams and importances ask of a model with one attention over items, whoever made it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from verax.budget import tokens_within
from verax.corpora.batch import Batch
from verax.corpora.batching import MAX_TOKENS, reading_batches
from verax.corpora.corpus import Documents
from verax.corpora.encoded import EncodedDocuments, encode, encodings_of
from verax.corpora.tokenizer import Tokenizer
from verax.corpora.vocabulary import UNK, Vocabulary
from verax.errors import VeraxError
from verax.models.encoders import Encoder
from verax.models.kinds import ATTENTION, DELETE, MASK, POOLED
from verax.models.layers import Attention, HashedDropout, Head, decisions, pool, probabilities
from verax.models.trace import Trace
from verax.progress import Display, shown

Texts = Sequence[str | Sequence[str]]
Watch = Callable[[Iterable[Any]], Iterable[Any]]


@contextmanager
def evaluation_mode(model: object) -> Iterator[None]:
    """Keep a PyTorch model in evaluation mode, and restore the mode of each submodule afterwards.

    Dropout is off and batch norm uses its running statistics, and leaves them alone. Uses may be
    nested. Models that are not a `torch.nn.Module` are left alone.

    >>> model = nn.Sequential(nn.Dropout(), nn.Linear(2, 2).eval())
    >>> with evaluation_mode(model):
    ...     print([part.training for part in model.modules()])
    [False, False, False]
    >>> [part.training for part in model.modules()]
    [True, True, False]
    """
    parts = model.modules() if isinstance(model, nn.Module) else ()
    training = [part for part in parts if part.training]
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

    Weights are copied for modules of `verax.from_pooled` only, whose own code runs in each pass.

    >>> model = nn.BatchNorm1d(2)
    >>> with unchanged_state(model):
    ...     _ = model(torch.ones(3, 2))
    >>> int(model.num_batches_tracked)
    0
    """
    foreign = isinstance(model, PooledClassifier) and not model.trained_here
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


class PooledClassifier(nn.Module, ABC):
    """Tokens → word vectors → states → items → weights → Σ α h → logits.

    Every exact exam asks no more than this. `AttentionClassifier` is what Verax trains,
    `verax.from_pooled` makes one of anybody's module.

    classes       names of the classes, in the order of logits
    word_tokenizer  splits texts into words
    max_length    how many words of a text are read; None for all
    vocabulary    the words that have a vector of their own
    record        what is known of the model's making
    encoder       makes states of word vectors; formulas are used where they are known for it
    head          (…, size) → (…, classes), with `affine`, and a `bias` where that is true
    grounding     what is done to the encoder's states: none, concat, residual
    boundaries    whether SOS and EOS are read around the text
    has_vectors   whether words have vectors to go back to: without, inputs have no gradients
    trained_here  whether Verax trained it
    """

    kind = POOLED
    trained_here = False
    has_vectors = True
    grounding = "none"
    boundaries = False
    classes: list[str]
    word_tokenizer: Tokenizer
    max_length: int | None = None
    vocabulary: Vocabulary
    record: Mapping[str, Any]
    encoder: Encoder
    head: Head

    @property
    @abstractmethod
    def device(self) -> torch.device: ...

    @property
    def attended(self) -> str:
        """Words or sentences: what attention weighs."""
        return "words"

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A hash of the weights as they are now, 16 hexadecimal digits."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """What the model is, in plain values."""

    @property
    @abstractmethod
    def word_vectors(self) -> Tensor:
        """(vocabulary rows, size): the vector of each word."""

    @property
    @abstractmethod
    def words_are_items(self) -> bool:
        """Whether a word and its item are one: no state or weight looks beyond its own word."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Ways in which words can be taken away.

        Attention can only be taken off words where it is words that are attended.
        """
        return (DELETE, MASK, ATTENTION) if self.attended == "words" else (DELETE, MASK)

    @property
    def known_readout(self) -> tuple[Attention, Head] | None:
        """Attention and head, where both are maps that formulas are known for."""
        return None

    @abstractmethod
    def embed(self, batch: Batch) -> Tensor:
        """(batch, tokens, size): word vectors."""

    @abstractmethod
    def encode_states(
        self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None
    ) -> tuple[Tensor, Tensor]:
        """Word vectors → states of words, (batch, tokens, …), and items, (batch, items, …)."""

    @abstractmethod
    def attend(self, batch: Batch, items: Tensor) -> tuple[Tensor, Tensor]:
        """(batch, items, size) → scores and weights, both (batch, items)."""

    @abstractmethod
    def weights_left(
        self, trace: Trace, rows: Tensor, left: Tensor, max_tokens: int = MAX_TOKENS
    ) -> Tensor:
        """Weights once items are gone and the rest is weighed again, in float64.

        Args:
            trace: a batch.
            rows: (rows,) long: which documents of the batch.
            left: (rows, variants, items) bool: the items that are left in each variant; with none,
                all weights are zero.
            max_tokens: padded tokens held at once.

        Returns:
            (rows, variants, items), on the simplex over what is left.
        """

    def forward(self, batch: Batch, noise: HashedDropout | None = None) -> Trace:
        """One pass. Without a HashedDropout nothing is dropped, in training mode and out of it."""
        return self.run(batch, self.embed(batch), noise)

    def run(self, batch: Batch, embedded: Tensor, noise: HashedDropout | None = None) -> Trace:
        """The pass from any word vectors on, (batch, tokens, embedding)."""
        states, items = self.encode_states(batch, embedded, noise)
        scores, weights = self.attend(batch, items)
        context = pool(weights, items)
        # a head of someone's own need not know of noise
        logits = self.head(context) if noise is None else self.head(context, noise.rows())
        return Trace(
            ids=batch.ids,
            labels=batch.labels,
            tokens=batch.tokens,
            token_mask=batch.token_mask,
            mask=batch.mask,
            batch=batch,
            embedded=embedded,
            states=states,
            items=items,
            scores=scores,
            weights=weights,
            logits=logits,
            head=self.head,
        )

    # what people call

    @torch.no_grad()
    def trace(self, texts_or_batch: Texts | Batch) -> Trace:
        """The forward pass over some texts, all at once: weights, scores, logits and items.

        For many or long texts use `traces`, which keeps to a token budget.

        Args:
            texts_or_batch: texts, token lists, or a `Batch`.

        Returns:
            A trace, with documents in the order given.
        """
        if isinstance(texts_or_batch, Batch):
            return self(texts_or_batch)
        encoded = self.encode(texts_or_batch)
        if len(encoded) == 0:
            raise VeraxError("no text to trace: give at least one", code="text.missing")
        return self(encoded.batch(np.arange(len(encoded)), self.device))

    @torch.no_grad()
    def trace_rows(self, encoded: EncodedDocuments, rows: NDArray[np.int64]) -> Trace:
        """The forward pass over the documents at `rows` of what `encode` returned."""
        return self(encoded.batch(rows, self.device))

    @torch.no_grad()
    def traces(
        self,
        texts: Texts | Documents | EncodedDocuments,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Iterator[Trace]:
        """Traces of any number of texts, batch by batch within a budget of padded tokens.

        Batches are longest first; `trace.ids` tells which documents a trace is of (positions in
        the list, for texts).
        """
        encoded = self.encode(texts)
        for rows in watch(self.batches(encoded, max_tokens)):
            yield self(encoded.batch(rows, self.device))

    def batches(self, encoded: EncodedDocuments, max_tokens: int) -> list[NDArray[np.int64]]:
        """Which documents are traced together: each item of a trace has a logit of each class."""
        return reading_batches(encoded.lengths, tokens_within(max_tokens, len(self.classes)))

    @torch.no_grad()
    def logits(
        self,
        texts: Texts | Documents | EncodedDocuments,
        max_tokens: int = MAX_TOKENS,
        watch: Watch = iter,
    ) -> Tensor:
        """(documents, classes) in the order given, on CPU; one column means one sigmoid logit."""
        encoded = self.encode(texts)
        batches = reading_batches(encoded.lengths, max_tokens)
        pieces = [self(encoded.batch(rows, self.device)).logits for rows in watch(batches)]
        joined = torch.cat(pieces).cpu() if pieces else torch.zeros(0, len(self.head.bias))
        logits = torch.empty_like(joined)
        logits[torch.from_numpy(np.concatenate(batches) if batches else np.zeros(0, int))] = joined
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

    def encode(
        self, texts: Texts | Documents | EncodedDocuments, watch: Watch = iter
    ) -> EncodedDocuments:
        """Return texts as the model reads them: token ids, and words with their spans in the text.

        Args:
            texts: documents of a corpus, which are encoded once; texts; or lists of tokens.
            watch: passes texts on while they are tokenized, for a progress bar.
        """
        if isinstance(texts, EncodedDocuments):
            return texts
        if not isinstance(texts, Documents):
            return self._encoded(texts, watch)
        known = encodings_of(self)
        if texts not in known:
            known[texts] = self._encoded(texts, watch)
        return known[texts]

    def _encoded(self, texts: Texts | Documents, watch: Watch) -> EncodedDocuments:
        return encode(
            texts,
            self.vocabulary,
            self.word_tokenizer,
            max_length=self.max_length,
            boundaries=self.boundaries,
            hierarchical=self.attended == "sentences",
            watch=watch,
        )

    def unknown_words(self, texts: Texts | Documents | EncodedDocuments) -> float:
        """The share of the words of texts or documents that the vocabulary lacks."""
        encoded = self.encode(texts)
        words = len(encoded.tokens.values) - (2 * len(encoded) if encoded.boundaries else 0)
        return float((encoded.tokens.values == UNK).sum()) / max(words, 1)

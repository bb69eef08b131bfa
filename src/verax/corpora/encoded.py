"""A split as numbers, ready to be cut into batches on any device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from verax.corpora.batch import Batch, SentenceLayout
from verax.corpora.batching import Rows
from verax.corpora.corpus import Documents
from verax.corpora.ragged import Ragged
from verax.corpora.tokenizer import TokenizedTexts, Tokenizer, tokenize
from verax.corpora.vocabulary import EOS, PAD, SOS, Vocabulary
from verax.errors import VeraxError

Texts = Sequence[str | Sequence[str]]


@dataclass(frozen=True, eq=False)
class EncodedDocuments:
    """Vocabulary rows of every document, SOS and EOS included where `boundaries` is set.

    `sentences` holds the number of tokens of each sentence for a hierarchical model, else None;
    `tokenized` the texts as words, where they are known.
    """

    tokens: Ragged
    labels: NDArray[np.int64] | None
    ids: NDArray[np.int64]
    boundaries: bool
    sentences: Ragged | None = None
    tokenized: TokenizedTexts | None = None
    _on_device: dict[torch.device, tuple[Tensor, ...]] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def words(self) -> list[list[str]]:
        """The words of every text that are read."""
        return self._known.words

    @property
    def texts(self) -> Sequence[str | Sequence[str]]:
        """The texts, or lists of tokens."""
        return self._known.texts

    @property
    def spans(self) -> Ragged:
        """Where each word that is read begins and ends in its text, values (words, 2)."""
        return self._known.spans

    @property
    def word_counts(self) -> NDArray[np.int64]:
        """(documents,): how many words of each are read."""
        return self.tokens.lengths - 2 * self.boundaries

    @property
    def _known(self) -> TokenizedTexts:
        if self.tokenized is None:
            raise VeraxError(
                "these documents are numbers alone: their words are known where texts were encoded",
                code="text.missing",
            )
        return self.tokenized

    @property
    def lengths(self) -> NDArray[np.int64]:
        """How many tokens of each document are read, SOS and EOS included."""
        return self.tokens.lengths

    def batch(self, rows: NDArray[np.int64], device: torch.device) -> Batch:
        """The documents at `rows`, padded to the longest, built on `device`.

        Only row starts and lengths travel: the tokens were put on the device once.
        """
        lengths = self.lengths[rows]
        width = int(lengths.max(initial=0))
        build = self._on_cpu if device.type == "cpu" else self._on_accelerator
        tokens, token_mask, words, row_index, labels = build(rows, lengths, width, device)
        layout = None
        if self.sentences is not None:
            layout = SentenceLayout.of(self.sentences.take(rows), width, device)
        return Batch(
            tokens=tokens,
            token_mask=token_mask,
            mask=words if layout is None else layout.mask,
            lengths=torch.from_numpy(lengths),
            labels=labels if self.labels is not None else None,
            ids=self.ids[rows],
            row_index=row_index,
            layout=layout,
            texts=self.tokenized,
        )

    def _on_accelerator(
        self, rows: Rows, lengths: Rows, width: int, device: torch.device
    ) -> tuple[Tensor, ...]:
        geometry = torch.from_numpy(self.geometry(rows))
        return self._laid_out(geometry.to(device, non_blocking=True), width)

    def geometry(self, rows: Rows) -> Rows:
        """(3, batch): where each document starts, how long it is, and its row."""
        return np.stack([self.tokens.offsets[rows], self.lengths[rows], rows])

    def laid_out(self, geometry: Tensor, width: int) -> Batch:
        """The flat batch of documents at a `geometry` that lies on the device already.

        Made by the device alone, so that it can be captured and replayed with another geometry.
        The host does not know what a GPU's geometry holds: `lengths` are on the device, and `ids`
        are −1.
        """
        batch = geometry.shape[1]
        tokens, token_mask, words, row_index, labels = self._laid_out(geometry, width)
        return Batch(
            tokens=tokens,
            token_mask=token_mask,
            mask=words,
            lengths=geometry[1],
            labels=labels if self.labels is not None else None,
            ids=np.full(batch, -1),
            row_index=row_index,
        )

    def _laid_out(self, geometry: Tensor, width: int) -> tuple[Tensor, ...]:
        flat, labels = self._tensors(geometry.device)
        starts, ends, row_index = geometry.unsqueeze(-1)
        places = torch.arange(width, device=geometry.device)
        token_mask = places < ends
        words = (places > 0) & (places < ends - 1) if self.boundaries else token_mask
        index = (starts + places).clamp_(max=max(len(flat) - 1, 0))
        tokens = flat[index].masked_fill_(~token_mask, PAD)
        row_index = row_index.squeeze(-1)
        return tokens, token_mask, words, row_index, labels[row_index] if len(labels) else labels

    def _on_cpu(
        self, rows: Rows, lengths: Rows, width: int, device: torch.device
    ) -> tuple[Tensor, ...]:
        """The same in numpy, whose small operations cost a fraction of torch's."""
        places = np.arange(width)
        ends = lengths[:, None]
        token_mask = places < ends
        words = (places > 0) & (places < ends - 1) if self.boundaries else token_mask
        index = np.minimum(self.tokens.offsets[rows, None] + places, len(self.tokens.values) - 1)
        tokens = np.where(token_mask, self.tokens.values[index], PAD).astype(np.int64)
        labels = self.labels[rows] if self.labels is not None else np.zeros(0, np.int64)
        return tuple(torch.from_numpy(a) for a in (tokens, token_mask, words, rows, labels))

    def _tensors(self, device: torch.device) -> tuple[Tensor, ...]:
        if device not in self._on_device:
            labels = self.labels if self.labels is not None else np.zeros(0, np.int64)
            self._on_device[device] = (
                torch.from_numpy(self.tokens.values.astype(np.int64)).to(device),
                torch.from_numpy(labels).to(device),
            )
        return self._on_device[device]


_ENCODED: WeakKeyDictionary[Any, WeakKeyDictionary[Documents, Any]] = WeakKeyDictionary()


def encodings_of(model: Any) -> MutableMapping[Any, Any]:
    """Documents → what a model made of them, for as long as both are in memory."""
    return _ENCODED.setdefault(model, WeakKeyDictionary())


def encode(
    source: Texts | Documents,
    vocabulary: Vocabulary,
    tokenizer: Tokenizer,
    *,
    max_length: int | None = None,
    boundaries: bool = False,
    hierarchical: bool = False,
    watch: Callable[[Iterable[Any]], Iterable[Any]] = iter,
) -> EncodedDocuments:
    """Return documents, texts or lists of tokens as vocabulary rows.

    Args:
        source: what is read; a text of a list may not be blank.
        vocabulary: whose rows.
        tokenizer: splits texts into words.
        max_length: reads this many words of a text, its first.
        boundaries: whether to put SOS and EOS around each.
        hierarchical: whether to find sentences.
        watch: passes texts on while they are tokenized, for a progress bar.
    """
    texts = tokenize(_checked(source), tokenizer)
    texts.number(watch)
    empty = np.flatnonzero(texts.numbers.lengths == 0)
    if len(empty) and not isinstance(source, Documents):
        raise VeraxError(
            f"text {empty[0]} has no words ({len(empty)} such): leave empty texts out first",
            code="text.empty",
        )
    if max_length is not None:
        texts = texts.first(max_length)
    rows = vocabulary.encode(texts)
    if boundaries:
        rows = rows.surround(SOS, EOS)
    labels, ids = None, np.arange(len(texts))
    if isinstance(source, Documents):
        labels, ids = source.labels if source.is_labelled else None, source.ids
    sentences = texts.sentences if hierarchical else None
    return EncodedDocuments(rows, labels, ids, boundaries, sentences, texts)


def _checked(source: Texts | Documents) -> Texts | Documents:
    """Documents as they are, or a list of texts and lists of tokens."""
    if isinstance(source, Documents):
        return source
    if isinstance(source, str):
        raise VeraxError(
            "expected a list of texts, not one text: put it in a list", code="text.wrong-type"
        )
    if isinstance(source, bytes | Mapping) or not isinstance(source, Iterable):
        raise VeraxError(
            f"expected a list of texts, not {type(source).__name__}: give a list",
            code="text.wrong-type",
        )
    texts = list(source)
    for place, text in enumerate(texts):
        if not isinstance(text, (str, list, tuple, np.ndarray)):
            raise VeraxError(
                f"text {place} is {type(text).__name__}: expected text or tokens",
                code="text.wrong-type",
            )
    return texts

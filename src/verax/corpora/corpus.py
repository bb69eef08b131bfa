"""Documents with labels, in three splits: what every later room reads."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.corpora.ragged import Ragged
from verax.corpora.rationales import Rationales, joined_places, majority
from verax.corpora.tokenising import Lexicon, Tokeniser, sentence_lengths
from verax.errors import VeraxError
from verax.files import json_text, replace_folder, write_table, write_text

SPLITS = ("train", "validation", "test")
"""The names of the splits of a corpus."""
ALL = "all"
"""What `examine` takes for the documents of every split."""
CLASSES = "classes.json"


@dataclass(frozen=True, eq=False)
class Documents:
    """One split of a corpus.

    Args:
        texts: the text of each document.
        labels: (documents,), positions in the corpus's `classes`; −1 where there are no labels.
        ids: (documents,), the row's `id` where the source has whole numbers there, else the row.
        tokeniser: how texts become tokens.
        lexicon: numbers of all tokens seen so far, shared by the splits of a corpus.
        given_tokens: the tokens of each document, where the corpus brings them.
        marks: what people marked as the reason for the label, where the corpus brings it.
    """

    texts: list[str]
    labels: NDArray[np.int64]
    ids: NDArray[np.int64]
    tokeniser: Tokeniser
    lexicon: Lexicon
    given_tokens: list[list[str]] | None = None
    marks: Rationales | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Documents({len(self):,} documents)"

    @property
    def is_labelled(self) -> bool:
        """Whether documents have labels: all of them, or none."""
        return not len(self) or bool(self.labels[0] >= 0)

    @cached_property
    def token_numbers(self) -> Ragged:
        """Every token as its number in the corpus's lexicon; computed on first use."""
        return self.lexicon.number(self._token_lists())

    def _token_lists(self, watch: Callable[[Iterable[Any]], Iterable[Any]] = iter) -> Any:
        return map(self.tokeniser, watch(self.given_tokens or self.texts))

    def tokenise(self, watch: Callable[[Iterable[Any]], Iterable[Any]]) -> None:
        """Tokenise now, passing every document through `watch` (a progress bar)."""
        if "token_numbers" not in self.__dict__:
            self.__dict__["token_numbers"] = self.lexicon.number(self._token_lists(watch))

    @property
    def tokens(self) -> list[list[str]]:
        """The tokens of every document, as text."""
        numbers = self.token_numbers
        types = list(self.lexicon)
        return [[types[n] for n in row.tolist()] for row in numbers]

    @cached_property
    def places(self) -> Ragged:
        """Where each token begins and ends in its text, values (tokens, 2)."""
        if self.given_tokens is not None:
            rows = [joined_places(tokens) for tokens in self.given_tokens]
        else:
            rows = [self.tokeniser.spans(text) for text in self.texts]
        lengths = np.array([len(row) for row in rows], dtype=np.int64)
        return Ragged.from_lengths(np.concatenate([np.zeros((0, 2), np.int64), *rows]), lengths)

    @cached_property
    def marked_shares(self) -> Ragged | None:
        """The share of annotators who marked each token; None where the corpus has no marks."""
        return None if self.marks is None else self.marks.shares(self.places)

    @cached_property
    def rationales(self) -> Ragged | None:
        """Whether more than half of the annotators marked each token; None without any marks."""
        return None if self.marked_shares is None else majority(self.marked_shares)

    @cached_property
    def sentences(self) -> Ragged:
        """The number of tokens in every sentence of every document."""
        return sentence_lengths(self.token_numbers, self.lexicon)

    def take(self, rows: NDArray[np.int64]) -> Documents:
        """The documents at these positions, in that order."""
        tokens, marks = self.given_tokens, self.marks
        return replace(
            self,
            texts=[self.texts[i] for i in rows],
            labels=self.labels[rows],
            ids=self.ids[rows],
            given_tokens=None if tokens is None else [tokens[i] for i in rows],
            marks=None if marks is None else marks.take(rows),
        )

    def truncated(self, length: int) -> Documents:
        """The same documents with their first `length` tokens, joined by blanks where one is cut.

        Tokens keep their case in the text. The tokeniser reads the new text as it read the old one.
        """
        texts, tokens = list(self.texts), self.given_tokens
        as_written = replace(self.tokeniser, lowercase=False)
        longer = np.flatnonzero(self.token_numbers.lengths > length)
        for i in longer:
            texts[i] = " ".join(as_written(texts[i] if tokens is None else tokens[i])[:length])
        first_tokens = None if tokens is None else [row[:length] for row in tokens]
        marks = None if self.marks is None else self._marks_of_first(self.marks, texts, longer)
        return replace(self, texts=texts, given_tokens=first_tokens, marks=marks)

    def _marks_of_first(
        self, marks: Rationales, texts: Sequence[str], cut: NDArray[np.int64]
    ) -> Rationales:
        """The marks, where documents at the places `cut` have only their first tokens left."""
        spans = [np.asarray(row, dtype=np.int64) for row in marks.spans]
        for i in cut:
            if self.texts[i].startswith(texts[i]):
                spans[i] = marks.cut(i, len(texts[i]))
            else:
                spans[i] = marks.moved(
                    i, self.tokeniser.spans(self.texts[i]), joined_places(texts[i].split(" "))
                )
        return Rationales.of(spans, marks.annotators.tolist())

    @classmethod
    def joined(cls, parts: Sequence[Documents]) -> Documents:
        """The documents of several splits, one split after the other."""
        tokens = [part.given_tokens for part in parts]
        every = [t for part in tokens if part is not None for t in part]
        return replace(
            parts[0],
            texts=[text for part in parts for text in part.texts],
            labels=np.concatenate([part.labels for part in parts]),
            ids=np.concatenate([part.ids for part in parts]),
            given_tokens=None if None in tokens else every,
            marks=Rationales.joined([part.marks for part in parts], [len(p) for p in parts]),
        )

    def to_frame(self, classes: Sequence[str]) -> pd.DataFrame:
        """A table with `text`, `label` (the class's name), `id`, `tokens` and `rationale`.

        Columns that the documents have no values for are left out.
        """
        columns: dict[str, Any] = {"text": self.texts}
        if self.is_labelled:
            columns["label"] = [classes[i] for i in self.labels]
        columns["id"] = self.ids
        if self.given_tokens is not None:
            columns["tokens"] = self.given_tokens
        if self.marks is not None:
            columns["rationale"] = self._rationale_column(self.marks)
        return pd.DataFrame(columns)

    def _rationale_column(self, marks: Rationales) -> list[Any]:
        """0 and 1 for each given token of one annotator; else each annotator's spans."""
        if self.given_tokens is not None and (marks.annotators == 1).all():
            return [row.astype(np.int8) for row in self.rationales or ()]
        cells = zip(marks.spans, marks.annotators.tolist(), strict=True)
        return [
            [spans[spans[:, 0] == number, 1:].tolist() for number in range(count)] or None
            for spans, count in cells
        ]


@dataclass(frozen=True, eq=False)
class Corpus:
    """A text-classification corpus in three splits.

    Args:
        name: name or path it was loaded by.
        classes: names of the classes; `labels` of documents are positions in this list. Empty
            where documents have no labels.
        train: documents to train on.
        validation: documents that choose the epoch.
        test: documents to examine.
        config: options it was loaded with, enough to load it again.
        notes: what was dropped, cut or counted while loading, a sentence each.
        marks_are_cause: whether the marked words are known to decide the label, as in `planted`.
    """

    name: str
    classes: list[str]
    train: Documents
    validation: Documents
    test: Documents
    config: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    marks_are_cause: bool = False

    def __repr__(self) -> str:
        sizes = "/".join(f"{len(s):,}" for s in self.splits.values())
        classes = f"{len(self.classes)} classes" if self.classes else "no labels"
        return f"Corpus({self.name!r}, {classes}, {sizes} documents)"

    @property
    def splits(self) -> dict[str, Documents]:
        """The three splits by name."""
        return {name: getattr(self, name) for name in SPLITS}

    @property
    def is_labelled(self) -> bool:
        """Whether its documents have labels."""
        return all(documents.is_labelled for documents in self.splits.values())

    def documents(self, split: str) -> Documents:
        """The documents of a split; of all three, train first, for `all`."""
        if split != ALL:
            return self.splits[split]
        return Documents.joined([part for part in self.splits.values() if len(part)])

    @cached_property
    def overlap(self) -> dict[str, int]:
        """Split → how many of its documents have the same tokens as a document of train."""
        train = {row.tobytes() for row in self.train.token_numbers}
        return {
            name: sum(row.tobytes() in train for row in self.splits[name].token_numbers)
            for name in SPLITS[1:]
        }

    @property
    def tokeniser(self) -> Tokeniser:
        """How its texts become tokens."""
        return self.train.tokeniser

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every text, token list, label and class: two corpora share it only if equal."""
        digest = hashlib.sha256(repr((self.classes, self.tokeniser)).encode())
        for documents in self.splits.values():
            for row in documents.given_tokens or documents.texts:
                digest.update(repr(row).encode("utf-8", "surrogatepass"))
            digest.update(documents.labels.astype("<i8").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def texts_fingerprint(self) -> str:
        """A hash of every text, label and class, however texts are cut into words."""
        digest = hashlib.sha256(repr(self.classes).encode())
        for documents in self.splits.values():
            for text in documents.texts:
                digest.update(repr(text).encode("utf-8", "surrogatepass"))
            digest.update(documents.labels.astype("<i8").tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def rationales_fingerprint(self) -> str | None:
        """A hash of what was marked; None where nothing was. No part of `fingerprint`."""
        marks = [documents.marks for documents in self.splits.values()]
        if all(one is None for one in marks):
            return None
        digest = hashlib.sha256(str(self.marks_are_cause).encode())
        for one in marks:
            digest.update(b"none" if one is None else one.digest)
        return digest.hexdigest()[:16]

    def read_by(self, tokeniser: Tokeniser) -> Corpus:
        """The same documents, cut into words by another tokeniser.

        Args:
            tokeniser: of the model that is to read them.
        """
        if tokeniser == self.tokeniser:
            return self
        if tokeniser.kind == "tokens" and self.train.given_tokens is None:
            raise VeraxError(
                f"corpus {self.name!r} has no lists of tokens, which the model reads",
                code="corpus.tokenizer-mismatch",
            )
        lexicon, has_tokens = Lexicon(), tokeniser.kind == "tokens"

        def read(part: Documents) -> Documents:
            return replace(
                part,
                tokeniser=tokeniser,
                lexicon=lexicon,
                given_tokens=part.given_tokens if has_tokens else None,
            )

        reading = {"tokeniser": tokeniser.kind, "lowercase": tokeniser.lowercase}
        return replace(
            self,
            train=read(self.train),
            validation=read(self.validation),
            test=read(self.test),
            config={**self.config, **reading},
        )

    def save(self, folder: str | Path) -> None:
        """Write the corpus into a folder that `load_corpus` reads.

        Args:
            folder: a new or empty folder, or that of a corpus saved before, which is replaced. It
                gets `train.parquet`, `validation.parquet`, `test.parquet` and `classes.json`.
        """

        def write(target: Path) -> None:
            for name, documents in self.splits.items():
                write_table(target / f"{name}.parquet", documents.to_frame(self.classes))
            write_text(target / CLASSES, json_text(self.classes))

        replace_folder(folder, write, owned=is_saved_corpus)


def is_saved_corpus(folder: Path) -> bool:
    """Whether a folder holds what `Corpus.save` writes, and nothing else."""
    return {path.name for path in folder.iterdir()} == {CLASSES, *(f"{s}.parquet" for s in SPLITS)}


def checked(corpus: Corpus) -> Corpus:
    """`corpus`, or an error where a classifier could not be trained or tested on it."""
    for name, documents in corpus.splits.items():
        if len(documents) == 0:
            missing = "text in its text column" if name == "train" else "more different texts"
            because = f" ({'; '.join(corpus.notes)})" if corpus.notes else ""
            raise VeraxError(
                f"corpus {corpus.name!r} has no documents left in {name}: "
                f"give a file with {missing}{because}",
                code="corpus.empty-split",
            )
    if not corpus.is_labelled:
        return corpus
    seen = set(np.unique(corpus.train.labels).tolist())
    if len(seen) < 2:
        raise VeraxError(
            f"corpus {corpus.name!r} has one class only in train "
            f"({corpus.classes[min(seen)]!r}): at least two are needed, check label_column "
            "(--label-column)",
            code="corpus.one-class",
        )
    for name in ("validation", "test"):
        unseen = set(np.unique(corpus.splits[name].labels).tolist()) - seen
        if unseen:
            raise VeraxError(
                f"corpus {corpus.name!r} has a label in {name} never seen in train: "
                f"{corpus.classes[min(unseen)]!r}; leave it out with labels (--labels), or add it "
                "to train",
                code="corpus.unseen-label",
            )
    return corpus

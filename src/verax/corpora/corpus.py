"""A labelled corpus with train, validation and test splits."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.corpora.rationales import Rationales
from verax.corpora.tokenizer import share_words
from verax.errors import VeraxError
from verax.files import json_text, replace_folder, write_table, write_text

SPLITS = ("train", "validation", "test")
"""The names of the splits of a corpus."""
ALL = "all"
"""What `examine` takes for the documents of every split."""
CLASSES = "classes.json"


@dataclass(frozen=True, eq=False)
class Documents:
    """One split of a corpus: texts, which every model reads in its own way (`model.encode`).

    Args:
        texts: the text of each document.
        labels: (documents,), positions in the corpus's `classes`; −1 where there are no labels.
        ids: (documents,), the row's `id` where the source has whole numbers there, else the row.
        marks: what people marked as the reason for the label, where the corpus brings it.
    """

    texts: list[str]
    labels: NDArray[np.int64]
    ids: NDArray[np.int64]
    marks: Rationales | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Documents({len(self):,} documents)"

    @property
    def is_labelled(self) -> bool:
        """Whether documents have labels: all of them, or none."""
        return not len(self) or bool(self.labels[0] >= 0)

    def take(self, rows: NDArray[np.int64]) -> Documents:
        """The documents at these positions, in that order."""
        some = replace(
            self,
            texts=[self.texts[i] for i in rows],
            labels=self.labels[rows],
            ids=self.ids[rows],
            marks=None if self.marks is None else self.marks.take(rows),
        )
        share_words(some, self, rows)
        return some

    def with_labels(self, labels: NDArray[np.int64], ids: NDArray[np.int64]) -> Documents:
        """The same documents with other labels and ids."""
        same = replace(self, labels=labels, ids=ids)
        share_words(same, self)
        return same

    @classmethod
    def joined(cls, parts: Sequence[Documents]) -> Documents:
        """The documents of several splits, one split after the other."""
        return replace(
            parts[0],
            texts=[text for part in parts for text in part.texts],
            labels=np.concatenate([part.labels for part in parts]),
            ids=np.concatenate([part.ids for part in parts]),
            marks=Rationales.joined([part.marks for part in parts], [len(p) for p in parts]),
        )

    def to_frame(self, classes: Sequence[str]) -> pd.DataFrame:
        """A table with `text`, `label` (the class's name), `id` and `rationale`.

        A rationale has the spans of each annotator. Columns that the documents have no values for
        are left out.
        """
        columns: dict[str, Any] = {"text": self.texts}
        if self.is_labelled:
            columns["label"] = [classes[i] for i in self.labels]
        columns["id"] = self.ids
        if self.marks is not None:
            cells = zip(self.marks.spans, self.marks.annotators.tolist(), strict=True)
            columns["rationale"] = [
                [spans[spans[:, 0] == number, 1:].tolist() for number in range(count)] or None
                for spans, count in cells
            ]
        return pd.DataFrame(columns)


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
        """Split → how many of its documents are in train, too, apart from case and blanks."""
        train = {_plain(text) for text in self.train.texts}
        return {
            name: sum(_plain(text) in train for text in self.splits[name].texts)
            for name in SPLITS[1:]
        }

    @cached_property
    def fingerprint(self) -> str:
        """A hash of every text, label and class: two corpora share it only if equal."""
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


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


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

"""Documents with labels, in three splits: what every later room reads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from verax.corpora.ragged import Ragged
from verax.corpora.tokenising import Lexicon, Tokeniser, sentence_lengths
from verax.errors import VeraxError
from verax.files import replace_folder, write_text

SPLITS = ("train", "validation", "test")
CLASSES = "classes.json"


@dataclass(frozen=True, eq=False)
class Documents:
    """One split: texts, labels, and where each document stood in its source.

    `labels[i]` indexes the corpus's `classes`; `ids[i]` is the document's row in the file it came
    from, or that row's `id` where it holds a whole number. `given_tokens` and `rationales` are
    there only where the corpus brings them.
    """

    texts: list[str]
    labels: NDArray[np.int64]
    ids: NDArray[np.int64]
    tokeniser: Tokeniser
    lexicon: Lexicon
    given_tokens: list[list[str]] | None = None
    rationales: Ragged | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def __repr__(self) -> str:
        return f"Documents({len(self):,} documents)"

    @cached_property
    def token_numbers(self) -> Ragged:
        """Every token as its number in the corpus's lexicon; made on first use, then kept."""
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
    def sentences(self) -> Ragged:
        """The number of tokens in every sentence of every document."""
        return sentence_lengths(self.token_numbers, self.lexicon)

    def take(self, rows: NDArray[np.int64]) -> Documents:
        """The documents at the given positions, in that order."""
        given, rationales = self.given_tokens, self.rationales
        return Documents(
            texts=[self.texts[i] for i in rows],
            labels=self.labels[rows],
            ids=self.ids[rows],
            tokeniser=self.tokeniser,
            lexicon=self.lexicon,
            given_tokens=None if given is None else [given[i] for i in rows],
            rationales=None if rationales is None else rationales.take(rows),
        )

    def to_frame(self, classes: Sequence[str]) -> pd.DataFrame:
        """A table with `text`, `label` (the class's name), and `tokens`, `rationale` if given."""
        columns: dict[str, Any] = {
            "text": self.texts,
            "label": [classes[i] for i in self.labels],
            "id": self.ids,
        }
        if self.given_tokens is not None:
            columns["tokens"] = self.given_tokens
        if self.rationales is not None:
            columns["rationale"] = [row.astype(np.int8) for row in self.rationales]
        return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class Corpus:
    """A named text-classification corpus.

    `config` is how it was loaded, enough to load it again; `notes` says in words what was dropped,
    cut or counted on the way.
    """

    name: str
    classes: list[str]
    train: Documents
    validation: Documents
    test: Documents
    config: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        sizes = "/".join(f"{len(s):,}" for s in self.splits.values())
        return f"Corpus({self.name!r}, {len(self.classes)} classes, {sizes} documents)"

    @property
    def splits(self) -> dict[str, Documents]:
        return {name: getattr(self, name) for name in SPLITS}

    @property
    def tokeniser(self) -> Tokeniser:
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

    def save(self, folder: str | Path) -> None:
        """Write `train`, `validation` and `test.parquet` into a folder `load_corpus` can read."""

        def write(target: Path) -> None:
            for name, documents in self.splits.items():
                documents.to_frame(self.classes).to_parquet(target / f"{name}.parquet")
            write_text(target / CLASSES, json.dumps(self.classes, ensure_ascii=False))

        replace_folder(folder, write, owned=is_saved_corpus)


def is_saved_corpus(folder: Path) -> bool:
    """Whether a folder holds what `Corpus.save` writes, and nothing else."""
    return {path.name for path in folder.iterdir()} == {CLASSES, *(f"{s}.parquet" for s in SPLITS)}


def checked(corpus: Corpus) -> Corpus:
    """`corpus`, or an error where a classifier could not be trained or tested on it."""
    for name, documents in corpus.splits.items():
        if len(documents) == 0:
            missing = "text in its text column" if name == "train" else "more different texts"
            raise VeraxError(
                f"corpus {corpus.name!r} has no documents left in {name}: "
                f"give a file with {missing}{_because(corpus.notes)}"
            )
    seen = set(np.unique(corpus.train.labels).tolist())
    if len(seen) < 2:
        raise VeraxError(
            f"corpus {corpus.name!r} has one class only in train "
            f"({corpus.classes[min(seen)]!r}): at least two are needed, check --label-column"
        )
    for name in ("validation", "test"):
        unseen = set(np.unique(corpus.splits[name].labels).tolist()) - seen
        if unseen:
            raise VeraxError(
                f"corpus {corpus.name!r} has a label in {name} never seen in train: "
                f"{corpus.classes[min(unseen)]!r}; leave it out with --labels, or add it to train"
            )
    return corpus


def _because(notes: tuple[str, ...]) -> str:
    return f" ({'; '.join(notes)})" if notes else ""

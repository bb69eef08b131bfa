"""The paper's six architectures, and the models of results: an architecture on a corpus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from verax.papers.exhibits import published_number
from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults

PACKAGE = "verax.papers.serrano_smith_2019"
DATASETS = ("Yahoo Answers", "IMDB", "Amazon", "Yelp")
CORPORA = {"imdb": "IMDB", "yelp": "Yelp"}
"""Our name → the paper's. 20news stands in for a corpus of topics, and is none of theirs."""


class Architecture(NamedTuple):
    """HAN attends to sentences, FLAN to words; the encoder is rnn, conv or noenc."""

    name: str
    hierarchical: bool
    encoder: str

    @property
    def family(self) -> str:
        return "HAN" if self.hierarchical else "FLAN"

    @property
    def encodes(self) -> bool:
        return self.encoder != "none"


ARCHITECTURES = (
    Architecture("HANrnn", True, "bigru"),
    Architecture("HANconv", True, "conv"),
    Architecture("HANnoenc", True, "none"),
    Architecture("FLANrnn", False, "bigru"),
    Architecture("FLANconv", False, "conv"),
    Architecture("FLANnoenc", False, "none"),
)
HANRNN = ARCHITECTURES[:1]
OTHERS = ARCHITECTURES[1:]
WITH_ENCODER = tuple(a for a in ARCHITECTURES if a.encodes)
WITHOUT_ENCODER = tuple(a for a in ARCHITECTURES if not a.encodes)


@dataclass(frozen=True)
class Model:
    """An architecture on a corpus: ours, the paper's, or both.

    corpus   its name here; empty if results do not have it
    dataset  its name in the paper; empty if the paper does not have it
    """

    corpus: str
    dataset: str
    architecture: Architecture
    results: PaperResults = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        return f"{self.corpus} {self.architecture.name}"

    @property
    def labels(self) -> dict[str, Any]:
        """The labels of the model in exhibits."""
        return {"dataset": self.dataset, "corpus": self.corpus, "model": self.architecture.name}

    @property
    def where(self) -> dict[str, Any]:
        a = self.architecture
        return {"corpus": self.corpus, "hierarchical": a.hierarchical, "encoder": a.encoder}

    def find(self, table: str, row: str, column: str) -> SeedMean | None:
        """A number of the summary; None if there is none."""
        return self.results.find(table, row, column, **self.where) if self.corpus else None

    def fact(self, column: str) -> SeedMean | None:
        return self.results.fact(column, **self.where)

    def published(self, table: str, metric: str, attention: str = "softmax") -> float:
        """A published number; NaN if there is none."""
        key = (self.dataset, self.architecture.name, attention, metric)
        return published_number(PACKAGE, table, key)


def models(
    results: PaperResults, architectures: Sequence[Architecture] = ARCHITECTURES
) -> list[Model]:
    """The models that results hold, corpus by corpus."""
    every = [
        Model(corpus, CORPORA.get(corpus, ""), architecture, results)
        for corpus in results.corpora()
        for architecture in architectures
    ]
    return [model for model in every if len(results.select(**model.where))]


def lines(
    results: PaperResults, architectures: Sequence[Architecture] = ARCHITECTURES
) -> list[Model]:
    """The models of an exhibit: the paper's datasets, measured or not, then our other corpora."""
    ours = results.corpora()
    names = {dataset: corpus for corpus, dataset in CORPORA.items() if corpus in ours}
    pairs = [(names.get(dataset, ""), dataset) for dataset in DATASETS]
    pairs += [(corpus, "") for corpus in ours if corpus not in CORPORA]
    return [Model(*pair, architecture, results) for pair in pairs for architecture in architectures]


def pairs(
    results: PaperResults, first: Sequence[Architecture], second: Sequence[Architecture]
) -> list[tuple[Model, Model]]:
    """Models of the same corpus and family, one of each kind."""
    return [
        (a, b)
        for a in models(results, first)
        for b in models(results, second)
        if a.corpus == b.corpus and a.architecture.family == b.architecture.family
    ]


def named(*names: str) -> tuple[Architecture, ...]:
    return tuple(a for a in ARCHITECTURES if a.name in names)

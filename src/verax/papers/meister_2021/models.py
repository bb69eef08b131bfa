"""The models of the paper that results hold: a corpus, an encoder, a projection."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from verax.papers.numbers import SeedMean
from verax.papers.words import span
from verax.papers.results import PaperResults

PACKAGE = "verax.papers.meister_2021"
PARTS = ("sst", "20news_sports", "imdb")
"""Parts on entropy and agreement; `ADVERSARIES` has other models of the same corpora."""
ADVERSARIES = "adversaries"
CORPORA = {"imdb": "IMDb", "20news_sports": "20-News", "sst": "SST"}
"""Names here → the paper's, in its order."""
ENCODERS = {"bilstm": "BiLSTM", "transformer": "Transformer"}
SOFTMAX, SPARSEMAX, SPARSEGEN = "softmax", "sparsemax", "sparsegen"
PROJECTIONS = (SOFTMAX, SPARSEMAX, SPARSEGEN)
FIXED_LAM = {SOFTMAX: math.nan, SPARSEMAX: 0.0}
FAMILY = (SPARSEMAX, SPARSEGEN)
"""Projections with a λ: sparsemax is sparsegen at 0, and softmax is none of them."""


@dataclass(frozen=True)
class Model:
    """One configuration, of all its seeds.

    lam   of sparsegen; 0 of sparsemax, NaN of softmax
    part  the parts that its cells are in
    """

    corpus: str
    encoder: str
    projection: str
    lam: float
    part: str | tuple[str, ...] = PARTS

    def __str__(self) -> str:
        of = f" λ = {self.lam:g}" if self.projection == SPARSEGEN else ""
        return f"{self.corpus}, {ENCODERS[self.encoder]}, {self.projection}{of}"

    @property
    def where(self) -> dict[str, Any]:
        """The columns and values that select the model's cells."""
        where = {"part": self.part, "corpus": self.corpus, "encoder": self.encoder}
        where |= {"projection": self.projection}
        return where | ({"lam": self.lam} if self.projection == SPARSEGEN else {})

    @property
    def labels(self) -> dict[str, Any]:
        """The labels of the model in exhibits."""
        name = ENCODERS[self.encoder]
        return {"corpus": self.corpus, "model": name, "projection": self.projection}

    @property
    def along(self) -> dict[str, float]:
        """The model's place on a λ axis."""
        return {"lam": self.lam, "symlog": symlog(self.lam)}

    @property
    def is_sparse(self) -> bool:
        """Whether its projection is at least as sparse as sparsemax."""
        return self.lam >= 0

    def find(self, results: PaperResults, table: str, row: str, column: str) -> SeedMean | None:
        """A number of the model's summary; None if there is none."""
        return results.find(table, row, column, **self.where)


def models(results: PaperResults, projections: Collection[str] = PROJECTIONS) -> list[Model]:
    """All of `PARTS`, by corpus and encoder: softmax first, then from dense to sparse."""
    cells = results.select(part=PARTS, encoder=tuple(ENCODERS), projection=projections)
    keys = set()
    for row in cells.to_dict("records"):
        lam = FIXED_LAM.get(row["projection"])
        lam = float(row["lam"]) if lam is None else lam
        keys.add((str(row["corpus"]), str(row["encoder"]), str(row["projection"]), lam))
    corpora, encoders = _order(keys, 0, CORPORA), _order(keys, 1, ENCODERS)

    def place(key: tuple[str, str, str, float]) -> tuple[int, int, bool, float, str]:
        corpus, encoder, projection, lam = key
        dense = projection == SOFTMAX
        where = corpora.index(corpus), encoders.index(encoder)
        # name last: sparsemax and sparsegen at λ = 0 need a fixed order, or sums differ by a digit
        return *where, not dense, 0 if dense else lam, projection

    return [Model(*key) for key in sorted(keys, key=place)]


def symlog(lam: float) -> float:
    """λ on an axis that is linear from 0 to 1 and logarithmic below: −log10(1 − λ) there.

    >>> [round(symlog(lam), 3) for lam in (-99.0, -9.0, 0.0, 0.75)]
    [-2.0, -1.0, 0.0, 0.75]
    """
    return -math.log10(1 - lam) if lam < 0 else lam


def _order(keys: Iterable[tuple[Any, ...]], at: int, first: Collection[str]) -> list[str]:
    """Names at a position of the keys: those of the paper in its order, others after them."""
    names = {key[at] for key in keys}
    return [name for name in first if name in names] + sorted(names - set(first))


def between(numbers: Iterable[SeedMean | None], digits: int = 2) -> str:
    """The range of several numbers; empty if there is none.

    >>> between([SeedMean.of([0.5], ["a"]), SeedMean.of([0.25], ["b"]), None])
    '0.25 to 0.50'
    """
    return span([n.value for n in numbers if n is not None], f".{digits}f", empty="")


def judged_on(corpora: Iterable[str]) -> str:
    """A sentence: the corpora behind a verdict, and those of the paper that are missing."""
    names = list(dict.fromkeys(corpora))
    if not names:
        return ""
    lacking = [theirs for ours, theirs in CORPORA.items() if ours not in names]
    text = f"Judged on {', '.join(names)}"
    return f"{text}; without {', '.join(lacking)}." if lacking else f"{text}."

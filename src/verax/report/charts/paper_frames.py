"""What of a paper's table or figure was measured, and by which labels its numbers differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd

from verax.drawing.chart import Chart, made
from verax.papers.exhibits import MEASURED

CORPUS = "corpus"
_SAME_AS_ANOTHER = ("dataset", "symlog", "picked", "used", "measure")
"""Columns that tell nothing apart which others do not."""
_CALLED = {"gradient_loo": "Gradient and leave-one-out", "appendixc": "Appendix C"}
_LINES = 6
"""Lines that can be followed in one picture."""


@dataclass(frozen=True, eq=False)
class Shown:
    """The measured rows of an exhibit: labels, `measure`, published, value, low, high.

    name, title  of the exhibit
    rows         those that have a value
    """

    name: str
    title: str
    rows: pd.DataFrame

    @classmethod
    def of(cls, name: str, title: str, table: pd.DataFrame) -> Shown:
        kept = ("published", "value", "low", "high")
        columns = [c for c in table if c not in MEASURED or c in kept]
        rows = table.loc[table["value"].notna(), columns].reset_index(drop=True)
        return cls(name, title, rows)

    def where(self, **labels: Any) -> Shown:
        """The rows that have these labels; a collection means any of its values."""
        rows = self.rows
        for column, label in labels.items():
            values = list(label) if isinstance(label, (list, tuple, set)) else [label]
            rows = rows[rows[column].isin(values)]
        return replace(self, rows=rows.reset_index(drop=True))

    @cached_property
    def measures(self) -> list[str]:
        return [str(measure) for measure in dict.fromkeys(self.rows["measure"])]

    @cached_property
    def corpora(self) -> list[str]:
        return list(dict.fromkeys(self.labels([CORPUS]))) if CORPUS in self.rows else []

    @property
    def corpus(self) -> list[str]:
        """The column of corpora, where there are several to tell apart; else none."""
        return [CORPUS] if len(self.corpora) > 1 else []

    def varying(self, *without: str) -> list[str]:
        """Label columns with more than one value, but the corpus and those named."""
        left = {*MEASURED, *_SAME_AS_ANOTHER, CORPUS, *without}
        return [str(c) for c in self.rows if c not in left and self.rows[c].nunique() > 1]

    def labels(self, columns: Sequence[str]) -> pd.Series:
        """The labels of each row in these columns, as one text."""
        records = self.rows[list(columns)].to_dict("records")
        words = [", ".join(w for v in row.values() if (w := _word(v))) for row in records]
        return pd.Series(words, index=self.rows.index, dtype=object)

    def order(self, columns: Sequence[str]) -> list[str]:
        """The `labels` of rows, once each, by the order in which each column's values come."""
        keys = pd.DataFrame({c: pd.factorize(self.labels([c]))[0] for c in columns})
        if keys.empty:
            return [""]
        return list(dict.fromkeys(self.labels(columns)[keys.sort_values(list(columns)).index]))

    def lines(self, columns: Sequence[str]) -> tuple[pd.DataFrame, list[str]]:
        """The rows with `line` and `panel`, and the lines in order.

        Lines are told apart by as many of the last columns as make few of them.
        """
        rows, inner, count = self.rows, list(columns), 1
        by_line: list[str] = []
        while inner and count * rows[inner[-1]].nunique() <= _LINES:
            count *= rows[inner[-1]].nunique()
            by_line.insert(0, inner.pop())
        panel = self.labels([*self.corpus, *inner])
        return rows.assign(line=self.labels(by_line), panel=panel), self.order(by_line)


def called(name: str) -> str:
    """An exhibit as people name it.

    >>> called("table3"), called("gradient_loo"), called("selection")
    ('Table 3', 'Gradient and leave-one-out', 'Selection')
    """
    if name in _CALLED:
        return _CALLED[name]
    kind = name.rstrip("0123456789")
    words = f"{kind.replace('_', ' ')} {name[len(kind) :]}".strip()
    return words[:1].upper() + words[1:]


def drawn(shown: Shown, about: str, reading: str, picture: Any, several: bool) -> Chart:
    """The chart of an exhibit; where there are `several`, `about` says which this is.

    All have the name of the exhibit, until they are numbered.
    """
    title = f"{called(shown.name)}: {about}" if several and about else shown.title
    if len(shown.corpora) == 1:
        reading += f" On {shown.corpora[0]}."
    return made(shown.name, shown.name, title, reading, picture)


def around(rows: pd.DataFrame) -> tuple[float, float]:
    """Where an axis begins and ends: round numbers around all values and published ones.

    An interval of few seeds can be wider than all else: it has half of what values span on either
    side, and is cut there.
    """
    names = [name for name in ("value", "published") if name in rows]
    values = rows[names].to_numpy(dtype=float)
    values = values[~pd.isna(values)]
    low, high = float(values.min()), float(values.max())
    reach = 0.5 * (high - low) if high > low else math.inf
    ends = rows[["low", "high"]].dropna() if {"low", "high"} <= {*rows} else pd.DataFrame()
    least, most = low, high
    if len(ends):
        low = min(low, max(float(ends["low"].min()), low - reach))
        high = max(high, min(float(ends["high"].max()), high + reach))
    if 0 <= least < 0.4 * most:
        low = 0.0
    if high - low <= 0:
        low, high = low - max(0.1, abs(low) / 10), high + max(0.1, abs(high) / 10)
    step = 10 ** math.floor(math.log10(high - low)) / 4
    start, end = math.floor(low / step - 0.1) * step, math.ceil(high / step + 0.1) * step
    if least >= 0:
        start = max(start, 0.0)
    for bound in (1.0, 100.0):
        # what is a share, or a percent, has no more, but for rounding
        if 0.5 * bound < most <= bound * (1 + 1e-6) and least >= 0:
            end = min(end, bound)
    return round(start, 9), round(end, 9)


def _word(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)

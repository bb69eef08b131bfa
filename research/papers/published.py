"""Published numbers: CSV files with dataset, model, attention, metric, value and std."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import pandas as pd

from research.papers.axes import Point, plain_name
from research.papers.claims import Comparisons, Span
from verax import VeraxError

Key = tuple[str, str, str, str]
"""dataset, model, attention, metric."""
_COLUMNS = ("dataset", "model", "attention")
Names = str | Sequence[str]


@cache
def read_table(folder: Path, name: str) -> pd.DataFrame:
    """Return a published table as it stands, every value as text."""
    file = folder / "published" / f"{name}.csv"
    if not file.is_file():
        raise VeraxError(f"{folder.name} has no published {name!r}", code="file.missing")
    return pd.read_csv(file, dtype=str, keep_default_na=False)


@cache
def read_numbers(folder: Path, name: str, column: str = "value") -> Mapping[Key, float]:
    """Return the numbers of a published table by key; `column` is value or std."""
    numbers = {}
    for row in read_table(folder, name).to_dict("records"):
        try:
            number = float(row[column])
        except ValueError:
            continue
        numbers[row["dataset"], row["model"], row["attention"], row["metric"]] = number
    return numbers


class Published:
    """The published numbers of a paper.

    Args:
        folder: of the paper's data.
        corpora: name of a corpus here → its name in the published tables.
    """

    def __init__(self, folder: Path, corpora: Mapping[str, str]) -> None:
        self.folder, self.corpora = folder, corpora

    def table(self, name: str) -> pd.DataFrame:
        """Return a table as it stands, every value as text."""
        return read_table(self.folder, name)

    def number(self, table: str, key: Key, column: str = "value") -> float:
        """Return a number; NaN where there is none."""
        return read_numbers(self.folder, table, column).get(key, math.nan)

    def beside(
        self, table: str, dataset: str, model: str, attention: str
    ) -> Callable[[Point, str, str], float]:
        """Return a function of a point, metric and column that gives the number there.

        All names are templates; a metric such as `a + b` is a sum.
        """

        def number(point: Point, metric: str, column: str) -> float:
            data, who, how = (point.text(name) for name in (dataset, model, attention))
            metrics = point.text(metric).split(" + ")
            keys = [(data, who, how, name) for name in metrics]
            # keeps a published −0
            return sum((self.number(point.text(table), k, column) for k in keys), start=-0.0)

        return number

    def span(
        self,
        table: str,
        metric: Names,
        judged: Iterable[Comparisons] = (),
        times: float = 1,
        **names: Names,
    ) -> Span:
        """Return the numbers that have some names, a name or several for each column.

        Args:
            table: the file.
            metric: its name or names; one such as `a + b` is a sum.
            judged: comparisons whose corpora are chosen, if the table has any of them.
            times: a factor.
            names: of dataset, model and attention.
        """
        numbers = read_numbers(self.folder, table)
        wanted = {_COLUMNS.index(column): _listed(value) for column, value in names.items()}
        keys = dict.fromkeys(key[:3] for key in numbers)
        fitting = [key for key in keys if all(key[at] in wanted[at] for at in wanted)]
        corpora = {c.corpus for comparisons in judged for c in comparisons}
        ours = {self.corpora.get(plain_name(corpus), "") for corpus in corpora}
        if any(key[0] in ours for key in fitting):
            fitting = [key for key in fitting if key[0] in ours]
        values = [
            sum(numbers[(*key, name)] for name in one.split(" + "))
            for key, one in product(fitting, _listed(metric))
            if all((*key, name) in numbers for name in one.split(" + "))
        ]
        return Span(times * value for value in values)

    def tally(
        self, table: str, pairs: Collection[tuple[str, str]], metrics: Collection[str]
    ) -> tuple[int, int]:
        """Return how often the first model's number is larger, and of how many pairs.

        Counted over pairs of models and metrics, in all datasets and attentions that have both.
        """
        places = dict.fromkeys((data, how) for data, _, how, _ in read_numbers(self.folder, table))
        values = [
            [self.number(table, (data, model, how, metric)) for model in models]
            for models, metric, (data, how) in product(pairs, metrics, places)
        ]
        known = [(a, b) for a, b in values if a == a and b == b]
        return sum(a > b for a, b in known), len(known)


def _listed(names: Names) -> Sequence[str]:
    return [names] if isinstance(names, str) else names

"""Published numbers that claims name: ranges of them, and tallies counted from them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import product
from typing import Any

from research.papers.claims import Span
from research.papers.exhibits import published_number, published_numbers
from research.papers.points import Grid, plain_name

_COLUMNS = ("dataset", "model", "attention")


def quoted(grid: Grid, source: Mapping[str, Any], corpora: Collection[str] = ()) -> Span:
    """The published numbers of a table that have some names, a name or names for each column.

    Those of `corpora`, if the table has any of them; a metric such as `a + b` is a sum.
    """
    numbers = published_numbers(grid.package, source["table"], source.get("column", "value"))
    wanted = {_COLUMNS.index(c): _names(source[c]) for c in _COLUMNS if c in source}
    keys = dict.fromkeys(key[:3] for key in numbers)
    fitting = [key for key in keys if all(key[at] in wanted[at] for at in wanted)]
    ours = {grid.published.get(plain_name(corpus), "") for corpus in corpora}
    if any(key[0] in ours for key in fitting):
        fitting = [key for key in fitting if key[0] in ours]
    values = [
        sum(numbers[(*key, name)] for name in metric.split(" + "))
        for key, metric in product(fitting, _names(source["metric"]))
        if all((*key, name) in numbers for name in metric.split(" + "))
    ]
    return Span(source.get("times", 1) * value for value in values)


def tallied(grid: Grid, source: Any) -> tuple[int, int]:
    """The tally of a paper: two numbers; a published count `of` so many; or counted from a table.

    It is counted over `pairs` of models and `metrics`, in all datasets and attentions that have
    both: how often the first model's number is larger.
    """
    if not isinstance(source, Mapping):
        return int(source[0]), int(source[1])
    table = source["table"]
    if "of" in source:
        (number,) = quoted(grid, source)
        return int(number), int(source["of"])
    numbers = published_numbers(grid.package, table)
    places = dict.fromkeys((dataset, attention) for dataset, _, attention, _ in numbers)
    pairs = [
        [published_number(grid.package, table, (data, m, attention, metric)) for m in models]
        for models, metric, (data, attention) in product(source["pairs"], source["metrics"], places)
    ]
    known = [(a, b) for a, b in pairs if a == a and b == b]
    return sum(a > b for a, b in known), len(known)


def _names(names: Any) -> list[str]:
    return names if isinstance(names, list) else [names]

"""Points: the corpora, models and settings that claims and tables go through, and their numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from typing import Any

from research.papers.results import PaperResults
from verax.statistics import SeedMean

CORPUS = "corpus"


@dataclass(frozen=True)
class Value:
    """A value of an axis: its name, the cells that it selects, and other facts by name."""

    name: Any
    where: Mapping[str, Any] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.facts[name]
        except KeyError:
            raise AttributeError(f"{self.name!r} has no {name!r}") from None

    def __format__(self, form: str) -> str:
        return format(self.name, form)


def options(column: str, *values: Any) -> list[Value]:
    """Return values of an option, each of which selects the cells that have it."""
    return [Value(value, {column: value}) for value in values]


def ids(names: Mapping[str, str]) -> list[Value]:
    """Return values that have an `id` for templates and select no cells."""
    return [Value(name, {}, {"id": id}) for name, id in names.items()]


@dataclass(frozen=True)
class Point:
    """A value of some axes, and the cells that these select.

    Attributes:
        results: of the paper.
        values: axis → its value.
        fixed: columns of cells → values that select cells beside those of the axes. A part may be
            a pattern, such as `layers-*`.
    """

    results: PaperResults = field(repr=False)
    values: Mapping[str, Value] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    def __getattr__(self, axis: str) -> Value:
        try:
            return self.values[axis]
        except KeyError:
            raise AttributeError(f"the point has no {axis!r}") from None

    @property
    def where(self) -> dict[str, Any]:
        """The columns and values that select the point's cells."""
        where = dict(self.fixed)
        for value in self.values.values():
            where |= value.where
        part = where.get("part")
        if isinstance(part, str) and "*" in part:
            known = dict.fromkeys(str(known) for known in self.results.cells["part"])
            where["part"] = tuple(known for known in known if fnmatch(known, part))
        return where

    def over(self, **axes: Axis) -> list[Point]:
        """Return all combinations of values of axes, the first axis outermost.

        Args:
            axes: axis → its values, or a function that gives those at a point.
        """
        points = [self]
        for axis, values in axes.items():
            points = [
                point.but(**{axis: value})
                for point in points
                for value in (values(point.without(axis)) if callable(values) else values)
            ]
        return points

    def but(self, **values: Value) -> Point:
        """Return the point with other values of some axes."""
        return replace(self, values={**self.values, **values})

    def without(self, axis: str) -> Point:
        """Return the point without a value of an axis."""
        return replace(self, values={a: v for a, v in self.values.items() if a != axis})

    def text(self, template: str) -> str:
        """Return a template with the point's values in place of `{AXIS}` and `{AXIS.FACT}`."""
        return template.format_map(self.values)

    def rows(self, table: str, column: str) -> list[str]:
        """Return the rows that a column of a summary table has."""
        return self.results.rows(table, column, **self.where)

    def number(self, source: Source) -> SeedMean | None:
        """Return a number of the point's cells; None if they have none.

        Args:
            source: a template of TABLE/ROW/COLUMN of the summary, or a function of the point.
        """
        if callable(source):
            return source(self)
        table, row, column = self.text(source).split("/")
        return self.results.find(table, row, column, **self.where)


Source = str | Callable[[Point], SeedMean | None]
"""Where a number comes from, as `Point.number` takes it."""
Axis = Iterable[Value] | Callable[[Point], Iterable[Value]]
"""The values of an axis, as `Point.over` takes them."""


def plain_name(corpus: str) -> str:
    """Return a corpus's name without the folder that may follow it.

    >>> plain_name("mimic_anemia:/my/mimic")
    'mimic_anemia'
    """
    return corpus.partition(":")[0]


@dataclass(frozen=True)
class Corpora:
    """The axis of corpora.

    Attributes:
        published: name here → name in the paper's tables, in the order of the paper.
        ordered: whether corpora of the results come in the order of the paper, too.
    """

    published: Mapping[str, str]
    ordered: bool = False

    def __call__(self, point: Point) -> list[Value]:
        """Return the corpora of the results at a point."""
        return self._values(self._known(point))

    def printed(self, point: Point) -> list[Value]:
        """Return the corpora of the results and of the paper."""
        names = {plain_name(name): name for name in self._known(point)}
        order = [*self.published, *names] if self.ordered else [*names, *self.published]
        return self._values([names.get(name, name) for name in dict.fromkeys(order)])

    def as_run(self, point: Point) -> list[Value]:
        """Return the corpora in the order of the results."""
        return self._values(point.results.corpora(**point.where))

    def _known(self, point: Point) -> list[str]:
        known = point.results.corpora(**point.where)
        places = {name: place for place, name in enumerate(self.published)}
        if self.ordered:
            known.sort(key=lambda name: places.get(plain_name(name), len(places)))
        return known

    def _values(self, names: Iterable[str]) -> list[Value]:
        return [
            Value(name, {CORPUS: name}, {"published": self.published.get(plain_name(name), "")})
            for name in names
        ]


def rows_of(table: str, column: str, words: Callable[[str], Any]) -> Callable[[Point], list[Value]]:
    """Return the axis of the rows that results have in a column of a summary table."""
    return lambda point: [Value(words(r), {}, {"id": r}) for r in point.rows(table, column)]


def at(source: Source, **changes: Value | Callable[[Point], Value]) -> Source:
    """Return a source at another point: with other values of some axes."""

    def number(point: Point) -> SeedMean | None:
        values = {a: v if isinstance(v, Value) else v(point) for a, v in changes.items()}
        return point.but(**values).number(source)

    return number


def fact(column: str, times: float = 1.0) -> Source:
    """Return the source of a column of cells, such as test_f1, multiplied by a number."""

    def number(point: Point) -> SeedMean | None:
        found = point.results.fact(column, **point.where)
        return found if found is None or times == 1 else found.scaled(times)

    return number


def described(*columns: str) -> Source:
    """Return the source of a number of the corpus (corpora.csv), or of the sum of several."""

    def number(point: Point) -> SeedMean | None:
        numbers = [point.results.described(name, **point.where) for name in columns]
        known = [number for number in numbers if number is not None]
        return (
            SeedMean.combined([(1.0, number) for number in known])
            if len(known) == len(numbers)
            else None
        )

    return number


def whole(source: Source) -> Source:
    """Return a source that has no number where the exams saw a sample of documents."""

    def number(point: Point) -> SeedMean | None:
        sampled = point.results.select(**point.where, sample=None).empty
        return None if sampled else point.number(source)

    return number


def first(source: Source, **axes: Axis) -> Source:
    """Return the source of the first number along some axes."""

    def number(point: Point) -> SeedMean | None:
        numbers = (other.number(source) for other in point.over(**axes))
        return next((found for found in numbers if found is not None), None)

    return number


def distance(source: Source, centre: float = 0.0) -> Source:
    """Return the source of the distance of each seed's value from a centre."""

    def number(point: Point) -> SeedMean | None:
        found = point.number(source)
        if found is None:
            return None
        return SeedMean.of([abs(value - centre) for value in found.values], found.cells, found.n)

    return number


def times(factor: float, source: Source) -> Source:
    """Return the source of a number times a factor."""

    def number(point: Point) -> SeedMean | None:
        found = point.number(source)
        return None if found is None else found.scaled(factor)

    return number


def weighted(*parts: tuple[float, Source]) -> Source:
    """Return the source of a weighted sum over the same cells; None unless all are there."""

    def number(point: Point) -> SeedMean | None:
        numbers = [(factor, point.number(source)) for factor, source in parts]
        known = [(factor, found) for factor, found in numbers if found is not None]
        return SeedMean.combined(known) if len(known) == len(parts) else None

    return number


def minus(source: Source, other: Source) -> Source:
    """Return the source of a number less another of the same cells."""
    return weighted((1.0, source), (-1.0, other))


def mean(*sources: Source) -> Source:
    """Return the source of the mean of several numbers; None unless all are there."""
    return weighted(*((1 / len(sources), source) for source in sources))

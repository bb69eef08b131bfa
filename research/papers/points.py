"""Points: the corpora, models and settings that the claims and tables of a paper go through.

A paper's file names *axes* (docs/papers.md). A *point* has a value of some of them, and gives
numbers of the cells that these select.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from fractions import Fraction
from types import ModuleType
from typing import Any

from research.papers.numbers import SeedMean, combined
from research.papers.results import PaperResults
from research.papers.words import epsilon_words, lambda_words, seed_words, value_of
from verax import VeraxError

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
            raise AttributeError(f"{self.name!r} has no {name!r} in the paper's file") from None

    def __format__(self, form: str) -> str:
        return format(self.name, form)


@dataclass(frozen=True)
class Grid:
    """What a paper's file says of axes, and the functions that it names.

    axes       name → what docs/papers.md has of axes
    parts      name → part, list of parts, or a pattern such as `layers-*`
    published  corpus → its name in the published tables, in the order of the paper
    ordered    whether corpora of the results are in the order of the paper, too
    criteria   the paper's vaguer words as numbers
    functions  a module; the first argument of each function is a point
    """

    package: str
    axes: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, Any] = field(default_factory=dict)
    published: Mapping[str, str] = field(default_factory=dict)
    ordered: bool = False
    criteria: Mapping[str, float] = field(default_factory=dict)
    functions: ModuleType | None = None

    def function(self, name: str) -> Callable[..., Any]:
        """A function of the paper, or one that all papers share."""
        function = getattr(self.functions, name, None) or _SHARED.get(name)
        if function is None:
            raise VeraxError(
                f"{self.package} names a function {name!r}, which it does not have",
                code="option.unknown-value",
            )
        return function

    def criterion(self, bound: Any) -> float:
        """A number, or a word of `criteria`, with or without a minus sign."""
        if isinstance(bound, str) and bound.lstrip("-") in self.criteria:
            word = bound.lstrip("-")
            return -self.criteria[word] if bound != word else self.criteria[word]
        return as_number(bound)

    def start(self, results: PaperResults, part: str | None = None) -> Point:
        """The point that selects all cells of a part."""
        return Point(self, results, {}, {} if part is None else {"part": part})


def as_number(text: Any) -> float:
    """A number from a file, where 2/3 is a text.

    >>> as_number("2/3") == 2 / 3, as_number(0.5)
    (True, 0.5)
    """
    return float(Fraction(text)) if isinstance(text, str) else float(text)


@dataclass(frozen=True)
class Point:
    """A value of some axes, of results.

    fixed  columns of cells → values that select cells beside those of the axes
    """

    grid: Grid
    results: PaperResults = field(repr=False)
    values: Mapping[str, Value] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)

    @property
    def where(self) -> dict[str, Any]:
        """The columns and values that select the point's cells."""
        where = dict(self.fixed)
        for value in self.values.values():
            where |= value.where
        if "part" in where:
            where["part"] = self._parts(where["part"])
        return where

    def _parts(self, name: Any) -> Any:
        part = self.grid.parts.get(name, name) if isinstance(name, str) else name
        if not isinstance(part, str) or "*" not in part:
            return tuple(part) if isinstance(part, list) else part
        known = dict.fromkeys(str(known) for known in self.results.cells["part"])
        return tuple(known for known in known if fnmatch(known, part))

    def text(self, template: str) -> str:
        """A template with the point's values in place of `{AXIS}` and `{AXIS.FACT}`."""
        return template.format_map(self.values)

    def look_up(self, label: str | None) -> Any:
        """What AXIS or AXIS.FACT is at the point; a template's text; any other text as it is."""
        if label is None or "{" in label:
            return None if label is None else self.text(label)
        axis, _, name = label.partition(".")
        if axis not in self.values:
            return label
        return getattr(self.values[axis], name) if name else self.values[axis].name

    def over(self, axes: Mapping[str, Any] | None) -> list[Point]:
        """All combinations of values of axes, the first axis outermost.

        `axes` has for each None (all values), a name or names, `without: NAMES`, or a fact that
        values have to have, as in `is_sparse: true`.
        """
        points = [self]
        for axis, choice in (axes or {}).items():
            points = [p.at_value(axis, value) for p in points for value in p.choose(axis, choice)]
        return points

    def but(self, changes: Mapping[str, Any] | None) -> Point | None:
        """The point with other values of some axes, by name; None if the results have none such."""
        point = self
        for axis, name in (changes or {}).items():
            named = self.text(name) if isinstance(name, str) else name
            values = point.choose(axis, named)
            if not values:
                return None
            point = point.at_value(axis, values[0])
        return point

    def at_value(self, axis: str, value: Value) -> Point:
        return replace(self, values={**self.values, axis: value})

    def choose(self, axis: str, choice: Any = None) -> list[Value]:
        """Values of an axis, as in `over`."""
        rest = replace(self, values={a: v for a, v in self.values.items() if a != axis})
        if axis == CORPUS:
            return rest.corpora(choice)
        values = list(rest.axis_values(axis))
        if choice is None:
            return values
        if isinstance(choice, Mapping):
            ((name, wanted),) = choice.items()
            if name == "without":
                return [value for value in values if value.name not in wanted]
            return [value for value in values if getattr(value, name) == wanted]
        names = {str(name) for name in (choice if isinstance(choice, list) else [choice])}
        known = {str(value.name) for value in values}
        if names - known and not isinstance(self.grid.axes[axis], str):
            raise VeraxError(
                f"{axis} has no {min(names - known)!r}: choose from {', '.join(sorted(known))}",
                code="option.unknown-value",
            )
        return [value for value in values if str(value.name) in names]

    def axis_values(self, axis: str) -> Iterator[Value]:
        data = self.grid.axes[axis]
        if isinstance(data, str):
            name, *arguments = data.split()
            yield from self.grid.function(name)(self, *arguments)
        elif "rows" in data:
            words = self.grid.function(data["words"])
            for row in self.rows(data["rows"]):
                yield Value(words(row), {}, {"id": row})
        elif isinstance(data, list):
            yield from (Value(option, {axis: option}) for option in data)
        else:
            for name, facts in data.items():
                if isinstance(facts, Mapping):
                    yield Value(name, facts.get("where") or {}, facts)
                else:
                    yield Value(name, {}, {"id": facts})

    def rows(self, source: str) -> list[str]:
        """The rows that a column of a summary table has, named as TABLE/COLUMN."""
        return self.results.rows(*source.split("/"), **self.where)

    def corpora(self, choice: Any) -> list[Value]:
        known = self.results.corpora(**self.where)
        published = self.grid.published
        places = {name: place for place, name in enumerate(published)}
        if self.grid.ordered and choice != "as_run":
            known.sort(key=lambda name: places.get(plain_name(name), len(places)))
        if choice == "printed":
            names = {plain_name(name): name for name in known}
            order = [*published, *names] if self.grid.ordered else [*names, *published]
            known = [names.get(name, name) for name in dict.fromkeys(order)]
        elif isinstance(choice, Mapping):
            known = [name for name in known if name not in choice["without"]]
        elif choice not in (None, "as_run"):
            known = choice if isinstance(choice, list) else [choice]
        return [
            Value(name, {CORPUS: name}, {"published": published.get(plain_name(name), "")})
            for name in known
        ]

    def number(self, source: str) -> SeedMean | None:
        """A number of the point's cells; None if they have none.

        `source` is TABLE/ROW/COLUMN of the summary, or a function with its arguments.
        """
        name, *arguments = self.text(source).split(" ")
        if "/" in name:
            table, row, column = name.split("/")
            return self.results.find(table, row, column, **self.where)
        number = self.grid.function(name)(self, *arguments)
        assert number is None or isinstance(number, SeedMean)
        return number


def refuse_unknown(what: str, data: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise an error if data of a paper's file have a key that nothing reads."""
    for key in data:
        if key not in known:
            raise VeraxError(f"{what} has an unknown key {key!r}", code="option.unknown")


def plain_name(corpus: str) -> str:
    """A corpus's name without the folder that may follow it.

    >>> plain_name("mimic_anemia:/my/mimic")
    'mimic_anemia'
    """
    return corpus.partition(":")[0]


def fact(point: Point, column: str, times: str = "1") -> SeedMean | None:
    """A column of cells, such as test_f1, multiplied by a number."""
    number = point.results.fact(column, **point.where)
    return number if number is None or times == "1" else number.scaled(float(times))


def described(point: Point, columns: str) -> SeedMean | None:
    """A number of the corpus (corpora.csv), or the sum of several, named with + between."""
    numbers = [point.results.described(name, **point.where) for name in columns.split("+")]
    known = [number for number in numbers if number is not None]
    return combined([(1.0, number) for number in known]) if len(known) == len(numbers) else None


def whole(point: Point, source: str) -> SeedMean | None:
    """A number of all documents; None if the exam saw a sample of them."""
    sampled = point.results.select(**point.where, sample=None).empty
    return None if sampled else point.number(source)


def first(point: Point, axes: str, *source: str) -> SeedMean | None:
    """The first number along some axes, named with commas between."""
    others = point.over(dict.fromkeys(axes.split(",")))
    numbers = (other.number(" ".join(source)) for other in others)
    return next((number for number in numbers if number is not None), None)


def distance(point: Point, source: str, centre: str = "0") -> SeedMean | None:
    """The distance of each seed's value from a centre."""
    number = point.number(source)
    if number is None:
        return None
    values = [abs(value - float(centre)) for value in number.values]
    return SeedMean.of(values, number.cells, number.n)


def times(point: Point, factor: str, source: str) -> SeedMean | None:
    """A number times a factor, which may be a word of `criteria`."""
    number = point.number(source)
    return None if number is None else number.scaled(point.grid.criterion(factor))


def minus(point: Point, source: str, other: str) -> SeedMean | None:
    """A number less another of the same cells."""
    return _sum(point, [(1.0, source), (-1.0, other)])


def mean(point: Point, *sources: str) -> SeedMean | None:
    """The mean of several numbers; None unless all are there."""
    return _sum(point, [(1 / len(sources), source) for source in sources])


def _sum(point: Point, parts: list[tuple[float, str]]) -> SeedMean | None:
    numbers = [(factor, point.number(source)) for factor, source in parts]
    known = [(factor, number) for factor, number in numbers if number is not None]
    return combined(known) if len(known) == len(parts) else None


_SHARED: Mapping[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        *(fact, described, whole, first, distance, times, minus, mean),
        *(epsilon_words, lambda_words, seed_words, value_of),
    )
}

"""Values of a study that know where they were written, and what is wrong with them."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import yaml

from verax.errors import VeraxError, VeraxErrors

MOST_VALUES = 100_000
"""Values a file may hold once its aliases are written out: a few lines of them can be billions."""
MOST_CHARACTERS = 1_000_000
_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + name for name in ("null", "bool", "int", "float", "str", "timestamp")}


@dataclass(frozen=True, order=True)
class Location:
    """A line of the file; of a study from Python, a path of names."""

    line: int = 0
    path: str = ""


class Problems:
    """All that is wrong with a study; `file` is its name, if it is in one."""

    def __init__(self, file: str | None = None) -> None:
        self.file = file
        self._codes: dict[tuple[tuple[Location, ...], str], str] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def add(self, message: str, *locations: Location, code: str) -> None:
        self._codes.setdefault((tuple(sorted(set(locations))), " ".join(message.split())), code)

    @contextmanager
    def at(self, *locations: Location) -> Iterator[None]:
        """A `VeraxError` raised within becomes a problem at these locations."""
        try:
            yield
        except VeraxError as error:
            self.add(str(error), *locations, code=error.code)

    def refuse(self) -> None:
        """Raise all problems, by line, if there are any; those of no line come last."""

        def position(problem: tuple[tuple[Location, ...], str]) -> Any:
            lines = [location.line for location in problem[0] if location.line]
            return min(lines, default=float("inf")), *problem

        if self._codes:
            ordered = sorted(self._codes, key=position)
            by_line = {self.message(*problem): self._codes[problem] for problem in ordered}
            raise VeraxErrors(*(VeraxError(line, code=by_line[line]) for line in by_line))

    def message(self, locations: Iterable[Location], text: str) -> str:
        """
        >>> Problems("study.yaml").message([Location(4), Location(9)], "impossible")
        'study.yaml lines 4, 9: impossible'
        """
        lines = sorted({location.line for location in locations if location.line})
        word = "line" if len(lines) == 1 else "lines"
        parts = [f"{self.file} {word} {', '.join(map(str, lines))}"] if lines else []
        parts += dict.fromkeys(place.path for place in locations if not place.line and place.path)
        where = ", ".join(parts) or self.file
        return f"{where}: {text}" if where else text


@dataclass(frozen=True)
class LocatedValue:
    """A value and where it was written.

    value  None, a truth value, a number, text; a list of LocatedValue; a dict of them, by text
    key    where the key is that the value stands under in a dict
    """

    value: Any
    location: Location = Location()
    key: Location = Location()

    @property
    def each(self) -> list[LocatedValue]:
        """The values of a list; a value that is no list is one alone."""
        return self.value if isinstance(self.value, list) else [self]

    def only(self, names: Iterable[str]) -> LocatedValue:
        """A dict with these of its keys."""
        kept = set(names)
        return replace(self, value={n: part for n, part in self.value.items() if n in kept})

    def plain(self) -> Any:
        """The value without locations."""
        if isinstance(self.value, dict):
            return {key: part.plain() for key, part in self.value.items()}
        if isinstance(self.value, list):
            return [part.plain() for part in self.value]
        return self.value


def read_yaml(text: str, problems: Problems, what: str = "a study") -> LocatedValue | None:
    """The one document of a YAML text; None, and a problem more, where it cannot be read.

    Aliases and merge keys work; tags other than YAML's own for plain values do not, nor a key that
    comes twice.
    """
    if len(text) > MOST_CHARACTERS:
        problems.add(
            f"{len(text):,} characters: {what} has at most {MOST_CHARACTERS:,}",
            code="study.too-large",
        )
        return None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _Reader(problems, what).read(node)
    except _UnreadableError:
        return None
    except yaml.MarkedYAMLError as error:
        problems.add(*_yaml_problem(error), code="file.malformed")
    except yaml.YAMLError as error:
        problems.add(f"not valid YAML: {str(error).splitlines()[0]}", code="file.malformed")
    except RecursionError:
        problems.add(f"not {what}: lists and mappings are nested too deep", code="file.malformed")
    return None


def _yaml_problem(error: yaml.MarkedYAMLError) -> tuple[str, Location]:
    unclosed = str(error.context).startswith(("while scanning a quoted", "while parsing a flow"))
    marks = [error.problem_mark, error.context_mark]
    # what is never closed is noticed at the end, and wrong where it begins
    mark = next((mark for mark in (marks[::-1] if unclosed else marks) if mark), None)
    reason = " ".join(part for part in (error.context, error.problem) if part)
    hint = ": indent with blanks, not with tabs" if "\\t" in reason else ""
    if "mapping values are not allowed" in reason:
        hint = ": put text that has a colon in it into quotes"
    return f"not valid YAML: {reason}{hint}", Location(mark.line + 1 if mark else 0)


def read_json(text: str, problems: Problems, what: str = "a study") -> LocatedValue | None:
    """A JSON text, which is YAML but for its tabs."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        problems.add(f"not valid JSON: {error.msg}", Location(error.lineno), code="file.malformed")
        return None
    except RecursionError:
        problems.add(f"not {what}: lists and mappings are nested too deep", code="file.malformed")
        return None
    except ValueError:
        problems.add("not valid JSON: a number has thousands of digits", code="file.malformed")
        return None
    return read_yaml(text.replace("\t", " "), problems, what)  # a tab inside a text is written \t


def located(value: Any, path: str) -> LocatedValue:
    """A value from Python, its location a path of names; keys become text."""
    at = Location(0, path)
    if isinstance(value, Mapping):
        paths = {str(key): f"{path}.{key}".strip(".") for key in value}
        parts = [located(part, paths[str(key)]) for key, part in value.items()]
        keyed = [replace(part, key=part.location) for part in parts]
        return LocatedValue(dict(zip(paths, keyed, strict=True)), at)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike):
        items = [located(part, f"{path}[{number}]") for number, part in enumerate(value)]
        return LocatedValue(items, at)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif not isinstance(value, bool) and isinstance(value, numbers.Real):
        value = int(value) if isinstance(value, numbers.Integral) else float(value)
    return LocatedValue(value, at)


class _UnreadableError(Exception):
    """Nothing more can be read; the problem is noted already."""


class _Reader:
    """YAML nodes as located values; a node that several aliases name is read once."""

    def __init__(self, problems: Problems, what: str) -> None:
        self.problems, self.what = problems, what
        self.scalars = yaml.constructor.SafeConstructor()
        self.values: dict[int, LocatedValue | None] = {}
        self.sizes: dict[int, int] = {}

    def read(self, node: yaml.Node) -> LocatedValue:
        at = Location(node.start_mark.line + 1)
        if id(node) not in self.values:
            self.values[id(node)] = None  # it is being read
            self.values[id(node)] = self._read(node, at)
            parts = node.value if isinstance(node, yaml.CollectionNode) else []
            inside = [part[1] if isinstance(part, tuple) else part for part in parts]
            size = 1 + sum(self.sizes.get(id(part), 0) for part in inside)
            if size > MOST_VALUES:
                raise self._unreadable(
                    f"{large(size)} values once aliases are written out: {self.what} has at "
                    f"most {MOST_VALUES:,}",
                    at,
                    code="study.too-large",
                )
            self.sizes[id(node)] = size
        value = self.values[id(node)]
        if value is None:
            raise self._unreadable(
                "an alias names what it stands in: write the value out", at, code="file.malformed"
            )
        return value

    def _unreadable(self, message: str, at: Location, code: str) -> _UnreadableError:
        self.problems.add(message, at, code=code)
        return _UnreadableError()

    def _read(self, node: yaml.Node, at: Location) -> LocatedValue:
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return LocatedValue([self.read(part) for part in node.value], at)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, at)
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _SCALARS:
            kind = node.tag.removeprefix(_TAG)
            self.problems.add(
                f"tag {kind!r:.60} is not for {self.what}: write a plain value",
                at,
                code="file.malformed",
            )
            return LocatedValue(None, at)
        if node.tag in (_TAG + "timestamp", _TAG + "str"):
            return LocatedValue(node.value, at)
        try:
            return LocatedValue(self.scalars.construct_object(node), at)
        except (ValueError, OverflowError):
            self.problems.add(
                f"{node.value[:40]!r} cannot be read as a value", at, code="file.malformed"
            )
            return LocatedValue(None, at)

    def _mapping(self, node: yaml.MappingNode, at: Location) -> LocatedValue:
        parts: dict[str, LocatedValue] = {}
        merged: dict[str, LocatedValue] = {}
        for key_node, value_node in node.value:
            key_at = Location(key_node.start_mark.line + 1)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.add(
                    "a key must be a name: this one is a list or a mapping",
                    key_at,
                    code="file.malformed",
                )
                continue
            key, value = key_node.value, self.read(value_node)
            if key_node.tag == _TAG + "merge":
                for other in value.each:
                    if isinstance(other.value, dict):
                        merged = {**other.value, **merged}
                    else:
                        self.problems.add(
                            "'<<' takes a mapping, or a list of them", key_at, code="file.malformed"
                        )
            elif key in parts:
                first = parts[key].key.line
                self.problems.add(
                    f"key {key!r} is given already, in line {first}",
                    key_at,
                    code="option.duplicate",
                )
            else:
                parts[key] = replace(value, key=key_at)
        return LocatedValue({**merged, **parts}, at)


def large(number: int) -> str:
    """
    >>> large(1_234_567), large(10**40)
    ('1,234,567', 'about 10^40')
    """
    if number < 10**15:
        return f"{number:,}"
    return f"about 10^{round((number.bit_length() - 1) * 0.30103)}"

"""YAML and JSON as plain data, with the line of each part, and the problems found in it."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple

import yaml

from verax.errors import VeraxError, VeraxErrors

MOST_VALUES = 100_000
"""Values a file may hold once its aliases are written out: a few lines of them can be billions."""
MOST_CHARACTERS = 1_000_000
_MOST_NESTED = 100
_TAG = "tag:yaml.org,2002:"
_TEXT = (_TAG + "timestamp", _TAG + "str")
_SCALARS = {*_TEXT, *(_TAG + name for name in ("null", "bool", "int", "float"))}

Path = tuple[str | int, ...]
"""Where a value is in plain data: keys of mappings and indices of lists, from the outermost."""
Place = int | str
"""Where a value was written: a line of a file; in data from Python, such as `models.lr[1]`."""


class Problems:
    """All problems of a study, to be raised together.

    Attributes:
        file: the name of the file; None for a study from Python.
        lines: the line of each path; `read_yaml` and `read_json` fill it.
        refused: options of which a value was refused.
    """

    def __init__(self, file: str | None = None) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.refused: set[str] = set()
        self._codes: dict[tuple[tuple[Place, ...], str], str] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def of_caller(self) -> Problems:
        """Return a view for values that are not from the file: their places are paths."""
        view = Problems(self.file)
        view.refused, view._codes = self.refused, self._codes
        return view

    def place(self, path: Path) -> Place:
        """Return the line of a path, or the path in words where it is from no file."""
        if path in self.lines:
            return self.lines[path]
        words = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
        return "".join(words).removeprefix(".")

    def add(self, message: str, *places: Place | Path, code: str) -> None:
        """Note a problem, once."""
        known = {self.place(p) if isinstance(p, tuple) else p for p in places} - {""}
        key = tuple(sorted(known, key=lambda place: (isinstance(place, str), place)))
        self._codes.setdefault((key, " ".join(message.split())), code)

    @contextmanager
    def at(self, *places: Place | Path) -> Iterator[None]:
        """Note a `VeraxError` that is raised inside, as a problem of these places."""
        try:
            yield
        except VeraxError as error:
            self.add(str(error), *places, code=error.code)

    def refuse(self) -> None:
        """Raise all problems, ordered by line; those of no line come last."""

        def position(problem: tuple[tuple[Place, ...], str]) -> Any:
            lines = [place for place in problem[0] if isinstance(place, int)]
            paths = [place for place in problem[0] if isinstance(place, str)]
            return not lines, lines, paths, problem[1]

        if self._codes:
            ordered = sorted(self._codes, key=position)
            codes = {self.message(*problem): self._codes[problem] for problem in ordered}
            raise VeraxErrors(*(VeraxError(line, code=code) for line, code in codes.items()))

    def message(self, places: Iterable[Place], text: str) -> str:
        """
        >>> Problems("study.yaml").message([4, 9], "impossible")
        'study.yaml lines 4, 9: impossible'
        """
        places = list(places)
        lines = [str(place) for place in places if isinstance(place, int)]
        word = "line" if len(lines) == 1 else "lines"
        parts = [f"{self.file} {word} {', '.join(lines)}"] if lines else []
        parts += [place for place in places if isinstance(place, str)]
        where = ", ".join(parts) or self.file
        return f"{where}: {text}" if where else text


class Part(NamedTuple):
    """A part of plain data that knows where it is."""

    value: Any
    path: Path
    problems: Problems

    @property
    def place(self) -> Place:
        return self.problems.place(self.path)

    @property
    def each(self) -> list[Part]:
        """The items of a list; a value that is no list is one alone."""
        if not isinstance(self.value, list):
            return [self]
        return [self._replace(value=v, path=(*self.path, n)) for n, v in enumerate(self.value)]

    @property
    def items(self) -> list[tuple[str, Part]]:
        """The names of a mapping, each with its part."""
        return [(n, self._replace(value=v, path=(*self.path, n))) for n, v in self.value.items()]

    def only(self, names: Iterable[str]) -> Part:
        """A mapping without its other names."""
        kept = set(names)
        return self._replace(value={n: v for n, v in self.value.items() if n in kept})

    def get(self, name: str, default: Any = None) -> Part:
        """The part under a name of a mapping."""
        return self._replace(value=self.value.get(name, default), path=(*self.path, name))

    def add(self, message: str, *, code: str) -> None:
        """Note a problem of this part."""
        self.problems.add(message, self.path, code=code)

    def noted(self) -> AbstractContextManager[None]:
        """Note a `VeraxError` that is raised inside, as a problem of this part."""
        return self.problems.at(self.path)


def read_yaml(text: str, problems: Problems, what: str = "a study") -> Any:
    """Read a YAML text that holds one document.

    Aliases and merge keys work. Tags other than YAML's own for plain values are refused, and so is
    a key that is given twice. Keys and dates become text.

    Args:
        text: the content of the file.
        problems: takes in the line of each value, and what is wrong with the text.
        what: what the text should be, for messages.

    Returns:
        Plain data; None for an empty text, and for one that cannot be read.
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
        pass
    except yaml.MarkedYAMLError as error:
        problems.add(*_yaml_problem(error), code="file.malformed")
    except yaml.YAMLError as error:
        problems.add(f"not valid YAML: {str(error).splitlines()[0]}", code="file.malformed")
    except RecursionError:
        problems.add(f"not {what}: lists and mappings are nested too deep", code="file.malformed")
    return None


def _yaml_problem(error: yaml.MarkedYAMLError) -> tuple[str, Place]:
    unclosed = str(error.context).startswith(("while scanning a quoted", "while parsing a flow"))
    marks = [error.problem_mark, error.context_mark]
    # what is never closed is noticed at the end, and wrong where it begins
    mark = next((mark for mark in (marks[::-1] if unclosed else marks) if mark), None)
    reason = " ".join(part for part in (error.context, error.problem) if part)
    hint = ": indent with blanks, not with tabs" if "\\t" in reason else ""
    if "mapping values are not allowed" in reason:
        hint = ": put text that has a colon in it into quotes"
    return f"not valid YAML: {reason}{hint}", mark.line + 1 if mark else ""


def read_json(text: str, problems: Problems, what: str = "a study") -> Any:
    """Read a JSON text, which is YAML but for its tabs; see `read_yaml`."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        problems.add(f"not valid JSON: {error.msg}", error.lineno, code="file.malformed")
        return None
    except RecursionError:
        problems.add(f"not {what}: lists and mappings are nested too deep", code="file.malformed")
        return None
    except ValueError:
        problems.add("not valid JSON: a number has thousands of digits", code="file.malformed")
        return None
    return read_yaml(text.replace("\t", " "), problems, what)  # a tab inside a text is written \t


def plain(value: Any) -> Any:
    """Return data from Python as a file would have it: lists, and mappings with text as keys.

    >>> plain({"models": {"lr": (0.1, 0.2)}, 1: "one"})
    {'models': {'lr': [0.1, 0.2]}, '1': 'one'}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [plain(part) for part in value]
    if not isinstance(value, bool) and isinstance(value, numbers.Real):
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    return value


class _UnreadableError(Exception):
    """Nothing more can be read; the problem is noted already."""


class _Reader:
    """YAML nodes as plain data; values that aliases repeat are counted each time."""

    def __init__(self, problems: Problems, what: str) -> None:
        self.problems, self.what = problems, what
        self.scalars = yaml.constructor.SafeConstructor()
        self.values = 0

    def read(self, node: yaml.Node, path: Path = (), line: int | None = None) -> Any:
        at = self.problems.lines[path] = line or node.start_mark.line + 1
        self.values += 1
        if self.values > MOST_VALUES:
            problem = f"{self.what} has at most {MOST_VALUES:,} values once aliases are written out"
            self.problems.add(problem, at, code="study.too-large")
            raise _UnreadableError
        if len(path) > _MOST_NESTED:
            problem = f"not {self.what}: lists and mappings are nested too deep"
            self.problems.add(problem, at, code="file.malformed")
            raise _UnreadableError
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.read(part, (*path, n)) for n, part in enumerate(node.value)]
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, path)
        problem = f"tag {node.tag.removeprefix(_TAG)!r:.60} is not for {self.what}: write a plain "
        if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
            if node.tag in _TEXT:
                return node.value
            try:
                return self.scalars.construct_object(node)
            except (ValueError, OverflowError):
                problem = f"{node.value[:40]!r} cannot be read as a "
        self.problems.add(f"{problem}value", at, code="file.malformed")
        return None

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key, value in node.value:
            if key.tag == _TAG + "merge":
                is_list = isinstance(value, yaml.SequenceNode)
                for other in reversed(value.value) if is_list else [value]:
                    mapping = self.read(other, path, self.problems.lines[path])
                    if isinstance(mapping, dict):
                        merged |= mapping
                    else:
                        self._refuse("'<<' takes a mapping, or a list of them", key)
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._refuse("a key must be a name: this one is a list or a mapping", key)
            elif key.tag != _TAG + "merge":
                name, line = key.value, key.start_mark.line + 1
                if name in own:
                    first = self.problems.lines[(*path, name)]
                    problem = f"key {name!r} is given already, in line {first}"
                    self.problems.add(problem, line, code="option.duplicate")
                else:
                    own[name] = self.read(value, (*path, name), line)
        return {**merged, **own}

    def _refuse(self, problem: str, key: yaml.Node) -> None:
        self.problems.add(problem, key.start_mark.line + 1, code="file.malformed")

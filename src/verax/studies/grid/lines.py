"""YAML, or Python's own values, as plain values that know where each was written."""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from verax.studies.grid.problems import Place, Problems

MOST_VALUES = 100_000
"""Values a file may hold once its aliases are written out: a few lines of them can be billions."""
MOST_CHARACTERS = 1_000_000
_TAG = "tag:yaml.org,2002:"
_SCALARS = {_TAG + name for name in ("null", "bool", "int", "float", "str", "timestamp")}
_TABS = "indent with blanks, not with tabs"


@dataclass(frozen=True)
class Written:
    """A value and its place.

    value  None, a truth value, a number, text; a list of Written; a dict of them, by keys as text
    keys   of a dict, the place of each key
    """

    value: Any
    place: Place
    keys: Mapping[str, Place] = field(default_factory=dict)

    def plain(self) -> Any:
        """The value without places."""
        if isinstance(self.value, dict):
            return {key: part.plain() for key, part in self.value.items()}
        if isinstance(self.value, list):
            return [part.plain() for part in self.value]
        return self.value


def read_yaml(text: str, problems: Problems) -> Written | None:
    """The one document of a YAML text; None, and a problem more, where it cannot be read.

    Aliases and merge keys work; tags other than YAML's own for plain values do not, nor a key that
    comes twice.
    """
    if len(text) > MOST_CHARACTERS:
        problems.add(f"{len(text):,} characters: a study has at most {MOST_CHARACTERS:,}")
        return None
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return None if node is None else _Reader(problems).read(node)
    except _UnreadableError:
        return None
    except yaml.MarkedYAMLError as error:
        opened = str(error.context).startswith(("while scanning a quoted", "while parsing a flow"))
        first, second = error.problem_mark, error.context_mark
        # what is never closed is noticed at the end, and wrong where it begins
        mark = (second or first) if opened else (first or second)
        place = Place(mark.line + 1) if mark else Place()
        reason = " ".join(part for part in (error.context, error.problem) if part)
        hint = f": {_TABS}" if "\\t" in reason else ""
        if "mapping values are not allowed" in reason:
            hint = ": put text that has a colon in it into quotes"
        problems.add(f"not valid YAML: {reason}{hint}", place)
    except yaml.YAMLError as error:
        problems.add(f"not valid YAML: {str(error).splitlines()[0]}")
    except RecursionError:
        problems.add("not a study: lists and mappings are nested too deep")
    return None


def read_json(text: str, problems: Problems) -> Written | None:
    """A JSON text, which is YAML but for its tabs."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        problems.add(f"not valid JSON: {error.msg}", Place(error.lineno))
        return None
    except RecursionError:
        problems.add("not a study: lists and mappings are nested too deep")
        return None
    return read_yaml(text.replace("\t", " "), problems)  # a tab inside a text is written \t


def as_written(value: Any, path: str) -> Written:
    """A value from Python, its place a path of names; keys become text."""
    place = Place(0, path)
    if isinstance(value, Mapping):
        parts = {
            str(key): as_written(part, f"{path}.{key}".strip(".")) for key, part in value.items()
        }
        return Written(parts, place, {key: part.place for key, part in parts.items()})
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike):
        items = [as_written(part, f"{path}[{number}]") for number, part in enumerate(value)]
        return Written(items, place)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif not isinstance(value, bool):
        if isinstance(value, numbers.Integral):
            value = int(value)
        elif isinstance(value, numbers.Real):
            value = float(value)
    return Written(value, place)


class _UnreadableError(Exception):
    """Told already; nothing more can be read."""


class _Reader:
    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        self.scalars = yaml.constructor.SafeConstructor()
        self.done: dict[int, tuple[Written, int]] = {}
        self.open: set[int] = set()

    def read(self, node: yaml.Node) -> Written:
        return self._read(node)[0]

    def _read(self, node: yaml.Node) -> tuple[Written, int]:
        """A node, and how many values it holds; one that several aliases name is read once."""
        place = Place(node.start_mark.line + 1)
        if id(node) in self.open:
            self.problems.add("an alias names what it stands in: write the value out", place)
            raise _UnreadableError
        if id(node) not in self.done:
            self.open.add(id(node))
            found = self._fresh(node, place)
            self.open.discard(id(node))
            if found[1] > MOST_VALUES:
                self.problems.add(
                    f"{large(found[1])} values once aliases are written out: a study has at most "
                    f"{MOST_VALUES:,}",
                    place,
                )
                raise _UnreadableError
            self.done[id(node)] = found
        return self.done[id(node)]

    def _fresh(self, node: yaml.Node, place: Place) -> tuple[Written, int]:
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            parts = [self._read(part) for part in node.value]
            return Written([part for part, _ in parts], place), 1 + sum(n for _, n in parts)
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self._mapping(node, place)
        if not isinstance(node, yaml.ScalarNode) or node.tag not in _SCALARS:
            kind = node.tag.removeprefix(_TAG)
            self.problems.add(f"tag {kind!r} is not for a study: write a plain value", place)
            return Written(None, place), 1
        if node.tag in (_TAG + "timestamp", _TAG + "str"):
            return Written(node.value, place), 1
        try:
            return Written(self.scalars.construct_object(node), place), 1
        except (ValueError, OverflowError):
            self.problems.add(f"{node.value[:40]!r} cannot be read as a value", place)
            return Written(None, place), 1

    def _mapping(self, node: yaml.MappingNode, place: Place) -> tuple[Written, int]:
        parts: dict[str, Written] = {}
        merged: dict[str, Written] = {}
        keys: dict[str, Place] = {}
        merged_keys: dict[str, Place] = {}
        size = 1
        for key_node, value_node in node.value:
            at = Place(key_node.start_mark.line + 1)
            if not isinstance(key_node, yaml.ScalarNode):
                self.problems.add("a key must be a name: this one is a list or a mapping", at)
                continue
            key = key_node.value
            value, held = self._read(value_node)
            size += held
            if key_node.tag == _TAG + "merge":
                for other in value.value if isinstance(value.value, list) else [value]:
                    if not isinstance(other.value, dict):
                        self.problems.add("'<<' takes a mapping, or a list of them", at)
                        continue
                    merged = {**other.value, **merged}
                    merged_keys = {**other.keys, **merged_keys}
            elif key in parts:
                self.problems.add(f"key {key!r} is there already, in line {keys[key].line}", at)
            else:
                parts[key], keys[key] = value, at
        return Written({**merged, **parts}, place, {**merged_keys, **keys}), size


def large(number: int) -> str:
    """
    >>> large(1_234_567), large(10**40)
    ('1,234,567', 'about 10^40')
    """
    if number < 10**15:
        return f"{number:,}"
    return f"about 10^{round((number.bit_length() - 1) * 0.30103)}"

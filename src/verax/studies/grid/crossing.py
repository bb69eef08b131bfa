"""From axes to combinations: every value with every other, nested ones with their choice only."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verax.studies.grid.located import LocatedValue, Location, Problems
from verax.studies.grid.options import DEFAULTS, OPTIONS, Axis, checked, unknown

BY_TRAINING, BY_CORPUS, BY_MODEL, BY_CALLER = 0, 10_000, 20_000, 30_000
"""Who set an option; the higher wins. Options of a choice are one above it each time."""


@dataclass(frozen=True)
class Setting:
    value: Any
    location: Location
    level: int


Combination = Mapping[str, Setting]


def count(axes: Sequence[Axis]) -> int:
    """How many combinations there are, without making any."""
    return math.prod(max(1, sum(count(branch.axes) for branch in axis.branches)) for axis in axes)


def cross(axes: Sequence[Axis], level: int, problems: Problems) -> Iterator[Combination]:
    """Every combination of the axes' values; the first axis varies slowest."""
    alternatives = [
        [
            combined(({axis.name: Setting(branch.value, branch.location, level)}, nested), problems)
            for branch in axis.branches
            for nested in cross(branch.axes, level + 1, problems)
        ]
        for axis in axes
        if axis.branches
    ]
    for parts in itertools.product(*alternatives):
        yield combined(parts, problems)


def combined(parts: Iterable[Combination], problems: Problems) -> Combination:
    """Combinations as one: where an option is set twice the higher level wins.

    Two choices that go together but want different values are a problem.
    """
    whole: dict[str, Setting] = {}
    for part in parts:
        for name, setting in part.items():
            other = whole.get(name)
            if other is None or setting.level > other.level:
                whole[name] = setting
            elif setting.level == other.level and setting.value != other.value:
                problems.add(
                    f"option {name!r} is {other.value!r} by one choice and {setting.value!r} by "
                    "another that goes with it: set it in one of them",
                    other.location,
                    setting.location,
                    code="option.conflict",
                )
    return whole


def values_of(combination: Combination) -> dict[str, Any]:
    return {name: setting.value for name, setting in combination.items()}


def distinct(combinations: Iterable[Combination]) -> list[Combination]:
    """Without those that differ only in what a higher level has set over them."""
    first: dict[frozenset[tuple[str, Any]], Combination] = {}
    for combination in combinations:
        first.setdefault(frozenset(values_of(combination).items()), combination)
    return list(first.values())


@dataclass
class Exclusion:
    """Combinations to leave out: those with one of these values in each of these options."""

    location: Location
    values: Mapping[str, Sequence[Any]]
    used: bool = False

    def fits(self, combination: Combination) -> bool:
        return all(
            (combination[name].value if name in combination else DEFAULTS[name]) in values
            for name, values in self.values.items()
        )


def read_exclusions(section: LocatedValue, problems: Problems) -> tuple[Exclusion, ...]:
    """`exclude: [{encoder: none, grounding: [tying, mlm]}]`, or one such mapping."""
    exclusions = []
    for item in section.each:
        if not isinstance(item.value, dict) or not item.value:
            problems.add(
                "exclude takes mappings of options to values, such as {encoder: none}",
                item.location,
                code="option.wrong-type",
            )
            continue
        before = len(problems)
        values: dict[str, list[Any]] = {name: [] for name in item.value}
        for name, part in item.value.items():
            if name not in OPTIONS:
                problems.add(unknown(name, OPTIONS), part.key, code="option.unknown")
                continue
            for one in part.each:
                with problems.at(one.location):
                    values[name].append(checked(OPTIONS[name], one.plain()))
        if len(problems) == before:
            exclusions.append(Exclusion(item.location, values))
    return tuple(exclusions)

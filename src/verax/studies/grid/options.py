"""What an option may be set to in a study: one value, several to cross, or a choice with options.

    lr: [1e-3, 3e-4]
    projection: [softmax, {sparsegen: {lam: [0.25, 0.75]}}]

An option is an `Axis` with a `Branch` for each value; options that go with a choice are axes of
its branch.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verax.corpora.options import CorpusOptions
from verax.errors import VeraxError, nearest
from verax.models.options import ModelOptions
from verax.options import check, hints, kind_of, names, parse
from verax.studies.grid.located import LocatedValue, Location, Problems
from verax.studies.grid.study import Hardware
from verax.training.options import TrainingOptions

_LISTED = {"strengths": '"0.1,1"', "epsilons": '"0.05,0.5"'} | dict.fromkeys(
    ("inputs", "items", "entropy_of"), '"gradient,leave-one-out"'
)
"""Options that are a list in text, and how one is written."""


@dataclass(frozen=True)
class Declared:
    """An option as its dataclass declares it."""

    name: str
    hint: Any
    metadata: Mapping[str, Any]
    default: Any

    @property
    def choices(self) -> Collection[str]:
        return self.metadata["choices"] or ()


def declared(*classes: type) -> dict[str, Declared]:
    """Every option of these dataclasses, by name."""
    return {
        f.name: Declared(f.name, hints(cls)[f.name], f.metadata, f.default)
        for cls in classes
        for f in dataclasses.fields(cls)
    }


OF_TRAINING = {n: d for n, d in declared(TrainingOptions).items() if n != "max_tokens"}
"""Options of training that a cell may set: how much is held at once is a hint for machines."""
OPTIONS = {**declared(ModelOptions), **OF_TRAINING}
DEFAULTS = {name: option.default for name, option in OPTIONS.items()}


def checked(option: Declared, value: Any, as_text: bool = False) -> Any:
    """One value in the kind that an option takes.

    Args:
        option: the option it is for.
        value: the value as a study file or Python has it.
        as_text: whether text may stand for it as a flag has it: `2`, `1e-3`, `none`.
    """
    kind, optional = kind_of(option.hint)
    if as_text and isinstance(value, str) and value not in option.metadata["also"]:
        value = None if optional and value.lower() == "none" else parse(option.name, value, kind)
    if isinstance(value, list) and option.name in _LISTED:
        how = f"write it as text, such as {_LISTED[option.name]}"
        raise VeraxError(f"option {option.name!r} is a list: {how}", code="option.wrong-type")
    if isinstance(value, list) or (isinstance(value, dict) and kind is not dict):
        what = "list" if isinstance(value, list) else "mapping"
        raise VeraxError(
            f"option {option.name!r} is a {what}: expected one value", code="option.wrong-type"
        )
    if value is None and not optional:
        expected = nearest("", option.choices) if option.choices else "give one, or leave it out"
        raise VeraxError(f"option {option.name!r} has no value: {expected}", code="option.missing")
    value = check(option.name, value, option.hint, option.metadata)
    # −0 is 0, but would not be written as it
    return value + 0.0 if isinstance(value, float) else value


_ELSEWHERE = {
    "seed": "a study has seeds, such as seeds: [0, 1], or --seeds 0,1",
    "seeds": "it is a key of the study itself, or --seeds 0,1",
    "exclude": "put it under models",
}
_SECTIONS: dict[str, Collection[str]] = {
    "training": OF_TRAINING,
    "models": names(ModelOptions),
    "hardware": names(Hardware),
    "corpora, with the corpus it is for": names(CorpusOptions),
}


def unknown(name: str, valid: Collection[str], what: str = "option") -> str:
    """The message about a name that stands where it is not valid."""
    belongs = None
    if name in _ELSEWHERE and not (name == "seed" and "seeds" in valid):
        belongs = _ELSEWHERE[name]
    elif slot := next((o.name for o in OPTIONS.values() if name in o.choices), None):
        belongs = (
            f"it is a choice of {slot}, as in {slot}: {name}, or with options "
            f"{slot}: {{{name}: {{…}}}}"
        )
    elif section := next((s for s, options in _SECTIONS.items() if name in options), None):
        belongs = f"put it under {section}"
    if belongs is None:
        return f"unknown {what} {name!r}: {nearest(name, valid)}"
    return f"{what} {name!r} does not belong here: {belongs}"


def _known(
    mapping: LocatedValue, options: Mapping[str, Declared], problems: Problems
) -> Iterator[tuple[Declared, LocatedValue]]:
    """Each option of a mapping with its value; a name that is no option is a problem."""
    for name, part in mapping.value.items():
        if name in options:
            yield options[name], part
        else:
            problems.add(unknown(name, options), part.key, code="option.unknown")


def read_values(
    mapping: LocatedValue, options: Mapping[str, Declared], problems: Problems
) -> dict[str, Any]:
    """The values of a mapping of options with one value each."""
    values = {}
    for option, part in _known(mapping, options, problems):
        with problems.at(part.location):
            values[option.name] = checked(option, part.plain())
    return values


def read_list(
    option: Declared, setting: LocatedValue, problems: Problems, *, as_text: bool = False
) -> dict[Any, Location]:
    """The values of an option that takes one or several, each with its location."""
    values: dict[Any, Location] = {}
    if not setting.each and option.default:
        problems.add(
            f"option {option.name!r} is an empty list: give values",
            setting.location,
            code="option.empty",
        )
    for item in setting.each:
        with problems.at(item.location):
            value = checked(option, item.plain(), as_text)
            if value in values:
                raise VeraxError(
                    f"option {option.name!r} has {value!r} twice", code="option.duplicate"
                )
            values[value] = item.location
    return values


@dataclass(frozen=True)
class Branch:
    value: Any
    location: Location
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class Axis:
    """An option and its values; `whole` is false where some of them were refused."""

    name: str
    branches: tuple[Branch, ...]
    whole: bool = True


def read_axes(
    mapping: LocatedValue,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...] = (),
) -> tuple[Axis, ...]:
    """A mapping of options, each an axis; `within` are the options whose choices it belongs to."""
    axes = []
    for option, part in _known(mapping, options, problems):
        if option.name in within:
            problems.add(
                f"option {option.name!r} is set inside its own choice",
                part.key,
                code="option.conflict",
            )
            continue
        before = len(problems)
        items = [part] if option.name in _LISTED else part.each
        if not items:
            problems.add(
                f"option {option.name!r} is an empty list: give values",
                part.location,
                code="option.empty",
            )
        branches: list[Branch] = []
        for item in items:
            if isinstance(item.value, dict) and option.choices:
                branches += _choices(option, item, options, problems, (*within, option.name))
                continue
            with problems.at(item.location):
                value = checked(option, item.plain())
                if any(b.value == value and not b.axes for b in branches):
                    raise VeraxError(
                        f"option {option.name!r} has {value!r} twice", code="option.duplicate"
                    )
                branches.append(Branch(value, item.location))
        axes.append(Axis(option.name, tuple(branches), whole=len(problems) == before))
    return tuple(axes)


def _choices(
    option: Declared,
    setting: LocatedValue,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...],
) -> Sequence[Branch]:
    """`{sparsegen: {lam: 0.5}}`: choices, each with the options that go with it."""
    branches = []
    if not setting.value:
        problems.add(
            f"option {option.name!r} is an empty mapping: name a choice",
            setting.location,
            code="option.empty",
        )
    for choice, part in setting.value.items():
        with problems.at(part.key):
            value = checked(option, choice)
            axes: tuple[Axis, ...] = ()
            if isinstance(part.value, dict):
                axes = read_axes(part, options, problems, within)
            elif part.value is not None:
                problems.add(
                    f"{option.name} {choice!r} is given {reprlib.repr(part.plain())}: expected "
                    "options that go with it, such as {lam: 0.5}",
                    part.location,
                    code="option.wrong-type",
                )
            branches.append(Branch(value, part.key, axes))
    return branches

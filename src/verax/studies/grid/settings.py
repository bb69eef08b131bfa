"""What an option may be set to in a study: one value, several to cross, or a choice with options.

    lr: [1e-3, 3e-4]
    projection: [softmax, {sparsegen: {lam: [0.25, 0.75]}}]

An option is an `Axis` with a `Branch` for each value; options that go with a choice are axes of
its branch.
"""

from __future__ import annotations

import dataclasses
import reprlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from verax.corpora.options import CorpusOptions
from verax.errors import VeraxError, nearest
from verax.models.options import ModelOptions
from verax.options import check, hints, kind_of, names, parse
from verax.studies.grid.hardware import Hardware
from verax.studies.grid.lines import Written
from verax.studies.grid.problems import Place, Problems
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


TRAINED = {n: d for n, d in declared(TrainingOptions).items() if n != "max_tokens"}
"""Options of training that a cell may set: how much is held at once is a hint for machines."""
OPTIONS = {**declared(ModelOptions), **TRAINED}
DEFAULTS = {name: option.default for name, option in OPTIONS.items()}


@dataclass(frozen=True)
class Branch:
    value: Any
    place: Place
    axes: tuple[Axis, ...] = ()


@dataclass(frozen=True)
class Axis:
    """`whole` is false where some of its values were refused."""

    name: str
    branches: tuple[Branch, ...]
    whole: bool = True


def checked(option: Declared, value: Any) -> Any:
    """One value in the kind that an option takes."""
    if isinstance(value, list | dict):
        how = _LISTED.get(option.name)
        if how and isinstance(value, list):
            raise VeraxError(f"option {option.name!r} is a list: write it as text, such as {how}")
        kind = "list" if isinstance(value, list) else "mapping"
        if not (kind_of(option.hint)[0] is dict and kind == "mapping"):
            raise VeraxError(f"option {option.name!r} is a {kind}: expected one value")
    if value is None and not kind_of(option.hint)[1]:
        expected = nearest("", option.choices) if option.choices else "give one, or leave it out"
        raise VeraxError(f"option {option.name!r} has no value: {expected}")
    value = check(option.name, value, option.hint, option.metadata)
    # −0 is 0, but would not be written as it
    return value + 0.0 if isinstance(value, float) else value


def checked_text(option: Declared, value: Any) -> Any:
    """One value that may be written as a flag has it: `2`, `1e-3`, `none`."""
    kind, optional = kind_of(option.hint)
    if isinstance(value, str) and value not in option.metadata["also"]:
        value = None if optional and value.lower() == "none" else parse(option.name, value, kind)
    return checked(option, value)


def unknown(name: str, valid: Sequence[str], what: str = "option") -> str:
    """What to say of a name that stands where it is not known."""
    if name in _MEANT and not (name == "seed" and "seeds" in valid):
        return f"{what} {name!r} does not belong here: {_MEANT[name]}"
    for cls in (ModelOptions, TrainingOptions):
        for slot in dataclasses.fields(cls):
            if name in (slot.metadata["choices"] or ()) and name not in valid:
                return (
                    f"{what} {name!r} does not belong here: it is a choice of {slot.name}, as in "
                    f"{slot.name}: {name}, or with options {slot.name}: {{{name}: {{…}}}}"
                )
    for place, there in _ELSEWHERE.items():
        if name in there and name not in valid:
            return f"{what} {name!r} does not belong here: put it under {place}"
    return f"unknown {what} {name!r}: {nearest(name, valid)}"


_MEANT = {
    "seed": "a study has seeds, such as seeds: [0, 1], or --seeds 0,1",
    "seeds": "it is a key of the study itself, or --seeds 0,1",
    "exclude": "put it under models",
}
_ELSEWHERE: dict[str, list[str]] = {
    "training": list(TRAINED),
    "models": names(ModelOptions),
    "hardware": names(Hardware),
    "corpora, with the corpus it is for": names(CorpusOptions),
}


def one_by_one(
    written: Written, options: Mapping[str, Declared], problems: Problems
) -> dict[str, Any]:
    """A mapping of options with one value each; what is wrong becomes a problem."""
    values = {}
    for name, part in written.value.items():
        if name not in options:
            problems.add(unknown(name, list(options)), written.keys[name])
            continue
        try:
            values[name] = checked(options[name], part.plain())
        except VeraxError as error:
            problems.add(str(error), part.place)
    return values


def axes_of(
    written: Written,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...] = (),
) -> tuple[Axis, ...]:
    """A mapping of options, each an axis; `within` are the options whose choices it belongs to."""
    axes = []
    for name, part in written.value.items():
        if name not in options:
            problems.add(unknown(name, list(options)), written.keys[name])
        elif name in within:
            problems.add(f"option {name!r} is set inside its own choice", written.keys[name])
        else:
            axes.append(_axis(options[name], part, options, problems, (*within, name)))
    return tuple(axes)


def _axis(
    option: Declared,
    written: Written,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...],
) -> Axis:
    before = len(problems)
    several = isinstance(written.value, list) and option.name not in _LISTED
    items = written.value if several else [written]
    if not items:
        problems.add(f"option {option.name!r} is an empty list: give values", written.place)
    branches: list[Branch] = []
    for item in items:
        if isinstance(item.value, dict) and option.choices:
            branches += _choices(option, item, options, problems, within)
            continue
        try:
            branch = Branch(checked(option, item.plain()), item.place)
        except VeraxError as error:
            problems.add(str(error), item.place)
            continue
        if any(b.value == branch.value and not b.axes for b in branches):
            problems.add(f"option {option.name!r} has {branch.value!r} twice", item.place)
            continue
        branches.append(branch)
    return Axis(option.name, tuple(branches), whole=len(problems) == before)


def _choices(
    option: Declared,
    written: Written,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...],
) -> list[Branch]:
    """`{sparsegen: {lam: 0.5}}`: choices, each with the options that go with it."""
    branches = []
    if not written.value:
        problems.add(f"option {option.name!r} is an empty mapping: name a choice", written.place)
    for choice, given in written.value.items():
        try:
            value = checked(option, choice)
        except VeraxError as error:
            problems.add(str(error), written.keys[choice])
            continue
        axes: tuple[Axis, ...] = ()
        if isinstance(given.value, dict):
            axes = axes_of(given, options, problems, within)
        elif given.value is not None:
            problems.add(
                f"{option.name} {choice!r} is given {reprlib.repr(given.plain())}: expected "
                "options that go with it, such as {lam: 0.5}",
                given.place,
            )
        branches.append(Branch(value, written.keys[choice], axes))
    return branches

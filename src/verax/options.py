"""Options declared once, as dataclass fields: the Python call, the flag and the config-file key.

A room declares its options as a frozen dataclass whose fields are made by `option`. `build` turns
a plain mapping (keyword arguments, a YAML file, parsed flags) into that dataclass, refusing unknown
names with the nearest valid one and values of the wrong kind with the kind expected.
"""

from __future__ import annotations

import dataclasses
import errno
import functools
import inspect
import math
import numbers
import os
import types
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, TypeVar

from verax.errors import VeraxError, nearest
from verax.schema import Kind, SchemaError, mapping, plain

T = TypeVar("T")

MOST = 2**31 - 1
"""The largest whole number that an option takes, unless it says otherwise."""
WIDEST = 2**16
"""The largest width of anything in a model."""
ROUNDS = 10**6
"""How often anything may be done over: epochs, draws, permutations, steps."""

SEED = {"minimum": 0, "maximum": 2**32 - 1}
"""What every generator in use can be started from."""


def option(
    default: Any,
    help: str,
    *,
    choices: Collection[str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    above: float | None = None,
    also: Sequence[str] = (),
    version: int = 1,
    active_when: tuple[str, Callable[[Any, Any], bool]] | None = None,
) -> Any:
    """A dataclass field with what its flag, its help text and its checks need.

    Numbers are finite, and whole ones at most `MOST` either way, unless bounds say otherwise.
    `choices` may be a collection that grows, such as a registry: it is asked anew each time.
    `also` are words that may stand in place of a number. An option of a model, a training or a
    corpus whose default changes its meaning gets the next `version`, which enters keys of cells.
    `active_when` is for an option that has an effect only under others: the option that decides,
    and whether this one has an effect, given resolved `ModelOptions` and `TrainingOptions`.
    """
    metadata = {
        "help": help,
        "choices": choices,
        "minimum": minimum,
        "maximum": maximum,
        "below": below,
        "above": above,
        "also": tuple(also),
        "version": version,
        "active_when": active_when,
    }
    return dataclasses.field(default=default, metadata=metadata)


def kind_of(hint: Any) -> tuple[Any, bool]:
    """The type a hint names, and whether None is allowed: `int | None` → (int, True)."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        arms = [a for a in typing.get_args(hint) if a is not type(None)]
        return typing.get_origin(arms[0]) or arms[0], True
    return typing.get_origin(hint) or hint, False


@functools.cache
def hints(cls: type) -> Mapping[str, Any]:
    """The types of a class's fields; a command asks for them many times."""
    return typing.get_type_hints(cls)


def names(*classes: type) -> list[str]:
    """Every option name of these dataclasses, in order of declaration."""
    return [f.name for cls in classes for f in dataclasses.fields(cls)]


def show_options(function: Callable[..., Any], *classes: type) -> None:
    """Let `help` see the options behind `**options`; type checkers read the annotation."""
    signature = inspect.signature(function)
    keep = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    more = [
        inspect.Parameter(
            f.name, inspect.Parameter.KEYWORD_ONLY, default=f.default, annotation=f.type
        )
        for cls in classes
        for f in dataclasses.fields(cls)
    ]
    function.__signature__ = signature.replace(parameters=[*keep, *more])  # type: ignore[attr-defined]


def build(cls: Callable[..., T], values: Mapping[str, Any], also_valid: Sequence[str] = ()) -> T:
    """An instance of the option dataclass `cls` from a plain mapping, strictly checked.

    `also_valid` are names a user could have meant that belong elsewhere: they are offered as the
    nearest valid name, never accepted.
    """
    fields = {f.name: f for f in dataclasses.fields(typing.cast(type, cls))}
    for name in values:
        if name not in fields:
            suggestion = nearest(str(name), [*fields, *also_valid])
            raise VeraxError(f"unknown option {str(name)!r}: {suggestion}", code="option.unknown")
    annotations = hints(typing.cast(type, cls))
    checked = {n: check(n, v, annotations[n], fields[n].metadata) for n, v in values.items()}
    return cls(**checked)


def divide(values: Mapping[str, Any], *classes: type) -> list[dict[str, Any]]:
    """Deal a flat mapping out to the dataclasses that declare its names; refuse what none knows."""
    valid = names(*classes)
    for name in values:
        if name not in valid:
            advice = nearest(str(name), valid) if valid else "there is nothing to set"
            raise VeraxError(f"unknown option {str(name)!r}: {advice}", code="option.unknown")
    return [{n: values[n] for n in names(cls) if n in values} for cls in classes]


def check(name: str, value: Any, hint: Any, metadata: Mapping[str, Any]) -> Any:
    """`value` in the kind that option `name` takes, or an error that says what it takes."""
    kind, optional = kind_of(hint)
    if optional and isinstance(value, str) and value.lower() == "none":  # as a flag has it
        value = None
    if value is None:
        if optional:
            return None
        raise VeraxError(
            f"option {name!r} cannot be none: give {_article(kind)}",
            options=[name],
            code="option.wrong-type",
        )
    if isinstance(value, str) and value in metadata.get("also", ()):
        return value
    if not isinstance(value, bool):  # numpy's numbers and a pathlib path are as good
        if kind is int and isinstance(value, numbers.Integral):
            value = int(value)
        if kind is float and isinstance(value, numbers.Real):
            value = _as_float(name, value)
        if kind is str and isinstance(value, os.PathLike):
            value = os.fspath(value)
    if kind is float and isinstance(value, str):  # YAML reads 1e-3 as text
        value = (
            value if metadata.get("also") and not _is_number(value) else parse(name, value, kind)
        )
    if (isinstance(value, bool) and kind in (int, float)) or not isinstance(value, kind):
        words = " or ".join([_article(kind), *map(repr, metadata.get("also", ()))])
        raise VeraxError(
            f"option {name!r} is {shown(value)}: expected {words}",
            options=[name],
            code="option.wrong-type",
        )
    choices = metadata.get("choices")
    if choices and value not in choices:
        message = f"option {name!r} is {shown(value)}: {nearest(value[:200], choices)}"
        raise VeraxError(message, options=[name], code="option.unknown-value")
    if kind in (int, float):
        _within(name, value, metadata)
    if kind is str and not is_writable(value):
        raise VeraxError(
            f"option {name!r} is {shown(value)}: it has NUL or half a character, which no file can "
            "hold",
            options=[name],
            code="text.invalid-unicode",
        )
    return value


def is_writable(text: str) -> bool:
    """Whether a text can stand in a file and name one: it is UTF-8, and has no NUL."""
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def check_path(name: str, value: Any) -> str:
    """A path, or the name of a thing, as text; an error where it is neither."""
    if not isinstance(value, str | os.PathLike):
        raise VeraxError(
            f"{name} is {shown(value)}: expected a path or a name", code="option.wrong-type"
        )
    path = os.fspath(value)
    if not isinstance(path, str) or not path or not is_writable(path):
        raise VeraxError(
            f"{name} is {shown(path)}: expected the name of a file or folder, in UTF-8",
            code="file.bad-name",
        )
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise VeraxError(
                f"{name} is {shown(path)}: the name is too long", code="file.bad-name"
            ) from None
    return path


def shown(value: Any) -> str:
    """A value in a message: as Python writes it, and not longer than a line takes."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of thousands of digits
        return "a number of thousands of digits"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def parse(name: str, text: str, kind: Any) -> Any:
    """The value of option `name` written as `text` on the command line."""
    try:
        if kind is int:
            return int(text)
        if kind is float:
            return float(text)
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        if kind is dict:
            pairs = [pair.split("=", 1) for pair in text.split(",")]
            return {key.strip(): value.strip() for key, value in pairs}
    except (ValueError, KeyError):
        message = f"option {name!r} is {shown(text)}: expected {_article(kind)}"
        raise VeraxError(message, options=[name], code="option.wrong-type") from None
    return text


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _as_float(name: str, value: numbers.Real) -> float:
    try:
        return float(value)
    except OverflowError:
        message = f"option {name!r} is {shown(value)}: it must be a finite number"
        raise VeraxError(message, options=[name], code="option.out-of-range") from None


def _within(name: str, value: float, metadata: Mapping[str, Any]) -> None:
    lowest, highest = metadata.get("minimum"), metadata.get("maximum")
    above, below = metadata.get("above"), metadata.get("below")
    if isinstance(value, int):
        lowest = -MOST if lowest is None else lowest
        highest = MOST if highest is None else highest
    bounds = [
        (lowest is not None and value < lowest, f"at least {lowest}"),
        (highest is not None and value > highest, f"at most {highest}"),
        (above is not None and value <= above, f"above {above}"),
        (below is not None and value >= below, f"below {below}"),
        (isinstance(value, float) and not math.isfinite(value), "a finite number"),
    ]
    for broken, expected in bounds:
        if broken:
            message = f"option {name!r} is {shown(value)}: it must be {expected}"
            raise VeraxError(message, options=[name], code="option.out-of-range")


def saved_options(*classes: type) -> Kind:
    """The kind of a mapping of options as a file keeps it.

    Each option that a class declares is as it declares it, but that any name may be chosen: what
    was registered elsewhere need not be here. Other names have plain values.
    """

    def check_all(value: Any, where: str) -> None:
        mapping(plain)(value, where)
        for cls in classes:
            for field in dataclasses.fields(cls):
                if value.get(field.name) is not None:
                    metadata = {**field.metadata, "choices": None}
                    hint = hints(cls)[field.name]
                    try:
                        check(field.name, value[field.name], hint, metadata)
                    except VeraxError as error:
                        raise SchemaError(f"{where}: {error}") from None

    return check_all


_SHOWN = 80
"""Characters of a value that a message shows."""


def _article(kind: Any) -> str:
    return {
        int: "a whole number",
        float: "a number",
        bool: "true or false",
        str: "text",
        dict: "a mapping such as 0=negative,4=positive",
    }[kind]

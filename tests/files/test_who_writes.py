"""Everything public that writes has a row in `capabilities.py`; so has every module that writes."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType

import pytest
from capabilities import CAPABILITIES
from faults import RENAMES, SOURCE, Call
from places import Place

import verax
from support.storage import MODULES
from verax.cli import main

API = Path(__file__).parents[2] / "public_api.txt"
VERBS = re.compile(r"(save|report|run|write|pack|dump|export)(_|$)")
"""What a function that writes is called."""
PLACES = {"out", "keep"}
"""Parameters that name what is written."""
PATHS = PLACES | {"folder", "path", "file"}
FLAGS = {"--out", "--save", "--docs", "--page"}
"""Flags that name what is written."""
REFUSES = {"GuidedClassifier.save"}
"""What writes nothing."""


def public() -> Iterator[tuple[str, FunctionType]]:
    """Every function of `public_api.txt`, and every method of a class there, by its own name."""
    for public_name in API.read_text(encoding="utf-8").split():
        module, _, name = public_name.rpartition(".")
        thing = getattr(importlib.import_module(module), name)
        members = inspect.getmembers(thing) if inspect.isclass(thing) else [(name, thing)]
        for member, one in members:
            function = inspect.unwrap(getattr(one, "__func__", one)) if callable(one) else None
            if isinstance(function, FunctionType) and not member.startswith("_"):
                yield function.__qualname__, function


def test_every_public_function_that_writes_has_a_row() -> None:
    found = set()
    for name, function in public():
        given = set(inspect.signature(function).parameters)
        named = VERBS.match(function.__name__) and given & PATHS
        if function.__module__.startswith("verax.") and (named or given & PLACES):
            found.add(name)
    assert len(found) > 10
    rows = {name for one in CAPABILITIES.values() for name in one.names}
    assert found - rows - REFUSES == set(), "enter it in capabilities.py"


def commands() -> Iterator[tuple[str, str]]:
    """Every command and a flag of it, as the shell completes them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert main(["completion", "bash"]) == 0
    for command, flags in re.findall(
        r"^ +('?[a-z ]+'?)\) flags=(.*?); commands=", out.getvalue(), re.M
    ):
        for flag in shlex.split(flags)[0].split():
            yield command.strip("'"), flag


def test_every_command_that_writes_has_a_row() -> None:
    found = {f"verax {command} {flag}" for command, flag in commands() if flag in FLAGS}
    assert len(found) > 12
    rows = {name for one in CAPABILITIES.values() for name in one.names}
    assert found - rows == set(), "enter it in capabilities.py"


HOME = {str(module.__file__).removeprefix(SOURCE) for module in MODULES}


def writer(call: Call) -> tuple[str, str | None]:
    """Who gives a file its name: a file of Verax, and the function of `MODULES` that it calls."""
    entry = None
    for file, function, _ in call.frames:
        if file not in HOME:
            return file, entry
        entry = function
    return "", entry  # a user called it


@pytest.mark.slow
def test_every_module_that_writes_does_so_in_some_row(place_of: Callable[[str], Place]) -> None:
    """A module that has one of the functions by which files get their names uses it in some row."""
    named = {
        writer(call)
        for title in CAPABILITIES
        for call in place_of(title).calls
        if call.name in RENAMES
    }
    by_which = {entry for _, entry in named if entry is not None}
    assert by_which
    able = set()
    for module in pkgutil.walk_packages(verax.__path__, "verax."):
        path = Path(str(importlib.util.find_spec(module.name).origin))  # type: ignore[union-attr]
        file = str(path.relative_to(SOURCE))
        if file not in HOME and any(one in path.read_text("utf-8") for one in NAMES):
            for value in vars(importlib.import_module(module.name)).values():
                if inspect.isfunction(value) and _is_of(value) and value.__qualname__ in by_which:
                    able.add(file)
    assert able - {file for file, _ in named} == set(), "no row of capabilities.py writes by it"


NAMES = [module.__name__ for module in MODULES]


def _is_of(function: FunctionType) -> bool:
    return function.__module__ in NAMES

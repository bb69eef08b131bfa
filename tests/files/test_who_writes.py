"""Everything public that writes has a row in `capabilities.py`, and so has what it writes by."""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import re
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType

import pytest
from capabilities import CAPABILITIES
from faults import RENAMES, SOURCE
from places import Place

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
        given = inspect.signature(function).parameters
        paths = [name for name, one in given.items() if name in PATHS or "Path" in str(one)]
        is_named = VERBS.match(function.__name__) and paths
        if function.__module__.startswith("verax.") and (is_named or PLACES & set(given)):
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
NAMES = {module.__name__ for module in MODULES}


def outermost(function: str) -> str:
    """The function or method in which a function is defined, or else itself."""
    return function.partition(".<locals>")[0]


def functions(tree: ast.AST, inside: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Every function and method of a module, without those that are defined in one."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.ClassDef):
            yield from functions(node, f"{inside}{node.name}.")
        elif isinstance(node, ast.FunctionDef):
            yield inside + node.name, node


def can_write(function: ast.AST, entries: set[str]) -> bool:
    """Whether a function names an entry, or renames by itself."""
    for node in ast.walk(function):
        match node:
            case ast.Name(id=name) if name in entries:
                return True
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in RENAMES:
                return True
    return False


def imported(tree: ast.AST) -> set[str]:
    """What a module imports from `MODULES`."""
    froms = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names = {f"{one.module}.{alias.name}" for one in froms for alias in one.names}
    assert not names & NAMES, "import their functions: a module is not followed"
    return {alias.name for one in froms if one.module in NAMES for alias in one.names}


@pytest.mark.slow
def test_every_function_that_writes_does_so_in_some_row(place_of: Callable[[str], Place]) -> None:
    """What gives files their names is seen where it is called; who names it, is in some row."""
    calls = [call for title in CAPABILITIES for call in place_of(title).calls]
    frames = {(file, outermost(function)) for call in calls for file, function, _ in call.frames}
    entries = {
        function
        for call in calls
        if call.name in RENAMES
        for file, function, _ in call.frames
        if file in HOME and "." not in function
    }
    assert {"write_text", "write_files", "replace_folder"} <= entries
    able = set()
    for path in Path(SOURCE).rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if (file := str(path.relative_to(SOURCE))) not in HOME:
            own = entries & imported(tree)
            able |= {(file, name) for name, node in functions(tree) if can_write(node, own)}
    assert len(able) > 10
    assert able - frames == set(), "no row of capabilities.py writes by it"

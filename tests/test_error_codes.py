"""Every error raised in the package has a declared code, and every declared code is raised."""

from __future__ import annotations

import ast
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

import verax
from support.errors import raises
from support.internals import build_parser
from test_scripts import script
from verax.errors import CODES, ExitCode, VeraxError, VeraxErrors, WriteError

PACKAGE = Path(verax.__file__).parent
MOST = 120
FREE = {"other", "command.usage"}
"""Defaults: of errors that others raise, and of what argparse says itself."""


class Call(NamedTuple):
    """A call that makes an error: where, of which class, and the codes it names."""

    where: str
    name: str
    has_code: bool
    codes: frozenset[str]


def trees() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield str(path.relative_to(PACKAGE)), ast.parse(path.read_text(encoding="utf-8"))


def literals(node: ast.AST) -> frozenset[str]:
    constants = (part.value for part in ast.walk(node) if isinstance(part, ast.Constant))
    return frozenset(value for value in constants if isinstance(value, str))


def defaults() -> dict[str, str]:
    """Subclasses of `VeraxError` that have a code of their own."""
    found: dict[str, str] = {}
    for _, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name != "VeraxError":
                for part in node.body:
                    if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "code":
                        (found[node.name],) = literals(part.value)
    return found


def calls() -> list[Call]:
    """Every call that makes a `VeraxError`, or takes the code of one on."""
    makers = {"VeraxError", "UnknownName", "Refusal", *defaults()}
    found = []
    for where, tree in trees():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func).rpartition(".")[2]
                given = [word.value for word in node.keywords if word.arg == "code"]
                if name in makers or (
                    name in ("add", "error", "_check_same", "_unreadable") and given
                ):
                    codes = frozenset().union(*map(literals, given))
                    found.append(Call(f"{where}:{node.lineno}", name, bool(given), codes))
    return found


def test_every_error_of_the_package_has_a_code() -> None:
    own = defaults()
    without = [call.where for call in calls() if not call.has_code and call.name not in own]
    assert without == []


def test_every_code_is_declared_and_raised() -> None:
    raised = set(defaults().values()).union(*(call.codes for call in calls()))
    assert raised | FREE == set(CODES)


def test_every_subclass_has_a_code_or_is_given_one() -> None:
    subclasses, new = set(), {VeraxError}
    while new:
        subclasses |= new
        new = {sub for one in new for sub in one.__subclasses__()} - subclasses
    named = {one.__name__ for one in subclasses if one.__module__.startswith("verax.")}
    assert named - {"VeraxError", "VeraxErrors", "UnknownName"} == set(defaults())


def test_codes_are_few_and_each_says_what_to_do() -> None:
    assert len(CODES) <= MOST
    for code, meaning in CODES.items():
        assert code == "other" or re.fullmatch(r"[a-z]+\.[a-z-]+", code)
        assert re.fullmatch(r"[A-Z`][^\n|]*\.", meaning)
        assert code in FREE or meaning.count(". ") >= 1 or "docs/" in meaning


def test_the_page_is_made_from_the_tables() -> None:
    errors_page = script("errors_page")
    assert errors_page.PAGE.read_text(encoding="utf-8") == errors_page.page()


def test_no_other_page_lists_exit_codes() -> None:
    pages = [path for path in (PACKAGE.parents[1] / "docs").glob("*.md") if path.stem != "errors"]
    assert len(pages) > 10
    assert [path.name for path in pages if "| exit code |" in path.read_text("utf-8")] == []


def test_an_error_of_others_has_a_code() -> None:
    assert VeraxError("no").code == "other"
    assert WriteError("no").code == "output.not-writable"
    assert WriteError("no", code="output.occupied").code == "output.occupied"


def test_a_code_outlives_another_process() -> None:
    error = VeraxErrors(VeraxError("a", code="file.empty", options=["b"]), WriteError("c"))
    copy = pickle.loads(pickle.dumps(error))  # noqa: S301 (made here)
    assert (copy.code, str(copy)) == ("file.empty", "a\nc")
    assert [problem.code for problem in copy.problems] == ["file.empty", "output.not-writable"]
    assert copy.problems[0].options == ("b",)


def test_raises_tells_codes_and_names_apart() -> None:
    with raises("file.empty", "a.csv", 3):
        raise VeraxError("a.csv 3", code="file.empty")
    with pytest.raises(AssertionError), raises("file.missing"):
        raise VeraxError("a.csv", code="file.empty")
    with pytest.raises(AssertionError), raises("file.empty", "b.csv"):
        raise VeraxError("a.csv", code="file.empty")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["train", "planted", "--epcohs", "2"], "option.unknown"),
        (["train", "planted", "--epochs", "two"], "option.wrong-type"),
        (["train", "planted", "--epochs", "0"], "option.out-of-range"),
        (["tarin"], "option.unknown-value"),
        (["train", "planted", "--epochs"], "command.usage"),
    ],
)
def test_the_command_line_keeps_codes(words: list[str], code: str) -> None:
    with raises(code):
        build_parser().parse(words)


def test_exit_codes_are_those_of_the_shell() -> None:
    assert [code.value for code in ExitCode] == [0, 1, 2, 3, 70, 74, 130]

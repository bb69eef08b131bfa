"""Tests use public names, so that the code behind them can move.

`tests/support` alone may reach further. A test of an internal mechanism, which goes when its
mechanism goes, is listed in `mechanism.txt`: that list may only shrink.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from textwrap import dedent
from typing import TypeGuard

import pytest

import verax
from support import internals

TESTS = Path(__file__).parent
SOURCE = Path(verax.__file__).parent
COMMAND = "verax.__main__.main"
"""What the command `verax` runs."""
NAMES = {COMMAND, *(TESTS.parent / "public_api.txt").read_text(encoding="utf-8").split()}
DOORS = {name.rpartition(".")[0] for name in NAMES}
"""Public modules."""
LISTED = TESTS / "mechanism.txt"
MOST = 85
"""How many files are listed: never raise it."""
SUPPORT_LINES = 600
_DOTTED = re.compile(r"\bverax(?:\.\w+)+")
_BEGUN = re.compile(r"\bverax(?:\.[\w.]*)?$")
"""The end of a string that something is added to."""
_GAP = re.compile(r"\bverax\.[\w.]*[{%]")
"""A place in a string that is filled in later."""
_IMPORT = re.compile(r"\bfrom (verax(?:\.\w+)*) import (\w+)")


def listed() -> list[str]:
    return LISTED.read_text(encoding="utf-8").split()


def internal_names() -> set[str]:
    words = " ".join(internals.TABLE.values()).split()
    names = {(word.partition("=")[2] or word).removeprefix("@") for word in words}
    return names | {f"PRIVATE{name}" for name in internals.ATTRIBUTES}


def files() -> list[Path]:
    """Every file of tests but these: `support`, and this one, which has names in its examples."""
    found = [f for f in sorted(TESTS.rglob("*.py")) if TESTS / "support" not in f.parents]
    return [f for f in found if f != Path(__file__)]


@cache
def private_names() -> frozenset[str]:
    """Names with an underscore that Verax defines, but for what notebooks look for."""
    defined = {name for path in SOURCE.rglob("*.py") for name in _defined(_parsed(path))}
    return frozenset(name for name in defined if not name.startswith("_repr_"))


@cache
def reached(path: Path) -> list[str]:
    """Return what a file uses that no public module offers, in order of appearance."""
    tree = _parsed(path)
    return list(_reached_in(tree, private_names(), frozenset(_defined(tree))))


def _reached_in(
    tree: ast.AST, private: frozenset[str], own: frozenset[str] = frozenset()
) -> Iterator[str]:
    """Return what code uses; `own` are names that it gives to attributes of its own objects."""
    modules = _modules(tree)
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Attribute) and node.attr in own and _is_self(node.value)):
            yield from _reached(node, private, modules)


def _modules(tree: ast.AST) -> dict[str, str]:
    """Map names to the public modules that they stand for, such as `ex` to verax.exams."""
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                whole = {alias.asname: alias.name for alias in names if alias.asname}
            case ast.ImportFrom(module=str(module), names=names):
                whole = {alias.asname or alias.name: f"{module}.{alias.name}" for alias in names}
            case (
                ast.Assign(targets=[ast.Name(id=name), *_], value=value)
                | ast.NamedExpr(target=ast.Name(id=name), value=value)
            ):
                whole = {name: _dotted(value, found)}
            case _:
                continue
        found |= {name: module for name, module in whole.items() if module in DOORS}
    return found


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _defined(tree: ast.AST) -> Iterator[str]:
    """Names with one underscore that are functions, classes, globals or attributes of self."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found = name
            case ast.ClassDef(name=name) | ast.Name(id=name, ctx=ast.Store()):
                found = name
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                found = name
            case _:
                continue
        if _is_private(found):
            yield found


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def _reached(node: ast.AST, private: frozenset[str], modules: dict[str, str]) -> Iterator[str]:
    match node:
        case ast.ImportFrom(module=str(module), names=names) if _is_ours(module):
            for alias in names:
                whole = f"{module}.{alias.name}"
                if whole not in NAMES and whole not in DOORS:
                    yield whole
        case ast.Import(names=names):
            yield from (a.name for a in names if _is_ours(a.name) and a.name not in DOORS)
        case ast.Attribute(value=value, attr=attr):
            if (attr in private and not _is_foreign(value)) or attr in _INNER:
                yield f"attribute {attr}"
            yield from _of_module(_dotted(value, modules), attr)
        case ast.Subscript(
            value=ast.Call(func=ast.Name(id="vars"), args=[value])
            | ast.Attribute(value=value, attr="__dict__"),
            slice=ast.Constant(value=str(name)),
        ):
            yield from _by_name(value, [name], private, modules)
        case ast.Call(func=function, args=[ast.Constant(value=str(text)), *_]) if _called(
            function
        ) in _IMPORTERS and (text in NAMES - DOORS or text.startswith(".")):
            yield f"module {text}"  # which has the name of a function that it defines
        case ast.Call(func=function, args=args, keywords=more) if _called(function) in _BY_NAME:
            given = [a.value for a in (*args, *(k.value for k in more)) if _is_text(a)]
            yield from _by_name(args[0] if args else function, given, private, modules)
        case ast.Constant(value=str(text)) if "import" in text and "verax" in text:
            yield from (f"code {found}" for found in _reached_by_code(text, private))
        case ast.Constant(value=str(text) | bytes(text)):
            yield from (f"string {found}" for found in _named_in(text))
        case ast.JoinedStr(values=[*parts, _]):
            yield from _begun_in(parts)
        case ast.BinOp(left=left, op=ast.Add()):
            yield from _begun_in([left])


_BY_NAME = {
    *("setattr", "getattr", "delattr", "attrgetter", "object"),
    *("__setattr__", "__getattribute__", "__delattr__"),
}
_IMPORTERS = {"import_module", "__import__", "importorskip"}
_INNER = {"__globals__", "__closure__"}
"""Attributes of a function that lead to the module that it is in."""


def _of_module(module: str, name: str) -> Iterator[str]:
    """Return a name that a public module has, but does not offer."""
    whole = f"{module}.{name}"
    offered = module not in DOORS or name.startswith("__") or whole in NAMES | DOORS
    if not offered and (hasattr(import_module(module), name) or _is_module(whole)):
        yield whole


def _is_module(whole: str) -> bool:
    place = SOURCE.joinpath(*whole.split(".")[1:])
    return place.with_suffix(".py").exists() or (place / "__init__.py").exists()


def _by_name(
    value: ast.expr, names: list[str], private: frozenset[str], modules: dict[str, str]
) -> Iterator[str]:
    """Return which names of something are not public, though they are given as text."""
    for name in (part for whole in names for part in whole.split(".")):
        if name in private:
            yield f"attribute {name}"
        yield from _of_module(_dotted(value, modules), name)


def _named_in(text: str | bytes) -> Iterator[str]:
    """Return the places in Verax that a string names, or begins to name."""
    text = text if isinstance(text, str) else text.decode("latin-1")
    for match in _DOTTED.finditer(text):
        parts = match[0].split(".")
        ways = {".".join(parts[:n]) for n in range(2, len(parts) + 1)}
        if match[0] not in DOORS and not ways & (NAMES - DOORS) and _names_code(match[0]):
            yield match[0]
    yield from (f"{match[0]}…" for match in _GAP.finditer(text))


def _begun_in(parts: list[ast.expr]) -> Iterator[str]:
    """Return the places in Verax whose names begin in parts of a string."""
    for part in parts:
        if _is_text(part) and (begun := _BEGUN.search(part.value)):
            yield f"string {begun[0]}…"


def _is_text(node: ast.expr) -> TypeGuard[ast.Constant]:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _reached_by_code(text: str, private: frozenset[str]) -> Iterator[str]:
    """What a string reaches that is run as code, or that is a part of such a string."""
    try:
        yield from _reached_in(ast.parse(dedent(text)), private)
    except SyntaxError:
        yield from _named_in(text)
        for match in _IMPORT.finditer(text):
            whole = ".".join(match.groups())
            if match[1] in DOORS and whole not in NAMES | DOORS and _names_code(whole):
                yield whole


def _called(function: ast.expr) -> str:
    """Return the last name of a function that is called: `object` for `patch.object`."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "verax"


def _is_foreign(value: ast.expr) -> bool:
    """Whether an attribute is one of a module such as os, by its name."""
    return isinstance(value, ast.Name) and value.id in {"os", "sys", "subprocess"}


def _is_self(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id in {"self", "cls"}


def _dotted(value: ast.expr, modules: dict[str, str]) -> str:
    """Return the dotted name of what an expression stands for, if it is a module or in one."""
    match value:
        case ast.Name(id=name):
            return modules.get(name, name)
        case (
            ast.Attribute(value=inner, attr=name)
            | ast.Call(func=ast.Name(id="getattr"), args=[inner, ast.Constant(value=str(name)), *_])
        ):
            return f"{_dotted(inner, modules)}.{name}"
        case ast.Call(func=function, args=[ast.Constant(value=str(name)), *_]):
            return name if _called(function) in _IMPORTERS else ""
        case ast.Subscript(
            value=ast.Attribute(attr="modules"), slice=ast.Constant(value=str(name))
        ):
            return name
    return ""


def _names_code(text: str) -> bool:
    """Whether a dotted name leads to a module of Verax that is not public, or to what is in one."""
    parts = text.split(".")[1:]
    place = SOURCE
    for part in parts:
        if (place / f"{part}.py").exists():
            return True
        if not (place / part / "__init__.py").exists():
            return place != SOURCE
        place = place / part
    return text not in DOORS and place != SOURCE


def test_other_files_use_public_names_only() -> None:
    exempt = set(listed())
    found = {str(f.relative_to(TESTS)): reached(f) for f in files()}
    assert {name: deep for name, deep in found.items() if deep and name not in exempt} == {}


def test_research_uses_public_names_only() -> None:
    """It is a consumer of Verax: what it needs, its users can have."""
    paths = sorted((TESTS.parent / "research").rglob("*.py"))
    found = {str(path.relative_to(TESTS.parent)): reached(path) for path in paths}
    assert {name: deep for name, deep in found.items() if deep} == {}


def test_the_list_only_shrinks() -> None:
    names = listed()
    assert names == sorted(set(names))
    assert len(names) == MOST, "nothing is added to mechanism.txt; lower MOST as files leave it"
    assert [name for name in names if not (TESTS / name).exists()] == []
    assert [name for name in names if not reached(TESTS / name)] == [], "these need no exemption"


def test_no_file_takes_the_place_of_one_that_left() -> None:
    """What is listed was listed in every earlier version: the number would allow an exchange."""
    commits = _git("log", "--format=%H", "--", LISTED.name).split()
    if not commits:
        pytest.skip("no history: this is not a clone")
    earlier = [set(_git("show", f"{one}:./{LISTED.name}").split()) for one in commits]
    for files in earlier:
        assert set(listed()) - files == set()


def test_no_listed_file_hands_on_what_is_not_public() -> None:
    """Others could import it from there."""
    parsed = {path.stem: _parsed(path) for path in map(TESTS.joinpath, listed())}
    of_listed = {stem: set(_not_public(tree)) for stem, tree in parsed.items()}
    found = {}
    for path in (f for f in files() if str(f.relative_to(TESTS)) not in listed()):
        for node in ast.walk(_parsed(path)):
            if isinstance(node, ast.ImportFrom) and node.module is not None:
                names = {alias.name for alias in node.names}
                found[path] = names & of_listed.get(node.module.rpartition(".")[2], set())
    assert {path: names for path, names in found.items() if names} == {}


def _not_public(tree: ast.AST) -> Iterator[str]:
    """Return the names under which a file imports what is not public."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module is not None and _is_ours(node.module):
            for alias in node.names:
                if f"{node.module}.{alias.name}" not in NAMES | DOORS:
                    yield alias.asname or alias.name


def _git(*arguments: str) -> str:
    if shutil.which("git") is None:
        return ""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=TESTS, capture_output=True, text=True).stdout


def test_support_stays_small() -> None:
    paths = (TESTS / "support").rglob("*.py")
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)
    assert lines <= SUPPORT_LINES


def test_internal_names_are_unique() -> None:
    """Two rows with one name would give tests the first one's."""
    words = " ".join(internals.TABLE.values()).split()
    assert len(internal_names()) == len(words) + len(internals.ATTRIBUTES)


def test_every_internal_name_is_there() -> None:
    """Rows of a table are no imports: nothing else would notice one whose module is gone."""
    assert [name for name in internal_names() if getattr(internals, name, None) is None] == []


def test_no_internal_name_is_public() -> None:
    """Tests import it from where users do."""
    public = {name.rpartition(".")[2]: name for name in NAMES}
    for name in set(public) & internal_names():
        door = import_module(public[name].rpartition(".")[0])
        assert getattr(internals, name) is not getattr(door, name), public[name]


def test_every_internal_name_is_needed() -> None:
    nodes = [node for path in files() for node in ast.walk(_parsed(path))]
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    used = {a.name for n in imports if n.module == "support.internals" for a in n.names}
    assert internal_names() - used == set()


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("from verax import Corpus, functional", []),
        ("from verax.functional import sparsemax", []),
        ("import verax.statistics", []),
        ("import verax\nverax.functional.sparsemax\nverax.exams.authoring.Measure", []),
        ("from verax.models.head import decisions", ["verax.models.head.decisions"]),
        ("def f():\n    from verax.models import head", ["verax.models.head"]),
        ("import verax.results as files", ["verax.results"]),
        ("import verax\nverax.exams.tables.wide", ["verax.exams.tables"]),
        ("patch.setattr('verax.results.write_text', 1)", ["string verax.results.write_text"]),
        ("patch.setattr(ranks, '_ELEMENTS', 1)", ["attribute _ELEMENTS"]),
        ("run('import verax.api')", ["code verax.api"]),
        ("import verax\nverax.nothing", []),
        ("from verax import exams\nexams.tables.wide", ["verax.exams.tables"]),
        ("import verax.exams as e\ne.judgement.limits", ["verax.exams.judgement"]),
        ("from verax.corpora import *", ["verax.corpora.*"]),
        ("patch.setattr(f'verax.cli.{module}.load_corpus', 1)", ["string verax.cli.…"]),
        ("import_module('verax.' + name)", ["string verax.…"]),
        ("import_module('verax.report.report')", ["module verax.report.report"]),
        ("import_module('verax.report')", []),
        ("run('from verax import results')", ["code verax.results"]),
        ("run('import sys, verax.results')", ["code verax.results"]),
        ("run(f'import verax.results as {name}')", ["code verax.results"]),
        ("run('import verax; verax.api.train')", ["code verax.api"]),
        ("run(f'from verax.__main__ import main; {line}')", []),
        ("run('from verax import train; import verax.cli')", []),
        ("model._masking(1)", ["attribute _masking"]),
        ("class A:\n    def __init__(self): self._masking = 1\n    def f(self): self._masking", []),
        ("class A:\n    def _masking(self): 0\nmodel._masking(1)", ["attribute _masking"]),
        ("os._exit(0); frame._replace(a=1); verdict._repr_html_()", []),
        ("import verax\ne = verax.exams\ne.judgement", ["verax.exams.judgement"]),
        ("import verax\nif e := verax.exams: e.judgement", ["verax.exams.judgement"]),
        ("import verax\ngetattr(verax.exams, 'judgement')", ["verax.exams.judgement"]),
        ("getattr(getattr(verax, 'exams'), 'judgement')", ["verax.exams.judgement"]),
        ("patch.setattr(verax.exams, 'judgement', 1)", ["verax.exams.judgement"]),
        ("patch.object(target=model, attribute='_masking')", ["attribute _masking"]),
        ("object.__setattr__(model, '_masking', 1)", ["attribute _masking"]),
        ("attrgetter('part._masking')", ["attribute _masking"]),
        ("vars(model)['_masking'], model.__dict__['_masking']", ["attribute _masking"] * 2),
        ("vars(verax.exams)['judgement']", ["verax.exams.judgement"]),
        ("verax.train.__globals__['x']", ["attribute __globals__"]),
        ("import_module('verax.exams').judgement", ["verax.exams.judgement"]),
        ("__import__('verax.exams', fromlist=['x']).judgement", ["verax.exams.judgement"]),
        ("import_module('.results', 'verax')", ["module .results"]),
        ("sys.modules['verax.exams'].judgement", ["verax.exams.judgement"]),
        ("sys.modules['verax.results']", ["string verax.results"]),
        ("patch.dict('sys.modules', {'verax.results': None})", ["string verax.results"]),
        ("f'from verax.{module} import name'", ["string verax.…"]),
        ("f'verax{end}'; 'verax' + end", ["string verax…"] * 2),
        ("'verax.{}'.format(name); 'verax.%s' % name", ["string verax.%…", "string verax.{…"]),
        ("b'verax.results.write_text(1)'", ["string verax.results.write_text"]),
        ('def f():\n    "See: >>> verax.results.x"', ["string verax.results.x"]),
        ("name = 'verax.models.AttentionClassifier.save'", []),
        ("name = 'verax.bash'; about = b'verax.study'; where = 'verax.encoders'", []),
    ],
)
def test_what_counts_as_deep(tmp_path: Path, code: str, found: list[str]) -> None:
    path = tmp_path / "made_up.py"
    path.write_text(code, encoding="utf-8")
    assert reached(path) == found

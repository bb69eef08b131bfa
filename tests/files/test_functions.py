"""Functions named as `module:function` or `file.py:function`, here and in other processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from support.errors import raises
from support.internals import function_identity, import_plugins, imported_plugins, resolve

FUNCTION = """
from {package}.helper import ONE

def double(x):
    from {package}.later import TWO

    return TWO * x * ONE

double.version = 3
double.none = None
NUMBER = 3

def wrong(): ...

wrong.version = "two"
"""

CHILD = """
import pickle, sys

sys.path.insert(0, sys.argv[1])
from support.internals import import_plugins, resolve

import_plugins(pickle.load(sys.stdin.buffer))
print(resolve(sys.argv[2])[0](5))
"""


def package(folder: Path, name: str) -> Path:
    """Write a package of three modules."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "__init__.py").write_text("")
    (place / "helper.py").write_text("ONE = 1\n")
    (place / "later.py").write_text("TWO = 2\n")
    (place / "mine.py").write_text(FUNCTION.format(package=name))
    return place


def test_a_function_of_an_installed_package_is_not_sent() -> None:
    function, version = resolve("json.decoder:JSONDecoder")
    assert (function().decode("[1]"), version) == ([1], 1)
    assert not [file for file in imported_plugins() if file.module.startswith("json")]


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("sqrt", "option.malformed"),
        ("math:", "option.malformed"),
        ("math:sqrt(2)", "option.malformed"),
        (":sqrt", "option.malformed"),
        ("math:nothing", "option.unknown-value"),
        ("math:pi", "option.unknown-value"),
        ("no_such_module_at_all:f", "plugin.import-failed"),
        ("..math:f", "plugin.import-failed"),
        ("nothing.py:f", "plugin.import-failed"),
    ],
)
def test_what_names_no_function_is_refused(name: str, code: str) -> None:
    with raises(code):
        resolve(name)


def test_the_version_is_a_number(tmp_path: Path) -> None:
    (tmp_path / "versions_of_a_file.py").write_text(
        FUNCTION.split("NUMBER", 1)[1].partition("\n")[2]
    )
    with raises("plugin.invalid", "two"):
        resolve(f"{tmp_path}/versions_of_a_file.py:wrong")


def test_a_loose_file_is_known_by_its_own_name(tmp_path: Path) -> None:
    file = tmp_path / "loose_function.py"
    file.write_text("def one():\n    return 1\n")
    function, _ = resolve(f"{file}:one")
    assert function() == 1
    assert function_identity(f"{file}:one") == {"function": "loose_function.py:one", "version": 1}
    assert str(file) in [sent.path for sent in imported_plugins()]
    file.unlink()  # as on another machine
    assert resolve(f"{file}:one")[0] is function


@pytest.mark.parametrize("has_init", [True, False])
def test_a_package_travels_to_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_init: bool
) -> None:
    name = f"travelling_{has_init}".lower()
    place = package(tmp_path, name)
    if not has_init:
        (place / "__init__.py").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    function, version = resolve(f"{name}.mine:double")
    assert (function(4), version) == (8, 3)
    sent = [file for file in imported_plugins() if file.module.startswith(name)]
    assert {file.module for file in sent} == {
        name, *(f"{name}.{module}" for module in ("helper", "later", "mine"))
    }  # fmt: skip
    for file in place.glob("*.py"):
        file.unlink()
    (tmp_path / "child.py").write_text(CHILD)
    tests = str(Path(__file__).parents[1])
    command = [sys.executable, "-P", str(tmp_path / "child.py"), tests, f"{name}.mine:double"]
    result = subprocess.run(command, input=pickle.dumps(sent), capture_output=True)
    assert result.stdout.decode().strip() == "10", result.stderr.decode()


def test_what_this_process_has_imported_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package(tmp_path, "staying")
    monkeypatch.syspath_prepend(tmp_path)
    function, _ = resolve("staying.mine:double")
    finders = list(sys.meta_path)
    import_plugins(imported_plugins())
    assert resolve("staying.mine:double")[0] is function
    assert sys.meta_path == finders

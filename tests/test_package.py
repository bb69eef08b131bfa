"""The wheel and the source archive: what is in them, and that what is wrong is found."""

from __future__ import annotations

import io
import re
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from test_scripts import script
from verax import __version__

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def package() -> ModuleType:
    return script("package")


@pytest.fixture(scope="module")
def archives(package: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Both, built: it takes two seconds, and nothing else shows what is in them."""
    return package.build(tmp_path_factory.mktemp("dist"))


@pytest.mark.slow
def test_the_archives_hold_the_package_and_nothing_else(package: ModuleType, archives: Any) -> None:
    assert package.problems(archives) == []
    assert archives.wheel.name == f"verax-{__version__}-py3-none-any.whl"
    assert archives.source.name == f"verax-{__version__}.tar.gz"
    assert max(path.stat().st_size for path in archives) < 2_000_000


def changed_wheel(archives: Any, folder: Path, change: Any) -> Any:
    """The archives, the wheel with other files."""
    other = folder / archives.wheel.name
    with zipfile.ZipFile(archives.wheel) as before, zipfile.ZipFile(other, "w") as after:
        files = {name: before.read(name) for name in before.namelist()}
        for name, data in change(files).items():
            after.writestr(name, data)
    return archives._replace(wheel=other)


def without(name: str) -> Any:
    return lambda files: {n: data for n, data in files.items() if n != name}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (without("verax/py.typed"), "the wheel has no py.typed"),
        (without("verax/commands.json"), "the wheel lacks commands.json"),
        (lambda f: {**f, "tests/test_x.py": b""}, "the wheel has tests/test_x.py"),
        (lambda f: {**f, "research/__main__.py": b""}, "the wheel has research/__main__.py"),
        (lambda f: {**f, "verax/old.py": b""}, "the wheel has old.py, which is not in src"),
        (
            lambda f: {**f, "verax/errors.py": b"PLACE = '/home/someone/verax/'"},
            "verax/errors.py of the wheel names a folder: /home/someone/",
        ),
        (
            lambda f: {**f, "verax/version.py": b'__version__ = "9.9"'},
            f"the wheel is of version {__version__}, version.py says 9.9",
        ),
        (
            lambda f: {n: d.replace(b"torch>=2.6", b"torch<2.14,>=2.6") for n, d in f.items()},
            "torch is asked for as ['torch<2.14,>=2.6']",
        ),
        (lambda f: {**f, "verax/errors.py": b"#" * 2_000_001}, "at most 2,000,000"),
    ],
)
def test_what_is_wrong_with_a_wheel_is_told(
    package: ModuleType, archives: Any, tmp_path: Path, change: Any, told: str
) -> None:
    found = package.problems(changed_wheel(archives, tmp_path, change))
    assert any(told in line for line in found), found


@pytest.mark.slow
def test_who_made_a_source_archive_is_told(
    package: ModuleType, archives: Any, tmp_path: Path
) -> None:
    other = tmp_path / archives.source.name
    shutil.copy(archives.source, other)
    with tarfile.open(archives.source) as before, tarfile.open(other, "w:gz") as after:
        for member in before:
            member.uname = "jane"
            after.addfile(member, before.extractfile(member) if member.isfile() else None)
        for name in ("tests/test_x.py", "research/run.py"):
            after.addfile(tarfile.TarInfo(f"verax-0/{name}"), io.BytesIO())
    found = package.problems(archives._replace(source=other))
    lines = ("names 'jane'", "has tests/test_x.py", "has research/run.py")
    assert found == [f"the source archive {line}" for line in lines]


def test_the_version_stands_in_one_place() -> None:
    """Others are made of it, or held to it here."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["version"] == __version__
    assert cited["cff-version"] == "1.2.0"
    assert {"message", "title", "authors", "type", "license"} <= set(cited)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert not re.search(r'^version = "', text, re.M)
    assert f'"{__version__}"' not in text


def test_every_dependency_has_a_lowest_version_and_torch_is_not_capped(
    package: ModuleType,
) -> None:
    lowest = dict(line.split("==") for line in package.lowest_versions())
    assert {"numpy", "pandas", "pyarrow", "scipy", "rich"} <= set(lowest)
    assert "torch" not in lowest
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert '"torch>=2.6"' in text
    assert '"transformers>=4.57,<6"' in text


def test_every_environment_that_is_made_has_the_constraints() -> None:
    """Newer versions of torch bring gigabytes, and those of linters other rules."""
    pinned = [line.strip() for line in (ROOT / "constraints.txt").read_text().splitlines()]
    pinned = [line for line in pinned if line and not line.startswith("#")]
    assert "torch<2.14" in pinned
    exact = dict(line.split("==") for line in pinned if "==" in line)
    assert {"mypy", "ruff", "transformers"} == set(exact)
    for path in (ROOT / "Makefile", ROOT / "scripts" / "audit.py"):
        text = path.read_text(encoding="utf-8")
        assert "constraints.txt" in text
    for line in (ROOT / "Makefile").read_text(encoding="utf-8").splitlines():
        if "pip install" in line and "--upgrade pip" not in line:
            assert "-c constraints.txt" in line
    assert re.search(
        r"^\$\(VENV\)/\.installed:.* constraints\.txt", (ROOT / "Makefile").read_text(), re.M
    )


def test_the_changelog_has_the_common_form() -> None:
    """Keep a Changelog: versions as second headings, kinds of change as third, and no others."""
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "# Changelog"
    versions = [line for line in lines if line.startswith("## ")]
    assert versions[0] == "## [Unreleased]"
    dated = r"## \[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}"
    assert all(re.fullmatch(dated, line) for line in versions[1:])
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    below = [line.removeprefix("### ") for line in lines if line.startswith("### ")]
    assert set(below) <= kinds
    assert len(below) == len(set(below)) or len(versions) > 1, "each kind once for a version"


def test_first_use_refuses_the_checkout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(ROOT)
    assert script("first_use").main() == 2
    assert "run it elsewhere" in capsys.readouterr().err
    assert "first_use" in sys.modules

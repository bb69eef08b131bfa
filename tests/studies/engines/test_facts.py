"""The commit that a manifest names is the one Verax runs from, or none."""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

import pytest

import verax
from verax.studies.engines import machine


def git(folder: Path, *words: str) -> str:
    person = ["-c", "user.name=n", "-c", "user.email=e@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *person, *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository with a package in it; returns the package."""
    package = tmp_path / "repository" / "src" / "verax"
    package.mkdir(parents=True)
    (package / "version.py").write_text('__version__ = "0"\n')
    git(tmp_path / "repository", "init", "--quiet")
    git(package, "add", "version.py")
    git(package, "commit", "--quiet", "-m", "first")
    git(package, "tag", "v0")
    return package


def test_a_checkout_has_its_commit_and_says_when_files_differ(checkout: Path) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    assert machine._commit(checkout) == head
    (checkout / "version.py").write_text('__version__ = "1"\n')
    assert machine._commit(checkout) == f"{head}-dirty"
    git(checkout, "add", "version.py")
    assert machine._commit(checkout) == f"{head}-dirty"


def test_changes_outside_of_the_package_are_no_changes_of_what_ran(checkout: Path) -> None:
    notes = checkout.parent / "notes.md"
    notes.write_text("one")
    git(checkout, "add", str(notes))
    git(checkout, "commit", "--quiet", "-m", "notes")
    notes.write_text("two")
    assert machine._commit(checkout) == git(checkout, "rev-parse", "HEAD")


def test_a_package_installed_below_a_checkout_is_no_part_of_it(checkout: Path) -> None:
    installed = checkout.parent / "environment" / "verax"
    shutil.copytree(checkout, installed)
    assert machine._commit(installed) is None


def test_without_a_repository_or_git_there_is_no_commit(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    (alone / "version.py").write_text("")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert machine._commit(alone) is None
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine._commit(checkout) is None


def test_variables_of_another_repository_mislead_nobody(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = git(checkout, "rev-parse", "HEAD")
    other = checkout.parents[2] / "other"
    other.mkdir()
    git(other, "init", "--quiet")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    assert machine._commit(checkout) == head


def test_surroundings_are_of_this_process() -> None:
    found = machine.surroundings("cpu")
    assert found["versions"]["verax"] == verax.__version__
    assert "cuda" not in found["versions"]
    assert found["commit"] == machine.commit()
    told = str({**found, "commit": None})
    for word in (platform.node(), platform.release(), str(Path.home()), "/"):
        assert not word or word not in told

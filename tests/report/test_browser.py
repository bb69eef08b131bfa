"""Finding or installing a browser, without one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import browser
import pytest


def put_chromium(folder: Path, name: str = "chromium", does: str = "") -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A system with nothing on its path."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("name", ["chromium", "chromium-browser", "google-chrome"])
def test_the_systems_own_is_found(bare: Path, name: str) -> None:
    assert browser.find_chromium() is None
    assert str(put_chromium(bare, name)) == browser.find_chromium()


def test_one_that_does_not_start_is_passed_over(bare: Path) -> None:
    put_chromium(bare, "chromium-browser", "echo 'please run: snap install chromium' >&2; exit 1")
    assert browser.find_chromium() is None
    assert str(put_chromium(bare, "google-chrome")) == browser.find_chromium()


@pytest.mark.slow
def test_of_several_at_once_one_installs(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = bare / "chromium"
    note = f'echo "$*" >> {bare}/asked; case "$*" in *install*)'
    make = f"/bin/sleep 0.3; echo '#!/bin/sh' > {made}; /bin/chmod 755 {made};; esac"
    put_chromium(bare, "apt-get", f"{note} {make}")
    monkeypatch.setattr(browser.os, "geteuid", lambda: 0)
    monkeypatch.setattr(browser.tempfile, "tempdir", str(bare))
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: browser.install_chromium(), range(4)))
    assert found == [str(made)] * 4
    asked = (bare / "asked").read_text().splitlines()
    assert len(asked) == 2, asked
    assert asked[0].startswith("update")
    assert asked[1].endswith("install -y -qq chromium")


@pytest.mark.parametrize("root", [True, False])
def test_debians_package_comes_first_for_root_then_playwrights(
    bare: Path, monkeypatch: pytest.MonkeyPatch, root: bool
) -> None:
    called: list[str] = []

    def call(command: list[str]) -> str | None:
        if command[-1] == "--version":
            return None
        called.append(" ".join(command[-2:]))
        if command[0] == "apt-get" and "install" in command:
            put_chromium(bare)
        return None

    put_chromium(bare, "apt-get")
    monkeypatch.setattr(browser.os, "geteuid", lambda: 0 if root else 1000)
    monkeypatch.setattr(browser, "_call", call)
    found = browser.install_chromium()
    if root:
        assert called == ["update -qq", "-qq chromium"]
        assert found == str(bare / "chromium")
    else:
        assert called == ["install chromium"]
        assert found is None


def test_what_stood_in_the_way_is_told(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browser, "_call", lambda command: f"{command[0]}: no route")
    with pytest.raises(browser.NoBrowserError, match="no route"):
        browser.install_chromium()


@pytest.mark.parametrize(("ci", "outcome"), [("1", pytest.fail), ("", pytest.skip)])
def test_with_ci_set_nothing_is_skipped(
    monkeypatch: pytest.MonkeyPatch, ci: str, outcome: Any
) -> None:
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome.Exception, match="no route"):
        browser.missing("no route")

"""Finding or installing a browser, without one."""

from __future__ import annotations

from pathlib import Path

import browser
import pytest


def put_chromium(folder: Path, name: str = "chromium") -> Path:
    path = folder / name
    path.write_text("#!/bin/sh\n")
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


@pytest.mark.parametrize("root", [True, False])
def test_debians_package_comes_first_for_root_then_playwrights(
    bare: Path, monkeypatch: pytest.MonkeyPatch, root: bool
) -> None:
    called: list[str] = []

    def call(command: list[str]) -> str | None:
        called.append(" ".join(command[-2:]))
        if command[0] == "apt-get" and command[1] == "install":
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

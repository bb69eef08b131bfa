"""What tests of studies share; tests in folders below import what stands beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import CELLS, done, written

import verax
from verax.studies.engines.here import HereEngine
from verax.studies.running import run


@pytest.fixture
def cells_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies are run without processes of workers, where these are not what is tested."""
    monkeypatch.setattr(run, "make_engine", lambda hardware: HereEngine("cpu"))


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of `commands`, with nothing in the way: one cell after the other, in here."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "make_engine", lambda hardware: HereEngine("cpu"))
        verax.run_study(written(folder), folder / "out")
    assert done(folder / "out") == CELLS
    return folder / "out"

"""What tests of studies share; tests in folders below import what stands beside this file."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import CELLS, done, written

import verax


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of `commands`, run by processes of this machine, with nothing in the way."""
    folder = tmp_path_factory.mktemp("undisturbed")
    verax.run_study(written(folder), folder / "out", workers=2, device="cpu")
    assert done(folder / "out") == CELLS
    return folder / "out"

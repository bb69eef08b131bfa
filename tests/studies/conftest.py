"""What tests of studies share; tests in folders below import what stands beside this file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import CELLS, cells_here, done, written

import verax


@pytest.fixture(name="cells_here")
def _cells_here() -> Iterator[None]:
    with cells_here():
        yield


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of `commands`, with nothing in the way: one cell after the other, in here."""
    folder = tmp_path_factory.mktemp("undisturbed")
    with cells_here():
        verax.run_study(written(folder), folder / "out")
    assert done(folder / "out") == CELLS
    return folder / "out"

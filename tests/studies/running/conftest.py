from __future__ import annotations

from pathlib import Path

import pytest
from commands import CELLS, done, ended, start, written


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The study of `commands`, run by processes of this machine, with nothing in the way."""
    folder = tmp_path_factory.mktemp("undisturbed")
    out = folder / "out"
    ended(start(written(folder), out, "--workers", "2"))
    assert done(out) == CELLS
    return out

"""The functions by which Verax writes, for tests of these functions themselves."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from unittest.mock import patch

# fmt: off
# isort: off
from verax import files, scratch
from verax.files import (  # noqa: F401
    json_text, kept_if_possible, new_file, parquet_bytes, refuse_foreign, refuse_unwritable,
    replace_folder, write_bytes, write_elsewhere, write_files, write_table, write_text,
)
from verax.scratch import recover, scratch_folder, sweep  # noqa: F401
from verax.studies.store import Store
# isort: on
# fmt: on

MODULES = (files, scratch)
"""The two modules through which everything is written."""


def start_again(folder: Path) -> None:
    """Do what the next command does first: put right what a dead writer left."""
    for place, _, _ in list(os.walk(folder)):
        scratch.sweep(Path(place))  # which may have been removed meanwhile
        if os.path.isfile(os.path.join(place, "store.json")):
            Store.open(place).sweep_all()


def all_locks_are_free() -> AbstractContextManager[object]:
    """Locks as another process finds them once this one is dead."""
    return patch.object(scratch, "lock", lambda descriptor: True)


def _folder(folder: Path, version: str) -> None:
    def write(target: Path) -> None:
        write_bytes(target / "mark", version.encode())
        write_bytes(target / "deep" / "file", version.encode())

    replace_folder(folder / "result", write, lambda place: (place / "mark").exists())


WAYS: dict[str, Callable[[Path, str], None]] = {
    "folder": _folder,
    "files": lambda at, version: write_files(at, dict.fromkeys(("a", "b", "deep/c"), version)),
    "file": lambda folder, version: write_bytes(folder / "deep" / "file", version.encode()),
}
"""What is written all at once: a folder, several files, a file."""

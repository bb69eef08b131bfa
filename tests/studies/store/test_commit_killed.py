"""`kill -9` at every step of a commit: a cell is there as a whole, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from children import Children, children, is_there, said, wait_until
from made_up_store import FACTS, files_of, made_up_cell, made_up_store

from verax.studies import Store, open_study

STEPS = 45
"""A commit has 32 steps, so that the last writers finish a cell and are killed in the next."""


@pytest.fixture(scope="module")
def writers() -> Iterator[Children]:
    with children() as made:
        yield made


@pytest.mark.slow
def test_a_store_is_consistent_whenever_its_writer_is_killed(
    writers: Children, tmp_path: Path
) -> None:
    store = made_up_store(tmp_path / "study", [])
    untouched: dict[str, tuple[int, int]] = {}
    halfway = 0
    for step in range(STEPS):
        writer = writers.start("write", tmp_path / "study", tmp_path / "none", step)
        wait_until(lambda writer=writer: not is_there(writer))
        assert store.verify() == {}
        keys = store.keys()
        now = {key: stamps(tmp_path / "study", key) for key in keys}
        assert {key: now.get(key) for key in untouched} == untouched
        untouched = now
        assert all(record["error"] == "not yet" for record in store.failures().values())
        halfway += sum(path.is_dir() for path in (tmp_path / "study" / ".scratch").glob("*"))
    assert len(untouched) > 3
    assert halfway > 0  # some were killed while they filled a folder
    finish(tmp_path / "study", store, len(untouched) + 3)


def finish(folder: Path, store: Store, cells: int) -> None:
    """What a runner does: sweeps, and commits what is not there."""
    for seed in range(cells):
        cell = made_up_cell(seed=seed)
        store.sweep(cell.key)
        if not store.complete(cell.key):
            store.commit(cell.key, cell.to_json(), files_of(cell), FACTS)
    assert list((folder / ".scratch").iterdir()) == []
    assert store.failures() == {}
    assert len(open_study(folder, every=True).table("summary")) == cells


def stamps(folder: Path, key: str) -> tuple[int, int]:
    found = (folder / "cells" / key / "manifest.json").stat()
    return found.st_ino, found.st_mtime_ns


@pytest.mark.slow
def test_two_writers_without_locks_leave_every_cell_whole(
    writers: Children, tmp_path: Path
) -> None:
    """Locks keep runners apart; where there are none the first that is complete stays."""
    store = made_up_store(tmp_path / "study", [])
    both = [writers.start("write", tmp_path / "study", tmp_path / name) for name in "ab"]
    for name in "ab":
        said(tmp_path / name)
    wait_until(lambda: len(store.keys()) > 7)
    assert all(map(is_there, both))
    for writer in both:
        writers.kill(writer)
    assert store.verify() == {}

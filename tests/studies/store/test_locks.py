"""Of several runners one has a cell, and a dead one has none."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from children import Children, children, said
from made_up_store import made_up_store

from verax.studies import Store

KEY, OTHER = "0123456789abcdef", "0123456789abcde0"


@pytest.fixture(scope="module")
def runners() -> Iterator[Children]:
    with children() as made:
        yield made


def hold(runners: Children, folder: Path, key: str, name: str) -> tuple[int, str]:
    """A runner that locks a cell, and whether it was given."""
    saying = folder.parent / name
    process = runners.start("hold", folder, key, saying, folder.parent / f"{name}.sign")
    return process, said(saying)


@pytest.mark.slow
def test_processes_exclude_each_other_and_a_killed_one_holds_nothing(
    runners: Children, tmp_path: Path
) -> None:
    store = made_up_store(tmp_path / "study", [])
    first, answer = hold(runners, tmp_path / "study", KEY, "first")
    assert answer == "mine"
    assert store.lock(KEY) is None
    other = store.lock(OTHER)
    assert other is not None
    assert hold(runners, tmp_path / "study", OTHER, "second")[1] == "taken"
    runners.kill(first)
    lock = store.lock(KEY)
    assert lock is not None
    lock.release()
    other.release()


@pytest.mark.slow
def test_what_is_released_is_anyones(runners: Children, tmp_path: Path) -> None:
    store = made_up_store(tmp_path / "study", [])
    assert hold(runners, tmp_path / "study", KEY, "first")[1] == "mine"
    assert store.lock(KEY) is None
    (tmp_path / "first.sign").touch()
    said(tmp_path / "first.released")
    lock = store.lock(KEY)
    assert lock is not None
    with lock:
        assert hold(runners, tmp_path / "study", KEY, "second")[1] == "taken"
    lock.release()
    assert hold(runners, tmp_path / "study", KEY, "third")[1] == "mine"


def test_a_process_excludes_itself_however_it_reaches_the_folder(
    runners: Children, tmp_path: Path
) -> None:
    store = made_up_store(tmp_path / "study", [])
    (tmp_path / "link").symlink_to("study")
    lock = store.lock(KEY)
    assert lock is not None
    assert store.lock(KEY) is None
    assert Store.open(tmp_path / "link").lock(KEY) is None
    assert Store.open(os.path.relpath(tmp_path / "study")).lock(KEY) is None
    # asking did not lose what was held: others see it, too
    assert hold(runners, tmp_path / "study", KEY, "first")[1] == "taken"
    lock.release()


def test_of_many_threads_one_has_it(tmp_path: Path) -> None:
    made_up_store(tmp_path, [])
    barrier, found = threading.Barrier(16), []

    def ask() -> None:
        barrier.wait()
        found.append(Store.open(tmp_path).lock(KEY))

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 16
    assert sum(lock is not None for lock in found) == 1


def test_a_second_lock_is_not_lost_when_the_first_is_released(
    runners: Children, tmp_path: Path
) -> None:
    """Closing the file would lose both."""
    store = made_up_store(tmp_path / "study", [])
    first, second = store.lock(KEY), store.lock(OTHER)
    assert first is not None
    assert second is not None
    first.release()
    assert hold(runners, tmp_path / "study", OTHER, "first")[1] == "taken"
    second.release()


def test_a_folder_made_anew_has_locks_of_its_own(tmp_path: Path) -> None:
    old = made_up_store(tmp_path / "study", []).lock(KEY)
    shutil.rmtree(tmp_path / "study")
    store = made_up_store(tmp_path / "study", [])
    new = store.lock(KEY)
    assert new is not None
    assert old is not None
    old.release()
    assert store.lock(KEY) is None
    new.release()


@pytest.mark.slow
def test_a_forked_child_has_none_of_its_parents_locks(runners: Children, tmp_path: Path) -> None:
    made_up_store(tmp_path / "study", [])
    runners.start("fork", tmp_path / "study", KEY, tmp_path / "answer")
    assert said(tmp_path / "answer") == "0"


@pytest.mark.slow
def test_reading_a_store_locks_nothing(tmp_path: Path) -> None:
    made_up_store(tmp_path, [])
    Store.open(tmp_path).keys()
    assert not (tmp_path / ".locks").exists()

"""Processes to be killed: forked from one that has imported everything, so that many are cheap.

They speak by files: a process writes what it has to say, and waits for a file as a sign.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from made_up_store import FACTS, files_of, made_up_cell

from support.internals import store_cells as cells
from verax.studies import Store

PATIENCE = 60.0


class Children:
    """Forks of a fork of this process, which is nobody's parent but theirs."""

    def __init__(self) -> None:
        (asked, ask), (told, tell) = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and forks
            self._parent = os.fork()
        if self._parent == 0:
            try:
                os.close(ask)
                _serve(asked, tell)
            finally:
                os._exit(0)
        os.close(asked)
        os.close(tell)
        self._ask, self._told = os.fdopen(ask, "w"), os.fdopen(told)
        self._alive: list[int] = []

    def start(self, task: str, *arguments: object) -> int:
        """The id of a new process that does one of `TASKS`."""
        self._ask.write(json.dumps([task, *map(str, arguments)]) + "\n")
        self._ask.flush()
        self._alive.append(int(self._told.readline()))
        return self._alive[-1]

    def kill(self, process: int) -> None:
        """`kill -9`, and wait until it is gone."""
        self._alive.remove(process)
        os.kill(process, signal.SIGKILL)
        wait_until(lambda: not is_there(process))

    def end(self) -> None:
        for process in list(self._alive):
            if is_there(process):
                self.kill(process)
        self._ask.close()
        os.waitpid(self._parent, 0)
        self._told.close()


@contextmanager
def children() -> Iterator[Children]:
    made = Children()
    try:
        yield made
    finally:
        made.end()


def is_there(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def wait_until(condition: Any) -> None:
    last = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < last, "waited in vain"
        time.sleep(0.002)


def said(path: Path) -> str:
    """What a process wrote, once it did."""
    wait_until(path.exists)
    return path.read_text()


def _say(path: str, text: str) -> None:
    Path(path + ".part").write_text(text)
    os.rename(path + ".part", path)


def _hold(folder: str, key: str, saying: str, sign: str) -> None:
    """Lock a cell, say whether it was given, hold it until the sign, and stay."""
    lock = Store.open(folder).lock(key)
    _say(saying, "mine" if lock else "taken")
    wait_until(Path(sign).exists)
    if lock:
        lock.release()
    _say(saying + ".released", "")
    time.sleep(PATIENCE)


def _fork(folder: str, key: str, saying: str) -> None:
    """A child of a process with a lock: it has it once its parent released it, not before."""
    store = Store.open(folder)
    lock = store.lock(key)
    (asking, ask), (telling, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        before = store.lock(key)
        os.write(ask, b".")
        os.read(telling, 1)
        after = store.lock(key)
        os._exit(0 if before is None and after is not None else 1)
    os.read(asking, 1)
    lock.release()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.write(tell, b".")
    _, status = os.waitpid(child, 0)
    _say(saying, str(os.waitstatus_to_exitcode(status)))


def _write(folder: str, saying: str, last: str = "-1") -> None:
    """Commit cells one after the other, each failed before, until it is killed.

    With `last`, by itself: after so many steps, which are half a file, a file, and a name.
    """
    steps, write_and_sync = itertools.count(), cells.write_and_sync

    def with_steps(function: Any) -> Any:
        def stepping(first: Any, *rest: Any) -> Any:
            if function is write_and_sync:
                first.write_bytes(rest[0][: len(rest[0]) // 2])
                step()
            result = function(first, *rest)
            step()
            return result

        return stepping

    def step() -> None:
        if next(steps) == int(last):
            os.kill(os.getpid(), signal.SIGKILL)

    if last != "-1":
        cells.write_and_sync = with_steps(write_and_sync)
        cells.sync_folder = with_steps(cells.sync_folder)
        os.rename, os.replace = with_steps(os.rename), with_steps(os.replace)
    store = Store.open(folder)
    if last == "-1":
        _say(saying, "ready")
    for seed in range(100_000):
        cell = made_up_cell(seed=seed)
        if store.complete(cell.key):
            continue
        store.fail(cell.key, {"cell": cell.key, "reason": "error", "error": "not yet"})
        store.commit(cell.key, cell.to_json(), files_of(cell, weights=True), FACTS)


TASKS = {"hold": _hold, "fork": _fork, "write": _write}


def _serve(asked: int, tell: int) -> None:
    """Fork for every line that asks for a task, and tell the fork's id, until there are none."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead need nobody to look after them
    with os.fdopen(asked) as lines:
        for line in lines:
            task, *arguments = json.loads(line)
            child = os.fork()
            if child == 0:
                try:
                    TASKS[task](*arguments)
                finally:
                    os._exit(0)
            os.write(tell, f"{child}\n".encode())

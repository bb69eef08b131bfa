"""`verax run` as a person has it: a process that can be watched, interrupted and killed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pandas as pd
import pytest

import verax
from forked_workers import NAME, forked_workers
from support.internals import ENGINES
from support.internals import cli_run as command
from support.internals import running_run as run
from verax.studies import HereEngine, Store

STUDY = """
name: killed
corpora: {planted: {documents: 60}}
models:
  encoder: none
  hidden_size: 8
  embedding_size: 8
  projection: [softmax, sparsemax]
training: {epochs: 12, patience: null}
seeds: [0, 1]
exams: [replacement, single_token]
"""
"""Cells that take long enough to be killed at work."""
CELLS = 4
LONG = 120.0
"""Seconds after which a test gives up."""


def written(folder: Path, text: str = STUDY) -> Path:
    path = folder / "killed.yaml"
    path.write_text(text, encoding="utf-8")
    return path


FORKS = multiprocessing.get_context("forkserver")
"""One process imports what a command needs, and every command is a fork of it."""
FORKS.set_forkserver_preload(["verax.cli", "verax.studies", "pytest"])


class Command:
    """A command of a process group of its own, as a terminal would have it.

    It prints into files, and draws no page at the end. `here` runs its cells in the same process
    rather than in workers; else so many workers are `started` as ever, and those after them forked.
    """

    def __init__(
        self, words: Sequence[str], folder: Path, here: bool = False, started: int = 0
    ) -> None:
        number = len(list(folder.glob("*.printed")))
        self._files = [folder / f"{number}.printed", folder / f"{number}.errors"]
        for path in self._files:
            path.touch()
        files = list(map(str, self._files))
        self.process = FORKS.Process(target=_become, args=(words, files, here, started))
        self.process.start()
        assert self.process.pid is not None
        self.pid = self.process.pid

    @property
    def over(self) -> bool:
        return not self.process.is_alive()

    def kill(self) -> None:
        self.process.kill()
        self.process.join(LONG)
        assert self.process.exitcode == -signal.SIGKILL

    def ended(self, code: int = 0) -> tuple[str, str]:
        """What a command printed by the time it ended, which it does with this exit code."""
        self.process.join(LONG)
        printed, errors = (path.read_text(encoding="utf-8") for path in self._files)
        assert self.process.exitcode == code, f"{printed}\n{errors}"
        return printed, errors


def _become(words: Sequence[str], files: Sequence[str], here: bool, started: int) -> None:
    """Turn a fork into a command: its group, its output, and its exit code."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests' shell may ignore it
    for number, path in enumerate(files, start=1):
        os.dup2(os.open(path, os.O_WRONLY), number)
    from verax.cli import main

    with without_page(), cells_here() if here else forked_workers(started):
        sys.exit(main(words))


@contextlib.contextmanager
def without_page() -> Iterator[None]:
    """Commands leave out the page of what is done: seconds, where it is not what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(command, "write_page", lambda result, out: None)
        yield


@contextlib.contextmanager
def cells_here() -> Iterator[None]:
    """Studies are run without processes of workers, where these are not what is tested."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "make_engine", lambda hardware: HereEngine("cpu"))
        yield


def start(study: Path, out: Path, *flags: str, here: bool = False, started: int = 0) -> Command:
    return Command(["run", str(study), "--out", str(out), *flags], study.parent, here, started)


def until(true: Callable[[], bool], what: str, seconds: float = LONG) -> None:
    stop = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < stop, f"{what}: not within {seconds:g} s"
        time.sleep(0.01)


def children(process: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                status = (entry / "stat").read_text()
            except OSError:
                continue
            parent = int(status.rpartition(")")[2].split()[1])
            if parent == process:
                found += [int(entry.name), *children(int(entry.name))]
    return found


def workers(runner: int) -> list[int]:
    """Those children that run cells."""
    found = []
    for child in children(runner):
        try:
            words = Path(f"/proc/{child}/cmdline").read_text()
            name = Path(f"/proc/{child}/comm").read_text().strip()
        except OSError:
            continue
        if ENGINES in words or name == NAME:
            found.append(child)
    return found


def alive(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def stamps(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Inode and times of every finished cell and all its files."""
    found = {}
    for path in [*folder.glob("cells/*"), *folder.glob("cells/*/*")]:
        at = os.stat(path)
        found[str(path.relative_to(folder))] = (at.st_ino, at.st_mtime_ns, at.st_ctime_ns)
    return found


def done(folder: Path) -> int:
    return len(list(folder.glob("cells/*")))


def assert_whole(folder: Path) -> None:
    """Nothing that is there is damaged, whenever one looks."""
    if (folder / "store.json").exists():
        assert Store.open(folder).verify() == {}


def assert_same_tables(one: Path, other: Path) -> None:
    """Every table of two studies, row by row."""
    left, right = verax.open_study(one), verax.open_study(other)
    assert left.tables == right.tables
    assert {"summary", "history", "replacement", "single_token"} <= set(left.tables)
    for name in left.tables:
        mine, theirs = left.table(name), right.table(name)
        assert len(mine)
        pd.testing.assert_frame_equal(mine, theirs)

"""`verax run` as a person has it: a process that can be watched, interrupted and killed."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd

import verax
from verax.studies.store.store import Store

STUDY = """
name: killed
corpora: {planted: {documents: 240}}
models:
  encoder: conv
  hidden_size: 32
  embedding_size: 32
  projection: [softmax, sparsemax]
training: {epochs: 3}
seeds: [0, 1, 2]
exams: [replacement, single_token]
"""
CELLS = 6
LONG = 120.0
"""Seconds after which a test gives up."""


def written(folder: Path, text: str = STUDY) -> Path:
    path = folder / "killed.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def start(study: Path, out: Path, *flags: str) -> subprocess.Popen[str]:
    """A runner of its own process group, as a terminal would have it."""
    command = [sys.executable, "-m", "verax", "run", str(study), "--out", str(out), *flags]
    return started(command)


def started(command: Sequence[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def ended(runner: subprocess.Popen[str], code: int = 0) -> tuple[str, str]:
    """What a runner printed by the time it ended, which it does with this exit code."""
    out, err = runner.communicate(timeout=LONG)
    assert runner.returncode == code, f"{out}\n{err}"
    return out, err


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
            words = Path(f"/proc/{child}/cmdline").read_bytes()
        except OSError:
            continue
        if b"verax.studies.engines" in words:
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

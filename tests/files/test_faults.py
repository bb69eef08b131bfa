"""Whatever goes wrong at any call of anything that writes, results are there whole, old or new."""

from __future__ import annotations

import ctypes
import os
import re
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from capabilities import CAPABILITIES, NEW, Capability, CommandError
from faults import (
    ERROR,
    HOWS,
    KILL,
    RENAMES,
    Call,
    Faults,
    is_temporary,
    no_library,
)
from places import MEMORY, Place

from support.storage import MODULES, WAYS, all_locks_are_free
from verax.errors import VeraxWarning, WriteError


@pytest.fixture(scope="module", autouse=True)
def _later() -> Iterator[None]:
    """What a killed process left is swept at once, not a second later."""
    now = time.time
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now() + 5)
        yield


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where there is such a filesystem: thousands of files are written."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


@pytest.mark.slow
@pytest.mark.parametrize("has_old", [True, False])
@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_so_it_is_on_any_system_and_where_nothing_was(
    way: str, exchanges: bool, has_old: bool, folder: Path
) -> None:
    """Where folders cannot be exchanged at once, the old one comes back with the next command."""
    place = Place(folder, capability_of(way), has_old, exchanges)
    place.check_killed()
    for at in range(1, len(place.calls) + 1):
        for how in HOWS:
            place.goes_wrong(at, how)


def capability_of(way: str) -> Capability:
    return Capability((way,), WAYS[way], lambda folder: None)


FINE = ("put", "move", "exchange")
"""Functions in which a step is an operation of Python's machine; elsewhere it is a line."""


def at_every_step(run: Callable[[], Any], check: Callable[[int], None]) -> int:
    """Run something with Ctrl-C at each step of Python in the modules that write.

    Each run has a thread of its own. An exception between two operations of an `except` clause
    leaves the handled exception on the thread's stack (CPython 3.11), where it would become the
    context of every later exception, in other tests too.

    Returns:
        The number of steps.
    """
    watched = {module.__file__ for module in MODULES}
    step = 0
    while True:
        step += 1
        left = step

        def trace(frame: FrameType, event: str, value: Any) -> Any:
            nonlocal left
            if frame.f_code.co_filename not in watched:
                return None
            frame.f_trace_opcodes = frame.f_code.co_name in FINE
            if event == ("opcode" if frame.f_trace_opcodes else "line"):
                left -= 1
                if left == 0:
                    raise KeyboardInterrupt
            return trace

        def traced() -> None:
            sys.settrace(trace)
            try:
                run()
            except KeyboardInterrupt:
                pass
            finally:
                sys.settrace(None)

        with ThreadPoolExecutor(1) as thread:
            thread.submit(traced).result()
        check(step)
        if left > 0:
            return step


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("exchanges", [True, False])
def test_ctrl_c_at_any_step_of_python(
    way: str, exchanges: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only while the system is called: a signal may come between any two operations."""
    place = Place(folder, capability_of(way), exchanges=exchanges)

    def run() -> None:
        place.again()
        WAYS[way](place.work, NEW)

    def check(step: int) -> None:
        with all_locks_are_free():  # as in another process
            place.check(place.work, f"step {step}")

    if not exchanges:
        monkeypatch.setattr(ctypes, "CDLL", no_library)
    assert at_every_step(run, check) > 30


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_kill_9_leaves_what_is_on_the_disk_before_the_call(way: str, folder: Path) -> None:
    """A process that is killed at each call leaves what a copy taken there holds; no lock stays."""
    place = Place(folder, capability_of(way))
    left = set()
    for at in range(1, len(place.calls) + 1):
        place.again()
        child = os.fork()
        if not child:
            try:
                with Faults(place.work, at, KILL).injected():
                    WAYS[way](place.work, NEW)
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -9
        left.add(all_of(place.work))
        place.check(place.work, f"kill -9 at call {at}")
    assert left == {all_of(kept) for _, kept in place.dead}


def all_of(folder: Path) -> str:
    """Every file and folder with its contents; random names are the same."""
    every = sorted(folder.rglob("*"), key=lambda path: re.sub(r"[0-9a-f]{16}", "*", str(path)))
    told = [(str(p.relative_to(folder)), p.read_bytes() if p.is_file() else None) for p in every]
    return re.sub(r"[0-9a-f]{16}", "*", repr(told))


@pytest.mark.slow
@pytest.mark.parametrize("title", CAPABILITIES)
def test_a_fault_at_any_call_leaves_the_old_or_the_new(
    title: str, place_of: Callable[[str], Place]
) -> None:
    place = place_of(title)
    assert len(place.calls) > 4
    place.check_killed()
    for at, how in place.chosen():
        raised = place.goes_wrong(at, how)
        if isinstance(raised, CommandError):
            assert raised.code in ((2, 74, 1) if how == ERROR else (130,)), (at, how, str(raised))
            assert ".verax-" not in str(raised)
        elif how == ERROR and raised is not None:  # what clears away afterwards may fail
            assert isinstance(raised, WriteError | VeraxWarning), (at, how, raised)
            assert "\n" not in str(raised)
            assert ".verax-" not in str(raised)
        else:
            assert isinstance(raised, KeyboardInterrupt | None)


@pytest.mark.slow
@pytest.mark.parametrize("title", CAPABILITIES)
def test_what_is_written_takes_its_name_when_it_is_whole(
    title: str, place_of: Callable[[str], Place]
) -> None:
    """A file is written and synced under a temporary name, and then renamed, alone or in a folder.

    This is what was called, whoever called it: code that goes another way is found here.
    """
    place = place_of(title)
    synced = {call.paths[0] for call in place.calls if call.name in ("fsync", "fdatasync")}
    for name, data in place.new.items():
        if place.old.get(name) == data:
            continue
        path = str(place.work / name)
        names = [path, *earlier_names(path, place.calls)]
        assert is_temporary(os.path.relpath(names[-1], place.work)), f"{name} is written in place"
        assert synced & set(names), f"{name} is not synced before it is renamed"
        folders = [os.path.dirname(one) for one in names]
        if not is_temporary(os.path.basename(names[-1])):  # its folder is what is temporary
            assert synced & set(folders), f"{name} is in a folder that is not synced"
    for call in place.calls:
        if (
            call.name in ("write", "pwrite", "truncate", "ftruncate")
            and "/.locks/" not in call.paths[0]
        ):
            assert is_temporary(os.path.relpath(call.paths[0], place.work)), call


def earlier_names(path: str, calls: list[Call]) -> list[str]:
    """The names that a file had before, the first one last."""
    names = []
    for call in reversed(calls):
        if call.name in RENAMES:
            source, target = (os.path.abspath(one) for one in call.paths)
            if path == target or path.startswith(target + os.sep):
                path = source + path[len(target) :]
                names.append(path)
    return names

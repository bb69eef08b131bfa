"""Whatever goes wrong at any call of any writer, what it writes is there as a whole, old or new."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import writers
from faults import ERROR, HOWS, INTERRUPTED, KILL, Faults, Killed, started_again, temporary, tree
from writers import WRITERS

from verax import files, scratch
from verax.errors import VeraxWarning, WriteError
from verax.files import replace_folder, write_bytes, write_files
from verax.studies.store import Store

OLD, NEW = "old", "new"
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
MANY = 35
"""Calls of a writer from which on only two faults are tried at each."""


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a killed process left is swept at once."""
    monkeypatch.setattr(scratch, "YOUNG", -1.0)


@pytest.fixture(scope="module", autouse=True)
def _studies() -> Iterator[None]:
    """Studies to pack, made once."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        writers.STUDIES = Path(folder)
        for version in (OLD, NEW, "packed"):
            writers.study(version)
        yield


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder in memory, where there is such a filesystem: thousands of files are written."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


class Place:
    """A folder that a writer has written before, or has not, as often as it is needed."""

    def __init__(self, folder: Path, write: writers.Write, has_old: bool = True) -> None:
        self.work, self._template, self._write = folder / "work", folder / "template", write
        self._template.mkdir()
        if has_old:
            write(self._template, OLD)
        self.old = tree(self._template)
        self.again()
        faults = Faults()
        with faults.injected():
            write(self.work, NEW)
        self.new, self.calls = tree(self.work), faults.calls
        assert self.new != self.old
        self.check("without a fault")

    def again(self) -> None:
        """As it was before the writer wrote."""
        if not self.work.exists() or tree(self.work) != self.old:
            shutil.rmtree(self.work, ignore_errors=True)
            shutil.copytree(self._template, self.work)

    def goes_wrong(self, at: int, how: str) -> BaseException | None:
        """What is raised where one call goes wrong; nothing is half there then."""
        self.again()
        raised = None
        try:
            with Faults(at, how).injected():
                self._write(self.work, NEW)
        except BaseException as error:
            raised = error
        self.check(f"{how} at call {at} of {self.calls}")
        return raised

    def check(self, where: str) -> None:
        """Once another command has begun there, all is old or all is new, and nothing else."""
        started_again(self.work)
        if (self.work / "store.json").exists():
            Store.open(self.work).sweep_all()
        assert tree(self.work) in (self.old, self.new), where
        assert all(name.endswith(".scratch") for name in temporary(self.work)), where


def tried(at: int, calls: int) -> Sequence[str]:
    """The faults to try at a call: a kill, and an error and Ctrl-C, both or in turn."""
    return (KILL, ERROR, INTERRUPTED) if calls <= MANY else (KILL, (ERROR, INTERRUPTED)[at % 2])


@pytest.mark.parametrize("name", {write: name for name, write in WRITERS.items()}.values())
def test_a_fault_at_any_call_leaves_the_old_or_the_new(name: str, folder: Path) -> None:
    place = Place(folder, WRITERS[name])
    assert place.calls > 4
    for at in range(1, place.calls + 1):
        for how in tried(at, place.calls):
            raised = place.goes_wrong(at, how)
            if how == ERROR and raised is not None:  # what clears away afterwards may fail
                assert isinstance(raised, WriteError | VeraxWarning), (how, at)
                assert "\n" not in str(raised)
                assert ".verax-" not in str(raised)
            elif how == KILL:
                assert isinstance(raised, Killed)
            else:
                assert isinstance(raised, KeyboardInterrupt | None)


def _folder(folder: Path, version: str) -> None:
    def write(target: Path) -> None:
        write_bytes(target / "mark", version.encode())
        write_bytes(target / "deep" / "file", version.encode())

    replace_folder(folder / "result", write, lambda place: (place / "mark").exists())


def _files(folder: Path, version: str) -> None:
    write_files(folder, dict.fromkeys(("a", "b", "deep/c"), version))


def _file(folder: Path, version: str) -> None:
    write_bytes(folder / "deep" / "file", version.encode())


WAYS: dict[str, writers.Write] = {"folder": _folder, "files": _files, "file": _file}


@pytest.mark.parametrize("has_old", [True, False])
@pytest.mark.parametrize("exchanges", [True, False])
@pytest.mark.parametrize("way", WAYS)
def test_so_it_is_on_any_system_and_where_nothing_was(
    way: str, exchanges: bool, has_old: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where folders cannot be exchanged at once, the old one comes back with the next command."""
    if not exchanges:
        monkeypatch.setattr(scratch, "exchange", lambda one, other: False)
    place = Place(folder, WAYS[way], has_old)
    for at in range(1, place.calls + 1):
        for how in HOWS:
            place.goes_wrong(at, how)


FINE = ("put", "move", "exchange")
"""Functions in which a step is an operation of Python's machine; elsewhere it is a line."""


def at_every_step(run: Callable[[], Any], check: Callable[[int], None]) -> int:
    """Run something with Ctrl-C at each step of Python in the two files that write.

    Returns:
        The number of steps.
    """
    watched = {files.__file__, scratch.__file__}
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

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            run()
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        check(step)
        if left > 0:
            return step


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("exchanges", [True, False])
def test_ctrl_c_at_any_step_of_python(
    way: str, exchanges: bool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not only while the system is called: a signal may come between any two operations."""
    if not exchanges:
        monkeypatch.setattr(scratch, "exchange", lambda one, other: False)
    place = Place(folder, WAYS[way])

    def run() -> None:
        place.again()
        WAYS[way](place.work, NEW)

    def check(step: int) -> None:
        with monkeypatch.context() as later:  # in another process, where all locks are free
            later.setattr(scratch, "lock", lambda descriptor: True)
            place.check(f"step {step}")

    assert at_every_step(run, check) > 30


@pytest.mark.parametrize("way", WAYS)
def test_kill_9_of_a_process_is_as_it_is_here(way: str, folder: Path) -> None:
    """A fork that ends at each call leaves what `Killed` leaves, and its locks are free."""
    place = Place(folder, WAYS[way])
    for at in range(1, place.calls + 1):
        place.again()
        child = os.fork()
        if not child:
            try:
                with Faults(at, KILL).injected():
                    WAYS[way](place.work, NEW)
            except BaseException:
                os._exit(9)
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
        place.check(f"kill -9 at call {at}")

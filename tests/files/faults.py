"""A disk that fails, a person who presses Ctrl-C, and kill -9, at any one call that writes."""

from __future__ import annotations

import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from verax import files, scratch

CALLS = ("open", "mkdir", "rename", "replace", "unlink", "rmdir", "fsync", "chmod")
"""Functions of `os` by which anything on a disk changes."""

ERROR, INTERRUPT, INTERRUPTED, KILL = "error", "interrupt", "interrupted", "kill"
HOWS = (ERROR, INTERRUPT, INTERRUPTED, KILL)
"""The call fails; Ctrl-C comes before it; or right after it; the process is gone before it."""


class Killed(BaseException):
    """Stands for kill -9: no call that follows reaches the disk, not one of a `finally` either."""


class Faults:
    """Counts the calls that write, and lets one of them go wrong.

    Attributes:
        calls: how many there were.
    """

    def __init__(self, at: int = 0, how: str = ERROR) -> None:
        self._at, self._how = at, how
        self.calls = 0
        self._dead = False

    def around(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, which may go wrong."""

        def faulty(*arguments: Any, **settings: Any) -> Any:
            if self._dead:
                raise Killed
            self.calls += 1
            if self.calls != self._at:
                return call(*arguments, **settings)
            if self._how == ERROR:
                raise OSError(errno.ENOSPC, "No space left on device")
            if self._how == INTERRUPT:
                raise KeyboardInterrupt
            if self._how == KILL:
                self._dead = True
                raise Killed
            call(*arguments, **settings)
            raise KeyboardInterrupt

        return faulty

    @contextmanager
    def injected(self) -> Iterator[None]:
        """Within it, every call that writes goes through here."""

        put = self.around(_write)

        class Stream(io.FileIO):
            """A file with a buffer that is lost when the process is killed."""

            held = b""

            def write(self, data: Any) -> int:
                self.held += bytes(data)
                return len(memoryview(data).cast("B"))

            def flush(self) -> None:
                if self.held and not self.closed:
                    data, self.held = self.held, b""
                    put(self, data)

            def close(self) -> None:
                try:
                    self.flush()
                finally:
                    super().close()

        def opened(path: Path, mode: str, opener: Callable[[str, int], int]) -> Stream:
            return Stream(path, mode.replace("b", ""), opener=opener)

        with pytest.MonkeyPatch.context() as patch:
            for name in CALLS:
                patch.setattr(os, name, self.around(getattr(os, name)))
            patch.setattr(scratch, "exchange", self.around(scratch.exchange))
            patch.setattr(files, "open", opened, raising=False)
            yield


def _write(stream: io.FileIO, data: bytes) -> None:
    """All of it: a file without a buffer may take a part."""
    while data:
        data = data[io.FileIO.write(stream, data) :]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, but those that have no name yet, and locks."""
    paths = (path for path in folder.rglob("*") if path.is_file())
    names = {str(path.relative_to(folder)): path for path in paths}
    kept = {name: path for name, path in names.items() if not name.startswith(".locks/")}
    return {name: path.read_bytes() for name, path in kept.items() if not _is_temporary(name)}


def temporary(folder: Path) -> list[str]:
    """Temporary files and folders, empty ones too."""
    every = (str(path.relative_to(folder)) for path in folder.rglob("*"))
    return sorted(name for name in every if _is_temporary(name))


def _is_temporary(name: str) -> bool:
    return any(part.startswith(".verax-") or part == ".scratch" for part in Path(name).parts)


def started_again(folder: Path) -> None:
    """What the next command does there before anything else."""
    for path in [folder, *(path for path in folder.rglob("*") if path.is_dir())]:
        if path.is_dir():  # it may have been swept meanwhile
            scratch.sweep(path)

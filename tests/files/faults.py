"""Faults below Verax: a full disk, Ctrl-C and kill -9 at any call that changes a folder.

The injector replaces functions of `os`, `open` and `ctypes.CDLL`, and knows no function of Verax.
Every call on a path below the watched folder is counted and recorded, and one of them may go wrong.
"""

from __future__ import annotations

import builtins
import ctypes
import errno
import io
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

import verax

SOURCE = str(Path(verax.__file__).parent) + os.sep

PATHS = {
    **dict.fromkeys(("open", "mkdir", "unlink", "remove", "rmdir", "chmod", "utime"), 1),
    **dict.fromkeys(("truncate", "ftruncate", "fsync", "fdatasync", "write", "pwrite"), 1),
    **dict.fromkeys(("rename", "replace", "link", "symlink"), 2),
}
"""Functions of `os` that change a disk → how many of their arguments are paths or descriptors."""

RENAMES = ("rename", "replace", "exchange")

ERROR, INTERRUPT, INTERRUPTED, KILL = "error", "interrupt", "interrupted", "kill"
HOWS = (ERROR, INTERRUPT, INTERRUPTED)
"""The call fails with ENOSPC; Ctrl-C comes before it; Ctrl-C comes right after it."""


@dataclass(frozen=True)
class Call:
    """A call that may change the folder: its name, its paths, and the frames of Verax around it.

    frames  (file, function, line), the innermost first; none where a call is to go wrong
    """

    name: str
    paths: tuple[str, ...]
    frames: tuple[tuple[str, str, int], ...]


class Faults:
    """Record the calls that change a folder, and let one of them go wrong.

    Args:
        folder: the folder; calls elsewhere are left alone.
        at: number of the call that goes wrong, from 1; 0 for none.
        how: what goes wrong. `KILL` ends this process.
        exchanges: whether the system can exchange the names of two folders in one call.
        before: called with each call before it happens.

    Attributes:
        calls: what was called, in order.
        unseen: system calls that changed the folder and went past the injector.
    """

    def __init__(
        self,
        folder: Path,
        at: int = 0,
        how: str = ERROR,
        exchanges: bool = True,
        before: Callable[[Call], None] = lambda call: None,
    ) -> None:
        self._folder, self._at, self._how = os.path.realpath(folder), at, how
        self._exchanges, self._before = exchanges, before
        self._inside = self._opening = 0
        self.calls: list[Call] = []
        self.unseen: list[tuple[str, str]] = []

    @contextmanager
    def injected(self) -> Iterator[Faults]:
        """Within the block every call that changes the folder goes through here."""
        real, library = builtins.open, ctypes.CDLL
        put = self._around("write", 1, _write)

        class Stream(io.FileIO):
            """A file whose buffer is lost when the process is killed."""

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

        def opened(file: Any, mode: str = "r", *given: Any, **named: Any) -> Any:
            is_read = not set(mode) & set("wax+")
            if is_read or isinstance(file, int) or not self._below(os.fspath(file)):
                return real(file, mode, *given, **named)
            opener = named.get("opener") or (lambda path, flags: os.open(path, flags, 0o666))
            self._opening += 1
            try:  # `opener` is what is counted
                stream = Stream(file, mode.replace("b", "").replace("t", ""), opener=opener)
            finally:
                self._opening -= 1
            text = {name: named.get(name) for name in ("encoding", "errors", "newline")}
            return stream if "b" in mode else io.TextIOWrapper(stream, **text)  # type: ignore[type-var]

        def loaded(name: Any, *given: Any, **named: Any) -> Any:
            if name is not None:
                return library(name, *given, **named)
            if not self._exchanges:
                return no_library()
            call = library(None, use_errno=True).renameat2
            return SimpleNamespace(renameat2=self._around("exchange", (1, 3), call))

        with pytest.MonkeyPatch.context() as patch:
            for name, places in PATHS.items():
                patch.setattr(os, name, self._around(name, places, getattr(os, name)))
            for module in (builtins, io):
                patch.setattr(module, "open", opened)
            patch.setattr(ctypes, "CDLL", loaded)
            WATCHED.append(self)
            try:
                yield self
            finally:
                WATCHED.remove(self)

    def _around(
        self, name: str, which: int | tuple[int, ...], call: Callable[..., Any]
    ) -> Callable[..., Any]:
        """The call, recorded where it concerns the folder, and which may go wrong."""
        places = tuple(range(which)) if isinstance(which, int) else which

        def faulty(*arguments: Any, **settings: Any) -> Any:
            paths = tuple(_path(arguments[place], settings.get("dir_fd")) for place in places)
            if self._inside or not any(map(self._below, paths)):
                return call(*arguments, **settings)
            made = Call(name, paths, () if self._at else _frames(sys._getframe(1)))
            with self._counted():
                self._before(made)
            self.calls.append(made)
            goes_wrong = len(self.calls) == self._at
            if goes_wrong and self._how == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            if goes_wrong and self._how == ERROR:
                raise OSError(errno.ENOSPC, "No space left on device")
            if goes_wrong and self._how == INTERRUPT:
                raise KeyboardInterrupt
            with self._counted():
                result = call(*arguments, **settings)
            if goes_wrong:
                raise KeyboardInterrupt
            return result

        return faulty

    @contextmanager
    def _counted(self) -> Iterator[None]:
        """What happens within is part of a call that was counted."""
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def _below(self, path: str | bytes) -> bool:
        return os.fsdecode(os.path.abspath(path)).startswith(self._folder + os.sep)

    def look(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note a change of the folder that was not counted."""
        if self._inside or self._opening or event not in EVENTS:
            return
        if event == "open" and not (arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            return
        descriptor = arguments[-1] if event in ("os.mkdir", "os.remove", "os.rmdir") else None
        for one in arguments[: EVENTS[event]]:
            path = _path(one, descriptor if descriptor != -1 else None)
            if self._below(path):
                self.unseen.append((event, path))


def no_library(*given: Any, **named: Any) -> Any:
    """What loading the system's library comes to where it has no call to exchange two names."""
    raise OSError("no library")


EVENTS = {
    **dict.fromkeys(("open", "os.mkdir", "os.remove", "os.rmdir", "os.truncate", "os.chmod"), 1),
    **dict.fromkeys(("os.rename", "os.link", "os.symlink"), 2),
}
"""What Python reports of changes to a disk → how many of the arguments are paths."""

WATCHED: list[Faults] = []


def _listen(event: str, arguments: tuple[Any, ...]) -> None:
    for one in WATCHED:
        one.look(event, arguments)


sys.addaudithook(_listen)  # for good: a hook cannot be removed


def _path(given: Any, descriptor: int | None) -> str:
    """The path of an argument: a path, perhaps below an open folder; a descriptor, or a stream."""
    if hasattr(given, "fileno"):
        given = given.fileno()
    if isinstance(given, int):
        return _of(given)
    path = os.fsdecode(given) if given is not None else ""
    return path if descriptor is None else os.path.join(_of(descriptor), path)


def _of(descriptor: int) -> str:
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return ""


def _frames(frame: FrameType | None) -> tuple[tuple[str, str, int], ...]:
    frames = []
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(SOURCE):
            frames.append((file.removeprefix(SOURCE), frame.f_code.co_qualname, frame.f_lineno))
        frame = frame.f_back
    return tuple(frames)


def _write(stream: io.FileIO, data: bytes) -> None:
    """All of it: a file without a buffer may take a part."""
    while data:
        data = data[io.FileIO.write(stream, data) :]


def tree(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, without temporary files and locks."""
    files = {}
    for above, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if name != ".locks" and not is_temporary(name)]
        for path in (os.path.join(above, name) for name in names if not is_temporary(name)):
            with open(path, "rb") as stream:
                files[os.path.relpath(path, folder)] = stream.read()
    return files


def temporary(folder: Path) -> list[str]:
    """Temporary files and folders, empty ones too, and what is in them."""
    return [name for name in every_path(folder) if is_temporary(name)]


def every_path(folder: Path) -> list[str]:
    """Every file and folder below a folder."""
    walk = os.walk(folder)
    paths = [os.path.join(above, name) for above, some, names in walk for name in (*some, *names)]
    return sorted(os.path.relpath(path, folder) for path in paths)


def is_temporary(name: str) -> bool:
    """Whether a path has a name that no reader of Verax takes for a result."""
    return any(part.startswith(".verax-") or part == ".scratch" for part in name.split(os.sep))

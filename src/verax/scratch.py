"""Temporary files and folders, and what becomes of those whose writer was killed.

A writer makes one beside the place that is to be written, under a name that nobody can guess, and
holds a lock on it. The kernel frees the lock when the process ends, however it ends: then `sweep`
may put right what is there.

    .verax-0123456789abcdef.part          a file that is being written
    .verax-0123456789abcdef.part/new      a folder, or several files, being written
                                /old      the folder whose place `new` is taking
                                /ready    files on their way to their names
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

fcntl: Any = None if os.name == "nt" else import_module("fcntl")
"""Locks; where there are none, nothing is swept."""
NEW, OLD, READY = "new", "old", "ready"
YOUNG = 1.0
"""Seconds for which a temporary name is left alone: its writer may not have locked it yet."""
_NAME = re.compile(r"\.verax-[0-9a-f]{16}\.part")
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_HERE, _EXCHANGE = -100, 2
"""Linux's AT_FDCWD and RENAME_EXCHANGE."""


def scratch_name(folder: Path) -> Path:
    """A new temporary name in a folder."""
    return folder / f".verax-{secrets.token_hex(8)}.part"


def is_filling(path: Path) -> bool:
    """Whether a path is below a temporary folder, so that nothing there has to be whole yet."""
    return any(_NAME.fullmatch(part) for part in path.parts)


def opener(path: str, flags: int) -> int:
    """Open a file for `open`, following no link that stands in its place."""
    return os.open(path, flags | _NOFOLLOW, 0o666)


@contextmanager
def scratch_folder(parent: Path) -> Iterator[Path]:
    """A new folder, locked and nobody else's; it is removed, but where files are to be moved."""
    scratch, descriptor = scratch_name(parent), None
    os.mkdir(scratch, 0o700)
    try:
        with suppress(PermissionError, IsADirectoryError):  # as Windows answers
            descriptor = os.open(scratch, os.O_RDONLY | _NOFOLLOW)
            lock(descriptor)
        yield scratch
    finally:
        try:
            if not (scratch / READY).exists():
                shutil.rmtree(scratch, ignore_errors=True)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def lock(descriptor: int) -> bool:
    """Whether this process has the lock of a file now; the kernel frees it as the process ends."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another has it, or the filesystem has no locks
        return False
    return True


def sweep(folder: Path, finish: bool = True) -> None:
    """Put right what killed writers left in a folder.

    Files that were ready are moved to their names, unless `finish` is off; a folder that was put
    aside comes back if none took its name; the rest is removed. What a living process writes is
    left alone.
    """
    if fcntl is None:
        return
    try:
        with os.scandir(folder) as entries:
            names = [one.name for one in entries if _NAME.fullmatch(one.name)]
    except OSError:
        return
    for name in names:
        with suppress(OSError):  # it is another user's, or the folder is read-only
            _sweep(folder / name, finish)


def _sweep(scratch: Path, finish: bool) -> None:
    """Put right one temporary file or folder, if its writer is dead."""
    descriptor = os.open(scratch, os.O_RDONLY | os.O_NONBLOCK | _NOFOLLOW)
    try:
        status = os.fstat(descriptor)
        young = time.time() - status.st_ctime < YOUNG
        if young or status.st_uid != os.geteuid() or not lock(descriptor):
            return
        if stat.S_ISREG(status.st_mode):
            os.unlink(scratch)
        if not stat.S_ISDIR(status.st_mode):
            return
        if finish and (scratch / READY).exists():
            move(scratch / READY, scratch.parent)
        for old in (scratch / OLD).glob("*"):
            if not os.path.lexists(scratch.parent / old.name):
                os.rename(old, scratch.parent / old.name)
        shutil.rmtree(scratch)
    finally:
        os.close(descriptor)


def recover(folder: str | Path) -> None:
    """Bring back a folder that a killed process had put aside, before it is read."""
    target = Path(folder)
    if not target.exists():
        sweep(target.parent)


def put(scratch: Path, target: Path) -> None:
    """Give the new folder the target's name; at no time has neither old nor new the name.

    Where a system cannot exchange two folders at once, there is such a time between two calls. What
    goes wrong then brings the old one back; after a kill, `sweep` does.
    """
    new, old = scratch / NEW, scratch / OLD
    try:
        os.rename(new, target)  # there is nothing, or an empty folder
        return
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    if exchange(new, target):
        return
    old.mkdir()
    try:
        os.rename(target, old / target.name)
        os.rename(new, target)
    except BaseException:
        if not target.exists():
            os.rename(old / target.name, target)
        raise


def exchange(one: Path, other: Path) -> bool:
    """Give two folders each other's name at once; False where the system has no such call."""
    try:
        call = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return bool(call(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def move(ready: Path, target: Path) -> None:
    """Move files to their names in a folder; what was moved before is not there any more."""
    folders = {target}
    for path in sorted(path for path in ready.rglob("*") if path.is_file()):
        place = target / path.relative_to(ready)
        place.parent.mkdir(parents=True, exist_ok=True)
        os.replace(path, place)
        folders.add(place.parent)
    for folder in folders:
        sync_folder(folder)
    shutil.rmtree(ready)


def sync(stream: IO[bytes]) -> None:
    """Wait until the disk has what was written to a file."""
    stream.flush()
    os.fsync(stream.fileno())


def sync_folder(folder: Path) -> None:
    """Wait until the disk has the names in a folder; some systems have no call for that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(descriptor)


def sync_tree(folder: Path) -> None:
    """Wait until the disk has the names in a folder and in those below; files have been synced."""
    for place, _, _ in os.walk(folder):
        sync_folder(Path(place))

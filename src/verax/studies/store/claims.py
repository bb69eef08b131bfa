"""Claims: of several runners on one folder, one runs a cell.

A claim is a lock on one byte of a file, at an offset that the cell's name gives. The kernel takes
it back when the process ends, however it ends, so that none is ever left over. POSIX has two traps:
a process loses all its locks on a file when it closes it once, and never excludes itself. So there
is one open file for a process, never closed, and a record of what this process holds.
"""

from __future__ import annotations

import errno
import hashlib
import os
import sys
import threading
from dataclasses import dataclass, field
from pathlib import Path

from verax.errors import VeraxError

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}
_TAKEN = {errno.EACCES, errno.EAGAIN, errno.EDEADLK}


@dataclass
class _Book:
    """An open file of claims, and the offsets that this process holds in it."""

    opened: int
    held: set[int] = field(default_factory=set)
    no_locks: bool = False


_books: dict[tuple[int, int], _Book] = {}
"""By device and inode: however a folder is reached, its file of claims is one."""
_guard = threading.Lock()


class Claim:
    """A cell that is ours until `release`, or until this process ends."""

    def __init__(self, book: _Book | None, offset: int) -> None:
        self._book, self._offset = book, offset

    def release(self) -> None:
        """Let others have it; may be called twice."""
        with _guard:
            book, self._book = self._book, None
            if book is not None and self._offset in book.held:
                book.held.remove(self._offset)
                if not book.no_locks:
                    _unlock(book.opened, self._offset)

    def __enter__(self) -> Claim:
        return self

    def __exit__(self, *reason: object) -> None:
        self.release()


def claim(path: Path, name: str) -> Claim | None:
    """A claim on `name` in the file of claims at `path`; None where somebody else has it.

    Where the filesystem knows no locks, only this process is kept from claiming twice.
    """
    digest = hashlib.sha256(name.encode()).digest()
    offset = int.from_bytes(digest[:8], "big") >> 2  # offsets are signed, and of 63 bits
    with _guard:
        book = _book_of(path)
        if offset in book.held:
            return None
        if not book.no_locks:
            try:
                _lock(book.opened, offset)
            except OSError as error:
                if error.errno in _TAKEN:
                    return None
                if error.errno not in _NO_LOCKS:
                    raise VeraxError(f"cannot lock {path}: {error.strerror}") from error
                book.no_locks = True
        book.held.add(offset)
        return Claim(book, offset)


def _book_of(path: Path) -> _Book:
    try:
        if path.exists():
            found = path.stat()
            known = _books.get((found.st_dev, found.st_ino))
            if known is not None:
                return known
        path.parent.mkdir(parents=True, exist_ok=True)
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise VeraxError(f"cannot write {path}: {error.strerror}") from error
    found = os.fstat(opened)
    return _books.setdefault((found.st_dev, found.st_ino), _Book(opened))


def _forget() -> None:
    """A forked child holds none of its parent's locks."""
    global _guard
    _guard = threading.Lock()
    for book in _books.values():
        book.held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)

if sys.platform == "win32":
    import msvcrt

    def _lock(opened: int, offset: int) -> None:
        os.lseek(opened, offset, os.SEEK_SET)
        msvcrt.locking(opened, msvcrt.LK_NBLCK, 1)

    def _unlock(opened: int, offset: int) -> None:
        os.lseek(opened, offset, os.SEEK_SET)
        msvcrt.locking(opened, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(opened: int, offset: int) -> None:
        fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, offset)

    def _unlock(opened: int, offset: int) -> None:
        fcntl.lockf(opened, fcntl.LOCK_UN, 1, offset)

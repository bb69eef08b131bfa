"""Locks on cells: of several runners on one folder, one runs a cell.

The kernel releases a lock when its process ends, however it ends. The empty lock files stay: to
delete one while another process opens it would give two processes the same lock.
"""

from __future__ import annotations

import errno
from pathlib import Path

from filelock import BaseFileLock, FileLock, Timeout

from verax.errors import VeraxError

_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class CellLock:
    """A cell that nobody else may run until `release`, or until this process ends."""

    def __init__(self, lock: BaseFileLock | None = None) -> None:
        self._lock = lock

    def release(self) -> None:
        """Let others run the cell; may be called twice."""
        if self._lock is not None:
            self._lock.release(force=True)

    def __enter__(self) -> CellLock:
        return self

    def __exit__(self, *reason: object) -> None:
        self.release()


def lock_file(path: Path) -> CellLock | None:
    """A lock on a file, which is made if need be; None where somebody else has it.

    Where the filesystem has no locks, everybody gets one.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, thread_local=False)
        lock.acquire(blocking=False)
    except Timeout:
        return None
    except NotImplementedError:
        return CellLock()
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return CellLock()
        raise VeraxError(f"cannot lock {path}: {error.strerror}") from error
    return CellLock(lock)

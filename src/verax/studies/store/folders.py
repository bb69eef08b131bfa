"""Folders on any filesystem that fsspec or pyarrow can reach, and locks on this machine."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout
from fsspec.core import url_to_fs
from fsspec.implementations.arrow import ArrowFSWrapper
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem
from pyarrow import ArrowException, fs

from verax.errors import VeraxError, WriteError
from verax.files import write_bytes
from verax.options import check_path
from verax.scratch import is_filling

SCRATCH = ".scratch"
"""Where files and folders of a local folder are written before they take their names."""


@dataclass(frozen=True)
class StorageFolder:
    """A folder, and how to reach it. Names of files in it are relative, with `/` between parts.

    filesystem, root  for fsspec
    shown             as the user wrote it
    local             its path, where it is on this machine: then names can be taken all at once
    """

    filesystem: AbstractFileSystem
    root: str
    shown: str
    local: Path | None = None

    @property
    def is_local(self) -> bool:
        return self.local is not None

    def inside(self, name: str) -> StorageFolder:
        """A folder in this one."""
        local = None if self.local is None else self.local / name
        return StorageFolder(self.filesystem, self._path(name), f"{self.shown}/{name}", local)

    def read_bytes(self, name: str) -> bytes:
        """The contents of a file; FileNotFoundError where there is none."""
        return bytes(self.filesystem.cat_file(self._path(name)))

    def open(self, name: str) -> Any:
        """A file to read parts of."""
        return self.filesystem.open(self._path(name), "rb")

    def write_bytes(self, name: str, data: bytes) -> None:
        """Make or replace a file. On this machine it changes all at once and survives a crash."""
        if self.local is None:
            path = self._path(name)
            self.filesystem.makedirs(path.rpartition("/")[0], exist_ok=True)
            self.filesystem.pipe_file(path, data)
            return
        write_bytes(self.local / name, data, via=self.local / SCRATCH)

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder; `fsspec` itself takes any error for a no."""
        self.filesystem.invalidate_cache()  # others may have written since
        try:
            with self.reading(name):
                self.filesystem.info(self._path(name))
        except FileNotFoundError:
            return False
        return True

    def names(self, folder: str = "") -> list[str]:
        """Names of files and folders in a folder, sorted; none where there is no such folder."""
        self.filesystem.invalidate_cache()
        try:
            with self.reading(folder):
                paths = self.filesystem.ls(self._path(folder), detail=False)
        except FileNotFoundError:
            return []
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)

    def sizes(self, folder: str = "") -> dict[str, int]:
        """Bytes of every file below a folder, by its path from there."""
        self.filesystem.invalidate_cache()
        start = self._path(folder).strip("/")
        with self.reading(folder):
            files = self.filesystem.find(self._path(folder), detail=True)
        return {
            path.strip("/").removeprefix(start).strip("/"): int(info["size"])
            for path, info in files.items()
        }

    def remove(self, name: str) -> None:
        """Remove a file, if it exists."""
        if self.exists(name):
            self.filesystem.rm_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder with everything in it, if it exists."""
        if self.local is not None:
            shutil.rmtree(self.local / name, ignore_errors=True)
        elif self.exists(name):
            self.filesystem.rm(self._path(name), recursive=True)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn errors of writing into a `WriteError` of this folder."""
        try:
            yield
        except (OSError, ArrowException, WriteError) as error:
            if self.local is not None and is_filling(self.local):  # it has no name yet
                raise
            cause = error.__cause__ if isinstance(error, WriteError) else error
            raise WriteError(f"cannot write {self.shown}: {_first_line(cause or error)}") from error

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """Turn errors of reading into a `VeraxError`, except that a file does not exist."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, ArrowException) as error:
            what = f"{name} of {self.shown}" if name else self.shown
            raise VeraxError(
                f"cannot read {what}: {_first_line(error)}", code="file.unreadable"
            ) from error

    def _path(self, name: str) -> str:
        return "/".join(part for part in (self.root, name) if part)


def storage_folder(
    folder: str | os.PathLike[str] | StorageFolder, filesystem: Any = None
) -> StorageFolder:
    """The folder of that name.

    Args:
        folder: a path, a URL such as s3://bucket/study, or a path in `filesystem`.
        filesystem: an object of fsspec or of pyarrow.fs.
    """
    if isinstance(folder, StorageFolder):
        return folder
    shown = check_path("the folder of a study", folder)
    if filesystem is not None:
        filesystem, path = _as_fsspec(filesystem, shown)
    elif "://" in shown:
        filesystem, path = _from_url(shown)
    else:
        filesystem, path = LocalFileSystem(), shown
    if isinstance(filesystem, LocalFileSystem):
        local = Path(path.removeprefix("file://")).expanduser().absolute()
        return StorageFolder(filesystem, local.as_posix(), shown, local)
    return StorageFolder(filesystem, path.rstrip("/") or path, shown)


def _as_fsspec(filesystem: Any, path: str) -> tuple[AbstractFileSystem, str]:
    """A filesystem of fsspec or pyarrow as one of fsspec, and the path in it."""
    if isinstance(filesystem, AbstractFileSystem):
        return filesystem, path
    if isinstance(filesystem, fs.SubTreeFileSystem):
        return _as_fsspec(filesystem.base_fs, f"{filesystem.base_path.rstrip('/')}/{path}")
    if isinstance(filesystem, fs.LocalFileSystem):
        return LocalFileSystem(), path
    if isinstance(getattr(filesystem, "handler", None), fs.FSSpecHandler):
        return filesystem.handler.fs, path
    if isinstance(filesystem, fs.FileSystem):
        return ArrowFSWrapper(filesystem, skip_instance_cache=True), path
    kind = type(filesystem).__name__
    raise VeraxError(
        f"filesystem is a {kind}: expected one of pyarrow.fs or of fsspec", code="option.wrong-type"
    )


def _from_url(url: str) -> tuple[AbstractFileSystem, str]:
    """pyarrow's own filesystem where it has one, else fsspec's."""
    try:
        with suppress(ArrowException):  # not one that pyarrow knows, or was built with
            return _as_fsspec(*fs.FileSystem.from_uri(url))
        filesystem, path = url_to_fs(url)
    except OSError as error:
        raise VeraxError(
            f"cannot open {url}: {_first_line(error)}", code="file.unreadable"
        ) from error
    except ImportError as error:
        raise VeraxError(
            f"cannot open {url}: {_first_line(error)} (with pip)", code="package.missing"
        ) from error
    except ValueError as error:
        raise VeraxError(
            f"cannot open {url}: no filesystem is called {url.partition('://')[0]}://, give a "
            "path, or a URL such as s3://bucket/study",
            code="option.unknown-value",
        ) from error
    return filesystem, path


def _first_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip() or type(error).__name__).splitlines()[0]


_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class CellLock:
    """A cell that nobody else may run until `release`, or until this process ends.

    The kernel releases a lock when its process ends, however it ends. The empty lock files stay:
    to delete one while another process opens it would give two processes the same lock.
    """

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
        raise VeraxError(
            f"cannot lock {path}: {error.strerror}", code="output.not-writable"
        ) from error
    return CellLock(lock)

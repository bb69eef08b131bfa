"""A folder on any filesystem: this machine's, pyarrow's, or one of fsspec's."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyarrow import ArrowException
from pyarrow.fs import (
    FileSelector,
    FileSystem,
    FileType,
    FSSpecHandler,
    LocalFileSystem,
    PyFileSystem,
    SubTreeFileSystem,
)

from verax.errors import VeraxError

SCRATCH = ".scratch"
"""Where files and folders of a local place are filled before they take their names."""


@dataclass(frozen=True)
class Place:
    """A folder, and how to reach it. Names of files in it are relative, with `/` between parts.

    filesystem, root  for pyarrow
    shown             as the user gave it
    local             its path, where it is on this machine: then names can be taken all at once
    """

    filesystem: Any
    root: str
    shown: str
    local: Path | None = None

    @property
    def is_local(self) -> bool:
        return self.local is not None

    def read_bytes(self, name: str) -> bytes:
        """What a file holds; FileNotFoundError where there is none."""
        if self.local is not None:
            return (self.local / name).read_bytes()
        if self._fsspec is not None:  # pyarrow takes any failure of fsspec's for a missing file
            return bytes(self._fsspec.cat_file(self._path(name)))
        with self.filesystem.open_input_stream(self._path(name)) as stream:
            return bytes(stream.read())

    def open(self, name: str) -> Any:
        """A file to read parts of, as pyarrow has it."""
        return self.filesystem.open_input_file(self._path(name))

    def write_bytes(self, name: str, data: bytes) -> None:
        """Make or replace a file. On this machine it changes all at once and survives a crash."""
        if self.local is None:
            path = self._path(name)
            self.filesystem.create_dir(path.rpartition("/")[0], recursive=True)
            with self.filesystem.open_output_stream(path) as stream:
                stream.write(data)
            return
        target = self.local / name
        filling = self.local / SCRATCH / f"{target.stem}-{uuid.uuid4().hex}"
        filling.parent.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            write_through(filling, data)
            os.replace(filling, target)
        except BaseException:
            filling.unlink(missing_ok=True)
            raise
        settle(target.parent)

    def exists(self, name: str) -> bool:
        if self.local is not None:
            return (self.local / name).exists()
        self._look_again()
        with self.reading(name):
            return bool(self.filesystem.get_file_info(self._path(name)).type != FileType.NotFound)

    def names(self, folder: str = "") -> list[str]:
        """What stands in a folder, sorted; nothing where there is no such folder."""
        return sorted(info.base_name for info in self._listed(folder, recursive=False))

    def sizes(self, folder: str = "") -> dict[str, int]:
        """Every file below a folder, by its name from there, and how many bytes it has."""
        above = self._path(folder).strip("/")
        return {
            info.path.strip("/").removeprefix(above).strip("/"): int(info.size)
            for info in self._listed(folder, recursive=True)
            if info.type == FileType.File
        }

    def remove(self, name: str) -> None:
        """Remove a file, if it is there."""
        if self.exists(name):
            self.filesystem.delete_file(self._path(name))

    def remove_folder(self, name: str) -> None:
        """Remove a folder and all it holds, if it is there."""
        if self.local is not None:
            shutil.rmtree(self.local / name, ignore_errors=True)
        elif self.exists(name):
            self.filesystem.delete_dir(self._path(name))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """What keeps a file from being written, as an error for the user."""
        try:
            yield
        except (OSError, ArrowException) as error:
            raise VeraxError(f"cannot write {self.shown}: {_first_line(error)}") from error

    @contextmanager
    def reading(self, name: str) -> Iterator[None]:
        """The same for reading; that a file is not there is for the caller to say."""
        try:
            yield
        except FileNotFoundError:
            raise
        except (OSError, ArrowException) as error:
            what = f"{name} of {self.shown}" if name else self.shown
            raise VeraxError(f"cannot read {what}: {_first_line(error)}") from error

    def _path(self, name: str) -> str:
        return "/".join(part for part in (self.root, name) if part)

    def _listed(self, folder: str, recursive: bool) -> list[Any]:
        self._look_again()
        chosen = FileSelector(self._path(folder), allow_not_found=True, recursive=recursive)
        with self.reading(folder):
            return list(self.filesystem.get_file_info(chosen))

    @property
    def _fsspec(self) -> Any:
        handler = getattr(self.filesystem, "handler", None)
        return handler.fs if isinstance(handler, FSSpecHandler) else None

    def _look_again(self) -> None:
        """fsspec remembers what it listed: others may have written since."""
        if self._fsspec is not None:
            self._fsspec.invalidate_cache()


def place(folder: str | os.PathLike[str] | Place, filesystem: Any = None) -> Place:
    """The folder of that name: a path, a URL such as s3://bucket/study, or a path in `filesystem`.

    `filesystem` is an object of pyarrow or fsspec.
    """
    if isinstance(folder, Place):
        return folder
    shown = os.fspath(folder)
    if filesystem is None and "://" not in shown:
        return _local_place(Path(shown).expanduser(), shown)
    if filesystem is None:
        filesystem, path = _by_url(shown)
    else:
        filesystem, path = _arrow(filesystem), shown
    local = _local_path(filesystem, path)
    if local is not None:
        return _local_place(local, shown)
    return Place(filesystem, path.rstrip("/") or path, shown)


def write_through(path: Path, data: bytes) -> None:
    """Write a file and wait until the disk has it."""
    with path.open("wb") as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


def settle(folder: Path) -> None:
    """Wait until the disk has the names in a folder; Windows has no way to ask."""
    if os.name == "nt":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)


def _local_place(path: Path, shown: str) -> Place:
    found = path.absolute()
    return Place(LocalFileSystem(), found.as_posix(), shown, found)


def _local_path(filesystem: Any, path: str) -> Path | None:
    """Where a path of a filesystem is on this machine, if it is."""
    if isinstance(filesystem, SubTreeFileSystem):
        return _local_path(filesystem.base_fs, f"{filesystem.base_path.rstrip('/')}/{path}")
    if isinstance(filesystem, LocalFileSystem):
        return Path(path)
    handler = getattr(filesystem, "handler", None)
    if isinstance(handler, FSSpecHandler) and _protocols(handler.fs) & {"file", "local"}:
        return Path(handler.fs._strip_protocol(path))
    return None


def _arrow(filesystem: Any) -> Any:
    if isinstance(filesystem, FileSystem):
        return filesystem
    if hasattr(filesystem, "protocol") and hasattr(filesystem, "invalidate_cache"):
        return PyFileSystem(FSSpecHandler(filesystem))
    kind = type(filesystem).__name__
    raise VeraxError(f"filesystem is a {kind}: expected one of pyarrow.fs or of fsspec")


def _protocols(filesystem: Any) -> set[str]:
    named = filesystem.protocol
    return {named} if isinstance(named, str) else set(named)


def _by_url(url: str) -> tuple[Any, str]:
    """pyarrow's own filesystem where it has one, else fsspec's."""
    scheme = url.partition("://")[0]
    try:
        return FileSystem.from_uri(url)
    except OSError as error:
        raise VeraxError(f"cannot open {url}: {_first_line(error)}") from error
    except ArrowException:  # not one that pyarrow knows, or was built with
        pass
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise VeraxError(
            f"cannot open {url}: {scheme}:// needs fsspec, install it with pip install fsspec"
        ) from None
    try:
        filesystem, path = url_to_fs(url)
    except ImportError as error:
        needed = _first_line(error)
        raise VeraxError(f"cannot open {url}: {needed} (with pip)") from error
    except ValueError as error:
        raise VeraxError(
            f"cannot open {url}: no filesystem is called {scheme}://, give a path, or a URL such "
            "as s3://bucket/study"
        ) from error
    return _arrow(filesystem), path


def _first_line(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error).strip() or type(error).__name__).splitlines()[0]

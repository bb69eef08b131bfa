"""Write files and folders atomically.

A file or folder gets its name only once it is complete (see `verax.scratch`). If the process ends
early, through a full disk, Ctrl-C or a kill, the name still refers to the old contents.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from verax.errors import OccupiedError, VeraxError, VeraxWarning, WriteError, outside_verax
from verax.scratch import (
    NEW,
    READY,
    is_filling,
    lock,
    move,
    opener,
    put,
    scratch_folder,
    scratch_name,
    sweep,
    sync,
    sync_folder,
    sync_tree,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["replace_folder", "write_files", "write_table", "write_text"]

_PROBE = b"\0" * 4096


def write_text(path: str | Path, text: str) -> None:
    """Write a text file atomically, in UTF-8 and with Unix line ends."""
    write_bytes(path, text.encode())


def write_bytes(path: str | Path, data: bytes, via: Path | None = None) -> None:
    """Make or replace a file, all at once; `via` is the folder of its temporary name."""
    with new_file(path, via) as stream:
        stream.write(data)


def write_table(path: str | Path, table: pd.DataFrame, **settings: Any) -> None:
    """Write a Parquet file atomically; `settings` are those of `DataFrame.to_parquet`."""
    with new_file(path) as stream:
        table.to_parquet(stream, **settings)


def parquet_bytes(table: pd.DataFrame, **settings: Any) -> bytes:
    """A table as the contents of a Parquet file; `settings` are those of pandas."""
    stream = io.BytesIO()
    table.to_parquet(stream, **settings)
    return stream.getvalue()


def json_text(values: Any, **settings: Any) -> str:
    """JSON as it is read best, or, where a text in it is not UTF-8, with that text escaped."""
    text = json.dumps(values, ensure_ascii=False, **settings)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(values, **settings)
    return text


@contextmanager
def new_file(path: str | Path, via: Path | None = None) -> Iterator[IO[bytes]]:
    """A binary file to fill. It takes its name as the block ends, and not if the block raises.

    Args:
        path: of the file; missing folders are made, and a link is followed.
        via: the folder of its temporary name, on the same filesystem; the file's own, unless given.
    """
    with _reported(path):
        target = _behind_links(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if _is_device(target):
            with open(target, "wb") as stream:
                yield stream
            return
        if is_filling(target):
            with open(target, "wb", opener=opener) as stream:
                yield stream
                sync(stream)
            return
        where = target.parent if via is None else via
        where.mkdir(parents=True, exist_ok=True)
        sweep(where)
        scratch = scratch_name(where)
        try:
            with open(scratch, "xb", opener=opener) as stream:
                lock(stream.fileno())
                yield stream
                sync(stream)
                if target.exists():  # what was private stays so
                    os.chmod(scratch, stat.S_IMODE(target.stat().st_mode))
                os.replace(scratch, target)
        except FileExistsError:  # another's, whoever guessed the name
            raise
        except BaseException:
            with suppress(OSError):
                os.unlink(scratch)
            raise
        sync_folder(target.parent)


def write_files(folder: str | Path, files: Mapping[str, bytes | str]) -> None:
    """Create or replace several files of a folder: all of them or none.

    If the process ends while complete files are being renamed, the next writer finishes the job.

    Args:
        folder: created if it does not exist; its other files stay.
        files: relative path → contents.
    """
    with _reported(folder):
        target = _behind_links(folder)
        target.mkdir(parents=True, exist_ok=True)
        sweep(target)
        with scratch_folder(target) as scratch:
            for name, data in files.items():
                write_bytes(scratch / NEW / name, data.encode() if isinstance(data, str) else data)
            sync_tree(scratch)
            try:
                os.rename(scratch / NEW, scratch / READY)
                move(scratch / READY, target)
                sweep(target, finish=False)  # what could not be moved before is out of date now
            except BaseException:
                with suppress(OSError):
                    move(scratch / READY, target)
                raise


def write_and_sync(path: Path, data: bytes) -> None:
    """Write a file in place, and wait until the disk has it; for folders that have no name yet."""
    with open(path, "wb", opener=opener) as stream:
        stream.write(data)
        sync(stream)


def replace_folder(
    folder: str | Path,
    write: Callable[[Path], None],
    owned: Callable[[Path], bool],
    overwrite: bool = True,
) -> None:
    """Replace a folder atomically.

    Args:
        folder: the folder to write.
        write: fills a temporary folder beside the target, which then takes its name.
        owned: whether an existing folder holds an earlier result, so that it may be replaced.
        overwrite: whether to replace an existing folder that is not empty.
    """
    _refuse_foreign(folder, owned, overwrite)
    with _reported(folder):
        target = _behind_links(folder)
        if is_filling(target):  # part of a folder that takes its name as a whole
            target.mkdir(parents=True, exist_ok=True)
            write(target)
            return
        target.parent.mkdir(parents=True, exist_ok=True)
        with scratch_folder(target.parent) as scratch:
            (scratch / NEW).mkdir()
            write(scratch / NEW)
            sync_tree(scratch)
            put(scratch, target)
        sync_folder(target.parent)


def write_elsewhere(name: str, write: Callable[[Path], None], error: VeraxError) -> Path:
    """Where something is that could not be written where it was asked for: a new folder.

    Args:
        name: what it is called there.
        write: writes it to a path.
        error: why it could not be written; raised again where no other place will do.
    """
    for above in _other_places():
        folder = None
        try:
            folder = Path(tempfile.mkdtemp(prefix="verax-", dir=above))
            write(folder / (name or "result"))
            return folder / (name or "result")
        except (OSError, WriteError):
            if folder is not None:
                shutil.rmtree(folder, ignore_errors=True)
    raise WriteError(f"{error}; nor could it be written anywhere else, nothing is kept") from error


@contextmanager
def kept_if_possible() -> Iterator[None]:
    """Within it, what cannot be written is a warning: it is in memory, and the work goes on."""
    try:
        yield
    except WriteError as error:
        message = f"{error}; it goes on without, and would have to make this again"
        warnings.warn(message, VeraxWarning, stacklevel=outside_verax())


def _other_places() -> Iterator[str]:
    """The system's folder of temporary files, the working folder and the user's own."""
    for place in (tempfile.gettempdir, os.getcwd, Path.home):
        with suppress(OSError, RuntimeError):
            yield str(place())


def refuse_foreign(
    folder: str | Path,
    owned: Callable[[Path], bool],
    overwrite: bool = True,
    replaced: bool = True,
) -> None:
    """An error where `replace_folder` would refuse or fail: to ask before the work.

    Args:
        folder, owned, overwrite: those of `replace_folder`.
        replaced: whether it will take the folder's place; else files are added to it.
    """
    _refuse_foreign(folder, owned, overwrite, replaced)
    refuse_unwritable(folder if replaced else Path(folder) / "file")


def refuse_unwritable(path: str | Path) -> None:
    """An error where no file or folder of that path can be made: to ask before the work."""
    with _reported(path):
        target = _behind_links(path)
        if is_filling(target) or _is_device(target):
            return
        above = _folder_above(target, path)
        try:
            with scratch_folder(above) as scratch:
                write_bytes(scratch / NEW, _PROBE)
        except OSError as error:
            raise WriteError(
                f"cannot write {path}: nothing can be written in {above} ({error.strerror})"
            ) from error


def _refuse_foreign(
    folder: str | Path, owned: Callable[[Path], bool], overwrite: bool, replaced: bool = True
) -> None:
    with _reported(folder):
        target = _behind_links(folder)
        if target.exists() and not target.is_dir():
            raise OccupiedError(
                f"cannot write {folder}: it is a file, give a folder", code="output.wrong-kind"
            )
        if is_filling(target):
            return
        _folder_above(target, folder)
        for place in (target.parent, target):
            sweep(place)
        is_full = target.exists() and any(target.iterdir())
        if is_full and not owned(target):
            raise OccupiedError(
                f"cannot write {folder}: it holds other files, give a new or an empty folder"
            )
        if is_full and not overwrite:
            raise OccupiedError(
                f"cannot write {folder}: it holds an earlier result; give another folder, or "
                "--overwrite (in Python: overwrite=True)"
            )
        if replaced and (os.path.ismount(target) or target == Path.cwd()):
            what = "the working folder" if target == Path.cwd() else "where a filesystem is mounted"
            raise VeraxError(
                f"cannot write {folder}: it is {what}, give a folder in it, such as "
                f"{Path(folder) / 'result'}",
                code="output.wrong-kind",
            )


def stamp(path: str | Path | None) -> list[int] | None:
    """Size and time of a file, so that another under its name is not taken for it."""
    if path is None or not Path(path).expanduser().is_file():
        return None
    status = Path(path).expanduser().stat()
    return [status.st_size, status.st_mtime_ns]


@contextmanager
def _reported(path: str | Path) -> Iterator[None]:
    """Turn errors of writing into a `WriteError` that names what was to be written."""
    try:
        yield
    except OSError as error:
        if is_filling(Path(path)):  # the folder being filled has no name yet: its writer says it
            raise
        raise WriteError(f"cannot write {path}: {error.strerror or error}") from error


def _behind_links(path: str | Path) -> Path:
    """Where a path leads, in full; a link that leads nowhere is an error."""
    target = Path(os.path.abspath(path))
    if not target.is_symlink():
        return target
    if not target.exists():
        raise VeraxError(
            f"cannot write {path}: it is a link to nothing, remove it", code="output.not-writable"
        )
    return Path(os.path.realpath(target))


def _folder_above(target: Path, path: str | Path) -> Path:
    """The nearest folder above that exists."""
    above = next(place for place in target.parents if place.exists())
    if not above.is_dir():
        raise VeraxError(
            f"cannot write {path}: no folder can be made in {above}, it is a file",
            code="output.not-writable",
        )
    return above


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()

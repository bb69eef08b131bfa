"""Writing so that nothing is ever half there."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from verax.errors import VeraxError


def replace_folder(
    folder: str | Path,
    write: Callable[[Path], None],
    owned: Callable[[Path], bool],
    overwrite: bool = True,
) -> None:
    """Make `folder` hold what `write` puts into it, all at once.

    `write` fills a temporary folder beside the target, which then takes its name; a process killed
    on the way leaves the old folder as it was (and a hidden temporary one). A folder that exists
    already is replaced only if it is empty, or `overwrite` is set and `owned` recognises it as an
    earlier result.
    """
    refuse_foreign(folder, owned, overwrite)
    target = Path(folder).absolute()
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    except OSError as error:
        raise VeraxError(f"cannot write {folder}: {error.strerror}") from error
    try:
        filling, old = scratch / "new", scratch / "old"
        filling.mkdir()
        write(filling)
        if target.exists():
            os.rename(target, old)
        try:
            os.rename(filling, target)
        except OSError:
            if old.exists():
                os.rename(old, target)
            raise
    except OSError as error:
        raise VeraxError(f"cannot write {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def refuse_foreign(
    folder: str | Path, owned: Callable[[Path], bool], overwrite: bool = True
) -> None:
    """An error where `replace_folder` would refuse: to ask before the work, not after it."""
    target = Path(folder).absolute()
    if target.exists() and not target.is_dir():
        raise VeraxError(f"cannot write {folder}: it is a file, give a folder")
    if target.exists() and any(target.iterdir()) and not owned(target):
        raise VeraxError(
            f"cannot write {folder}: it holds other files, give a new or an empty folder"
        )
    if target.exists() and any(target.iterdir()) and not overwrite:
        raise VeraxError(
            f"cannot write {folder}: it holds an earlier result; give another folder, or "
            "--overwrite (in Python: overwrite=True)"
        )
    above = next(path for path in target.parents if path.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise VeraxError(f"cannot write {folder}: no folder can be made in {above}")


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file with Unix line ends, the same bytes everywhere."""
    path.write_text(text, encoding="utf-8", newline="\n")


def stamp(path: str | Path | None) -> list[int] | None:
    """Size and time of a file, so that another under its name is not taken for it."""
    if path is None or not Path(path).expanduser().is_file():
        return None
    status = Path(path).expanduser().stat()
    return [status.st_size, status.st_mtime_ns]

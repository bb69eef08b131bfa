"""The manifest of a finished cell: its facts, and the size and checksum of each file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from verax.errors import VeraxError

FORMAT = 2
"""Of stores. A reader takes this one, and an error says what to do about others.

Format 1 called exams, options and numbers by other names, and kept paths of the machine.
"""

CONFIG, MANIFEST, CELL, VERDICT = "config.json", "manifest.json", "cell.parquet", "verdict.json"
MODEL = "model"
_NOT_FACTS = ("format", "cell", "files", "left_out")
_TABLE = ".parquet"


class DamageError(Exception):
    """What is wrong with a file of a cell, in words."""


def as_json(values: Any) -> bytes:
    """Indented JSON. It ends with its last bracket, so that no truncated part of it is JSON."""
    return json.dumps(values, indent=2, ensure_ascii=False, allow_nan=False).encode()


def make_manifest(
    key: str, files: Mapping[str, bytes], facts: Mapping[str, Any], left_out: Sequence[str] = ()
) -> dict[str, Any]:
    """Facts, and of every file its size and checksum.

    `left_out` are tables that the cell had before it was packed without them, and `model`.
    """
    listed = {name: {"size": len(data), "sha256": checksum(data)} for name, data in files.items()}
    manifest = {"format": FORMAT, "cell": key, **facts_of(facts), "files": listed}
    return {**manifest, "left_out": list(left_out)} if left_out else manifest


def facts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest without what depends on the bytes of files."""
    return {name: value for name, value in manifest.items() if name not in _NOT_FACTS}


def read_manifest(data: bytes, key: str) -> dict[str, Any]:
    """The manifest of this cell, or `DamageError`."""
    try:
        manifest = json.loads(data)
    except ValueError:
        raise DamageError(f"{MANIFEST} is not JSON") from None
    if not isinstance(manifest, dict) or not isinstance(manifest.get("files"), dict):
        raise DamageError(f"{MANIFEST} lists no files")
    if manifest.get("cell") != key:
        raise DamageError(f"{MANIFEST} is of another cell")
    for name, entry in manifest["files"].items():
        if not is_inside(name):
            raise DamageError(f"{MANIFEST} names a file outside of the cell's folder")
        if not isinstance(entry, dict) or not isinstance(entry.get("size"), int):
            raise DamageError(f"{MANIFEST} does not tell the size of {name}")
    for name in (CONFIG, CELL):
        if name not in manifest["files"]:
            raise DamageError(f"{MANIFEST} does not list {name}")
    return manifest


def damage(
    manifest: Mapping[str, Any],
    sizes: Mapping[str, int],
    read: Callable[[str], bytes] | None = None,
) -> str | None:
    """What is wrong with a cell's files, or None; with `read`, checksums are compared too."""
    problems = []
    for name, entry in manifest["files"].items():
        if name not in sizes:
            problems.append(f"{name} is missing")
        elif sizes[name] != entry["size"]:
            problems.append(f"{name} has {sizes[name]:,} of {entry['size']:,} bytes")
        elif read is not None and checksum(read(name)) != entry.get("sha256"):
            problems.append(f"{name} has other contents than were written")
    return "; ".join(problems) or None


def checked(manifest: Mapping[str, Any], name: str, data: bytes) -> bytes:
    """The contents of a file if they are what was written; else `DamageError`."""
    entry = manifest["files"][name]
    wrong = damage({"files": {name: entry}}, {name: len(data)}, lambda _: data)
    if wrong is not None:
        raise DamageError(wrong)
    return data


def checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_inside(name: str) -> bool:
    """Whether a file's name stays in the cell's folder: a plain one, or one below `model/`.

    >>> [is_inside(n) for n in ("a.json", "model/a", "../a", "/a", "b/a", "model/..", "c:\\\\a")]
    [True, True, False, False, False, False, False]
    """
    parts = name.split("/")
    plain = all(part not in ("", ".", "..") and not set(part) & set("\\:\0") for part in parts)
    return plain and (len(parts) == 1 or (len(parts) == 2 and parts[0] == MODEL))


def tables_in(files: Iterable[str]) -> list[str]:
    """The names of the tables among a cell's files."""
    names = (PurePosixPath(name) for name in files)
    return sorted(n.stem for n in names if n.suffix == _TABLE and str(n) != CELL)


def table_file(table: str) -> str:
    return f"{table}{_TABLE}"


def damaged_cell(key: str, shown: str, wrong: str) -> VeraxError:
    """An error for the user about a damaged cell."""
    return VeraxError(f"cell {key} of {shown} is damaged ({wrong}): run the study again")

"""The cells of a store: a folder each, which appears when it is complete and not before.

On this machine a folder is written elsewhere and then renamed. Other filesystems cannot rename
folders: there the manifest is written last, and a folder without one is no cell. The manifest has
the cell's facts, and the size and checksum of each file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any

from verax.errors import VeraxError
from verax.files import json_text, write_and_sync
from verax.schema import SchemaError, both, parse_json, warn_unless
from verax.scratch import sync_folder
from verax.studies.function_cell import check_cell
from verax.studies.grid.cell import Cell
from verax.studies.store import saved
from verax.studies.store.folders import SCRATCH, StorageFolder
from verax.studies.store.tables import arrow_rows, cell_row, parquet_bytes

FORMAT = 2
"""The format of stores; any other is an error."""

CONFIG, MANIFEST, CELL, VERDICT = "config.json", "manifest.json", "cell.parquet", "verdict.json"
MODEL = "model"
SUM = "sha256"
"""Where a manifest has a hash of itself."""
_NOT_FACTS = ("format", "cell", "files", "left_out", SUM)
_TABLE = ".parquet"


class DamageError(Exception):
    """What is wrong with a file of a cell, in words."""


def as_json(values: Any) -> bytes:
    """Indented JSON. It ends with its last bracket, so that no truncated part of it is JSON."""
    return json_text(values, indent=2, allow_nan=False).encode()


def facts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """A manifest without what depends on the bytes of files."""
    return {name: value for name, value in manifest.items() if name not in _NOT_FACTS}


def read_manifest(data: bytes, key: str) -> dict[str, Any]:
    """The manifest of this cell, or `DamageError`."""
    try:
        manifest = parse_json(data)
    except SchemaError:
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
    try:
        both(saved.MANIFEST, saved.FACTS)(manifest, MANIFEST)
    except SchemaError as error:
        raise DamageError(str(error)) from None
    if manifest.get(SUM) != _sum(manifest):
        raise DamageError(f"{MANIFEST} has other contents than were written")
    return dict(manifest)


def _sum(manifest: Mapping[str, Any]) -> str:
    """A hash of all that a manifest says but the hash itself."""
    values = {name: value for name, value in manifest.items() if name != SUM}
    text = json.dumps(values, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return checksum(text.encode())


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
    return VeraxError(
        f"cell {key} of {shown} is damaged ({wrong}): run the study again", code="result.damaged"
    )


CELLS = "cells"
KEY = re.compile(r"[0-9a-f]{16}")
_TRIES = 3
"""Of writing a cell where filesystems have no locks; a later run notices what is wrong."""


class CellFolders:
    """Folders of cells. Nothing is cached: others may write at any time."""

    def __init__(self, where: StorageFolder) -> None:
        self.folder = where

    def keys(self) -> list[str]:
        """Keys of the cells that have a folder, complete or damaged."""
        if self.folder.is_local:
            return [name for name in self.folder.names(CELLS) if KEY.fullmatch(name)]
        paths = (name.split("/") for name in self.folder.sizes(CELLS))
        return sorted(
            {p[0] for p in paths if len(p) == 2 and p[1] == MANIFEST and KEY.fullmatch(p[0])}
        )

    def complete(self, key: str) -> bool:
        """Whether a cell has every file in its full length."""
        return self._damage(key, self.folder.sizes(f"{CELLS}/{key}"), contents=False) is None

    def verify(
        self, keys: Iterable[str] | None = None, contents: bool | None = None
    ) -> dict[str, str]:
        """Damaged cells by key, and what is wrong with each.

        Args:
            keys: the cells to look at, by default all.
            contents: compare checksums, not only lengths; by default on this machine only.
        """
        stored = self.keys()
        chosen = stored if keys is None else sorted(set(keys) & set(stored))
        contents = self.folder.is_local if contents is None else contents
        sizes: dict[str, dict[str, int]] = {key: {} for key in chosen}
        for name, size in self.folder.sizes(CELLS).items():
            key, _, rest = name.partition("/")
            if key in sizes:
                sizes[key][rest] = size
        with ThreadPoolExecutor(8) as pool:
            problems = pool.map(lambda key: self._damage(key, sizes[key], contents), chosen)
            return {k: p for k, p in zip(chosen, problems, strict=True) if p is not None}

    def manifest(self, key: str) -> dict[str, Any]:
        """A cell's facts, and its files with sizes and checksums."""
        try:
            return read_manifest(self._bytes(key, MANIFEST), key)
        except DamageError as error:
            raise damaged_cell(key, self.folder.shown, str(error)) from None

    def read(self, key: str, name: str, manifest: Mapping[str, Any] | None = None) -> bytes:
        """The contents of a finished cell's file; an error that names it if it was changed."""
        manifest = self.manifest(key) if manifest is None else manifest
        try:
            data = self._bytes(key, name)
            listed = {"files": {name: manifest["files"][name]}}
            wrong = damage(listed, {name: len(data)}, lambda _: data)
        except DamageError as error:
            wrong = str(error)
        if wrong is not None:
            raise damaged_cell(key, self.folder.shown, wrong)
        return data

    def cell(self, key: str) -> Cell:
        """What a finished cell is of; an error that names it if it was changed."""
        try:
            config = parse_json(self.read(key, CONFIG))
            check_cell(config, CONFIG, key)
        except SchemaError as error:
            raise damaged_cell(key, self.folder.shown, str(error)) from None
        return Cell.from_json(config)

    def commit(
        self,
        key: str,
        cell_json: Mapping[str, Any],
        files: Mapping[str, bytes],
        facts: Mapping[str, Any],
        left_out: Sequence[str] = (),
    ) -> None:
        """Put a finished cell into the store, all at once.

        A complete one stays as it is, whoever made it; a damaged one is replaced. `left_out` are
        tables that the cell had before it was packed without them, and `model`.
        """
        for name in files:
            if not is_inside(name) or name in (CONFIG, MANIFEST, CELL):
                raise ValueError(f"{name!r} cannot be the name of a cell's file")
        row = parquet_bytes(arrow_rows([cell_row(key, cell_json, facts)]))
        whole = {CONFIG: as_json(cell_json), CELL: row, **files}
        listed = {n: {"size": len(data), "sha256": checksum(data)} for n, data in whole.items()}
        manifest = {"format": FORMAT, "cell": key, **facts_of(facts), "files": listed}
        manifest |= {"left_out": list(left_out)} if left_out else {}
        manifest[SUM] = _sum(manifest)
        warn_unless(both(saved.MANIFEST, saved.FACTS), manifest, MANIFEST)
        whole[MANIFEST] = as_json(manifest)
        with self.folder.writing():
            if self.complete(key):
                pass
            elif self.folder.is_local:
                self._commit_by_rename(key, whole)
            else:
                self._commit_by_manifest(key, whole)
        self._committed(key)

    def _committed(self, key: str) -> None:
        """Called once a cell is in the store."""

    def _commit_by_manifest(self, key: str, files: Mapping[str, bytes]) -> None:
        """File by file, the manifest last; again if another runner wrote in between."""
        for _ in range(_TRIES):
            self.discard(key)
            for name, data in files.items():
                self.folder.write_bytes(f"{CELLS}/{key}/{name}", data)
            if not self.verify([key], contents=True):
                return

    def _commit_by_rename(self, key: str, files: Mapping[str, bytes]) -> None:
        assert self.folder.local is not None
        scratch = f"{SCRATCH}/{key}-{uuid.uuid4().hex}"
        filling, cells = self.folder.local / scratch, self.folder.local / CELLS
        cells.mkdir(exist_ok=True)
        try:
            for name, data in files.items():
                (filling / name).parent.mkdir(parents=True, exist_ok=True)
                write_and_sync(filling / name, data)
            for folder in {(filling / name).parent for name in files}:
                sync_folder(folder)
            while not self.complete(key):
                self.discard(key)
                try:
                    os.rename(filling, cells / key)
                    sync_folder(cells)
                    return
                except OSError as error:  # another runner was first: look at what it left
                    if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                        raise
        finally:
            self.folder.remove_folder(scratch)

    def discard(self, key: str) -> None:
        """Remove a damaged cell, all at once."""
        folder = f"{CELLS}/{key}"
        with self.folder.writing():
            if self.folder.local is None:
                self.folder.remove(f"{folder}/{MANIFEST}")
                self.folder.remove_folder(folder)
            elif self.folder.exists(folder):
                away = f"{SCRATCH}/{key}-{uuid.uuid4().hex}"
                (self.folder.local / SCRATCH).mkdir(exist_ok=True)
                try:
                    os.rename(self.folder.local / folder, self.folder.local / away)
                except FileNotFoundError:  # somebody else did
                    return
                self.folder.remove_folder(away)

    def sweep(self, key: str) -> None:
        """Remove what killed runners left of a cell; only while it is locked."""
        for name in self.folder.names(SCRATCH):
            if name.startswith(f"{key}-"):
                folder = f"{SCRATCH}/{name}"
                self.folder.remove_folder(folder)
                self.folder.remove(folder)

    def _bytes(self, key: str, name: str) -> bytes:
        try:
            with self.folder.reading(f"{CELLS}/{key}/{name}"):
                return self.folder.read_bytes(f"{CELLS}/{key}/{name}")
        except FileNotFoundError:
            raise DamageError(f"{name} is missing") from None

    def _damage(self, key: str, sizes: Mapping[str, int], contents: bool) -> str | None:
        if MANIFEST not in sizes:
            return f"{MANIFEST} is missing"
        try:
            manifest = read_manifest(self._bytes(key, MANIFEST), key)
            read = (lambda name: self._bytes(key, name)) if contents else None
            return damage(manifest, sizes, read)
        except DamageError as error:
            return str(error)

"""The cells of a store: a folder each, which appears when it is complete and not before.

On this machine a folder is written elsewhere and then renamed. Other filesystems cannot rename
folders: there the manifest is written last, and a folder without one is no cell.
"""

from __future__ import annotations

import errno
import os
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from verax.studies.store.folders import SCRATCH, StorageFolder, sync_folder, write_and_sync
from verax.studies.store.manifests import (
    CELL,
    CONFIG,
    MANIFEST,
    DamageError,
    as_json,
    checked,
    damage,
    damaged_cell,
    is_inside,
    make_manifest,
    read_manifest,
)
from verax.studies.store.rows import arrow_rows, cell_row, parquet_bytes

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
            return checked(manifest, name, self._bytes(key, name))
        except DamageError as error:
            raise damaged_cell(key, self.folder.shown, str(error)) from None

    def commit(
        self,
        key: str,
        cell_json: Mapping[str, Any],
        files: Mapping[str, bytes],
        facts: Mapping[str, Any],
        left_out: Sequence[str] = (),
    ) -> None:
        """Put a finished cell into the store, all at once.

        A complete one stays as it is, whoever made it; a damaged one is replaced.
        """
        for name in files:
            if not is_inside(name) or name in (CONFIG, MANIFEST, CELL):
                raise ValueError(f"{name!r} cannot be the name of a cell's file")
        row = parquet_bytes(arrow_rows([cell_row(key, cell_json, facts)]))
        whole = {CONFIG: as_json(cell_json), CELL: row, **files}
        whole[MANIFEST] = as_json(make_manifest(key, whole, facts, left_out))
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

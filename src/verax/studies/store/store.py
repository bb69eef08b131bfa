"""The store of a study: finished cells, definition, failures and locks, on any filesystem.

    STUDY/store.json, study.yaml                  what is studied
    STUDY/resolved.json                           the keys of all cells, and the configurations of
                                                  those that are not finished
    STUDY/cells/KEY/…                             a finished cell: manifest.json, tables, verdict
    STUDY/packed/…                                finished cells of a pack (`verax.studies.pack`)
    STUDY/failed/KEY.json                         why one failed
    STUDY/.locks/KEY, .scratch/                   who runs what; folders being filled

A cell appears when it is complete and not before. On this machine its folder is written elsewhere
and renamed. Other filesystems cannot rename folders: there the manifest is written last, and a
folder without one is no cell. The manifest has the cell's configuration, how it ran, and the size
and checksum of each file.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyarrow import parquet

from verax.errors import VeraxError
from verax.exams.described import MANIFEST as VERDICT_SCHEMA
from verax.files import json_text, refuse_foreign, write_and_sync
from verax.schema import SchemaError, checked_json, parse_json
from verax.scratch import sweep, sync_folder
from verax.studies.grid.cell import Cell
from verax.studies.grid.portable import portable_study
from verax.studies.store.folders import SCRATCH, CellLock, StorageFolder, lock_file, storage_folder
from verax.version import __version__

if TYPE_CHECKING:
    from verax.studies.store.archive import Archive

FORMAT = 3
"""The format of stores; any other is an error."""
STORE, STUDY, RESOLVED = "store.json", "study.yaml", "resolved.json"
CELLS, PACKED, FAILED_CELLS, LOCKS = "cells", "packed", "failed", ".locks"
_ALL = {STORE, STUDY, RESOLVED, CELLS, PACKED, FAILED_CELLS, LOCKS, SCRATCH}
MANIFEST, VERDICT, MODEL = "manifest.json", "verdict.json", "model"
KEY = re.compile(r"[0-9a-f]{16}")
UNCOMMITTED = "-dirty"
"""The end of a cell's commit if the package's files differed from it."""
DONE, FAILED, MISSING, DAMAGED = "done", "failed", "missing", "damaged"
_SUM = "sha256"
"""Where a file has a hash of all else in it."""
_NOT_FACTS = ("format", "cell", "config", "files", "left_out", _SUM)
_TABLE = ".parquet"
_TRIES = 3
"""Attempts to write a cell where filesystems have no locks; a later run notices what is wrong."""


class DamageError(Exception):
    """What is wrong with a file of a cell, in words."""


@dataclass(frozen=True)
class CellState:
    """The state of one cell.

    Attributes:
        status: done, failed, missing or damaged.
        config: its configuration.
        facts: how it ran, if it is done.
        tables: the names of its tables.
        wrong: what is damaged, in words.
        failure: its record, if it failed.
        left_out: tables that it had before it was packed without them, and `model`.
    """

    status: str
    config: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    tables: Sequence[str] = ()
    wrong: str | None = None
    failure: Mapping[str, Any] | None = None
    left_out: Sequence[str] = ()


class Cells(ABC):
    """Finished cells as they are stored: each in a folder of its own, or all in a pack."""

    @abstractmethod
    def keys(self) -> list[str]:
        """The keys of all cells, complete or damaged."""

    @abstractmethod
    def damage(self, keys: Iterable[str] | None = None, contents: bool = False) -> dict[str, str]:
        """Return damaged cells by key, and what is wrong with each.

        Args:
            keys: the cells to look at, by default all.
            contents: compare checksums, not only lengths.
        """

    def wrong(self, key: str, contents: bool = False) -> str | None:
        """What is wrong with a cell, or None."""
        return self.damage([key], contents).get(key)

    @abstractmethod
    def manifest(self, key: str) -> Mapping[str, Any]:
        """A cell's configuration, how it ran, and its files."""

    @abstractmethod
    def file(self, key: str, name: str) -> bytes:
        """The contents of a cell's file; an error that names it if it was changed."""

    @abstractmethod
    def table(self, key: str, name: str) -> pa.Table:
        """A table of a cell."""

    @abstractmethod
    def schema(self, key: str, name: str) -> pa.Schema:
        """The columns of a table, without reading its rows."""


class CellFolders(Cells):
    """The cells in `cells`, whose manifests are read anew unless `remember` was called."""

    def __init__(self, folder: StorageFolder) -> None:
        self._folder = folder
        self._manifests: Mapping[str, Mapping[str, Any]] = {}

    def keys(self) -> list[str]:
        if self._folder.local is not None:
            return [name for name in self._folder.names(CELLS) if KEY.fullmatch(name)]
        paths = (name.split("/") for name in self._folder.sizes(CELLS))
        return sorted(
            {p[0] for p in paths if len(p) == 2 and p[1] == MANIFEST and KEY.fullmatch(p[0])}
        )

    def damage(self, keys: Iterable[str] | None = None, contents: bool = False) -> dict[str, str]:
        return {k: found for k, found in self._scan(keys, contents) if isinstance(found, str)}

    def remember(self) -> tuple[Mapping[str, Mapping[str, Any]], dict[str, str]]:
        """Keep the manifests of now; return them, and what is wrong with damaged cells."""
        found = list(self._scan())
        self._manifests = {key: one for key, one in found if not isinstance(one, str)}
        return self._manifests, {key: one for key, one in found if isinstance(one, str)}

    def wrong(self, key: str, contents: bool = False) -> str | None:
        found = self._checked(key, self._folder.sizes(f"{CELLS}/{key}"), contents)
        return found if isinstance(found, str) else None

    def manifest(self, key: str) -> Mapping[str, Any]:
        if key in self._manifests:
            return self._manifests[key]
        try:
            return self._read_manifest(key)
        except DamageError as error:
            raise damaged_cell(key, self._folder.shown, str(error)) from None

    def file(self, key: str, name: str) -> bytes:
        manifest = self.manifest(key)
        try:
            data = self._bytes(key, name)
            listed = {name: manifest["files"][name]}
            wrong = damage(listed, {name: len(data)}, lambda _: data)
        except DamageError as error:
            wrong = str(error)
        if wrong is not None:
            raise damaged_cell(key, self._folder.shown, wrong)
        return data

    def table(self, key: str, name: str) -> pa.Table:
        data = self.file(key, table_file(name))
        try:
            return parquet.ParquetFile(pa.BufferReader(data)).read()
        except (OSError, pa.ArrowException):
            raise self._no_table(key, name) from None

    def schema(self, key: str, name: str) -> pa.Schema:
        try:
            with self._folder.open(f"{CELLS}/{key}/{table_file(name)}") as opened:
                return parquet.read_schema(opened)
        except (OSError, pa.ArrowException):
            raise self._no_table(key, name) from None

    def _no_table(self, key: str, name: str) -> VeraxError:
        return damaged_cell(key, self._folder.shown, f"{table_file(name)} is not Parquet")

    def _bytes(self, key: str, name: str) -> bytes:
        try:
            with self._folder.reading(f"{CELLS}/{key}/{name}"):
                return self._folder.read_bytes(f"{CELLS}/{key}/{name}")
        except FileNotFoundError:
            raise DamageError(f"{name} is missing") from None

    def _read_manifest(self, key: str) -> dict[str, Any]:
        manifest = unsealed(self._bytes(key, MANIFEST), MANIFEST)
        if manifest["cell"] != key:
            raise DamageError(f"{MANIFEST} is of another cell")
        if not all(map(is_inside, manifest["files"])):
            raise DamageError(f"{MANIFEST} names a file outside of the cell's folder")
        return manifest

    def _scan(
        self, keys: Iterable[str] | None = None, contents: bool = False
    ) -> Iterator[tuple[str, dict[str, Any] | str]]:
        """Yield the manifest of each cell, or what is wrong with it."""
        own = self.keys()
        chosen = own if keys is None else sorted(set(keys) & set(own))
        sizes: dict[str, dict[str, int]] = {key: {} for key in chosen}
        for name, size in self._folder.sizes(CELLS).items():
            key, _, rest = name.partition("/")
            if key in sizes:
                sizes[key][rest] = size
        with ThreadPoolExecutor(8) as pool:
            found = pool.map(lambda key: self._checked(key, sizes[key], contents), chosen)
            yield from zip(chosen, found, strict=True)

    def _checked(self, key: str, sizes: Mapping[str, int], contents: bool) -> dict[str, Any] | str:
        """A cell's manifest, or what is wrong with the cell."""
        if MANIFEST not in sizes:
            return f"{MANIFEST} is missing"
        try:
            manifest = self._read_manifest(key)
            read = (lambda name: self._bytes(key, name)) if contents else None
            return damage(manifest["files"], sizes, read) or manifest
        except DamageError as error:
            return str(error)


@dataclass(frozen=True, eq=False)
class Source:
    """What results are read from: the cells of a store, of a pack, or of several of them.

    Attributes:
        shown: the folder as the user wrote it.
        about: the content of `store.json`.
        resolved: the study with all defaults, and the configuration of each of its cells.
        states: the study's cells in its own order, then others of the folder.
        holders: where each finished cell is.
        text: returns the study as it was given.
    """

    shown: str
    about: Mapping[str, Any]
    resolved: Mapping[str, Any]
    states: Mapping[str, CellState] = field(repr=False)
    holders: Mapping[str, Cells] = field(repr=False)
    text: Callable[[], str] = field(repr=False)

    @classmethod
    def joined(cls, sources: Sequence[Source]) -> Source:
        """The cells of several sources; the first that has finished a cell provides it."""
        first = sources[0]
        names = dict.fromkeys(str(source.resolved["name"]) for source in sources)
        cells = {k: c for source in reversed(sources) for k, c in source.resolved["cells"].items()}
        states: dict[str, CellState] = {}
        for source in sources:
            for key, state in source.states.items():
                if key not in states or (states[key].status != DONE and state.status == DONE):
                    states[key] = state
        return cls(
            ", ".join(source.shown for source in sources),
            first.about,
            {**first.resolved, "name": ", ".join(names), "cells": cells},
            states,
            {k: holder for source in reversed(sources) for k, holder in source.holders.items()},
            first.text,
        )

    def files(self, key: str) -> list[str]:
        """The names of a finished cell's files."""
        return list(self.holders[key].manifest(key)["files"])

    def file(self, key: str, name: str) -> bytes:
        """The contents of a finished cell's file, compared with its checksum."""
        return self.holders[key].file(key, name)

    def table(self, key: str, name: str) -> pa.Table:
        """A table of a finished cell."""
        return self.holders[key].table(key, name)

    def schema(self, key: str, name: str) -> pa.Schema:
        """The columns of a table, without reading its rows."""
        return self.holders[key].schema(key, name)

    def verdict(self, key: str) -> Mapping[str, Any]:
        """The manifest of a finished cell's verdict."""
        if VERDICT not in self.files(key):
            raise damaged_cell(key, self.shown, f"{VERDICT} is missing")
        try:
            return dict(checked_json(self.file(key, VERDICT), VERDICT_SCHEMA, VERDICT))
        except SchemaError as error:
            raise damaged_cell(key, self.shown, str(error)) from None

    def model(self, key: str) -> dict[str, bytes]:
        """The files of a finished cell's model, if it was kept."""
        start = f"{MODEL}/"
        names = [name for name in self.files(key) if name.startswith(start)]
        return {name.removeprefix(start): self.file(key, name) for name in names}


class Store:
    """The folder of a study, in which each finished cell is committed atomically.

    Nothing is cached but the pack: others may write at any time.
    """

    def __init__(self, where: StorageFolder, about: Mapping[str, Any]) -> None:
        self.folder, self.about = where, about
        self._discarded: set[str] = set()

    def __repr__(self) -> str:
        return f"Store({self.name} in {self.folder.shown})"

    @property
    def name(self) -> str:
        return str(self.about["name"])

    @property
    def format(self) -> int:
        return int(self.about["format"])

    @classmethod
    def open(cls, folder: str | os.PathLike[str] | StorageFolder, filesystem: Any = None) -> Store:
        """Open the store in a folder; an error if there is none that this version reads."""
        where = storage_folder(folder, filesystem)
        try:
            with where.reading(STORE):
                about = parse_json(where.read_bytes(STORE))
            version, maker = about["format"], about["verax"]
            about = {**about, "name": str(about["name"])}
        except FileNotFoundError:
            if packed := _packed_in(where):
                return cls(where, packed.about)
            raise VeraxError(
                f"{where.shown} is not a study: expected a folder that verax run wrote",
                code="result.missing",
            ) from None
        except (SchemaError, LookupError, TypeError) as error:
            raise VeraxError(
                f"{STORE} of {where.shown} cannot be read: delete it and run the study again, "
                "its cells are kept",
                code="result.damaged",
            ) from error
        if version != FORMAT:
            raise VeraxError(
                f"{where.shown} has format {version!r:.60} (of Verax {maker!s:.60}), this Verax "
                f"reads {FORMAT}: update Verax, or run the study anew in another folder",
                code="result.other-format",
            )
        return cls(where, about)

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str] | StorageFolder,
        study_name: str,
        study_text: str,
        resolved: Mapping[str, Any],
        filesystem: Any = None,
    ) -> Store:
        """Make the store of a study, or open it again.

        Files that are already there as they should be are not written.

        Args:
            folder: a path, a URL, or a path in `filesystem`.
            study_name: the name of the study.
            study_text: the study as it was given; it is stored without the folders of its files.
            resolved: the study with all defaults, and the configuration of each of its cells.
            filesystem: an fsspec or pyarrow filesystem.
        """
        where = storage_folder(folder, filesystem)
        cls.refuse_other(where, study_name)
        if not where.exists(STORE):
            about = {"format": FORMAT, "verax": __version__, "name": study_name}
            with where.writing():
                where.write_bytes(STORE, as_json(about) + b"\n")
        store = cls.open(where)
        store._write(STUDY, portable_study(study_text).encode())
        own = CellFolders(where).remember()[0]
        store._write_plan(resolved, {*own, *store._packed_keys()})
        return store

    @classmethod
    def refuse_other(
        cls, folder: str | os.PathLike[str] | StorageFolder, study_name: str, filesystem: Any = None
    ) -> None:
        """Raise an error if the folder holds something else than this study."""
        where = storage_folder(folder, filesystem)
        if where.local is not None:
            refuse_foreign(where.local, lambda _: _is_ours(where), replaced=False)
        elif not _is_ours(where):
            raise VeraxError(
                f"cannot write {where.shown}: it holds other files, give a new or an empty folder",
                code="output.occupied",
            )
        stored = [cls.open(where)] if where.exists(STORE) else []
        names = {one.about["name"] for one in (*stored, _packed_in(where)) if one is not None}
        for name in names - {study_name}:
            raise VeraxError(
                f"{where.shown} holds study {name!r}, this one is {study_name!r}: give "
                "another folder",
                code="output.occupied",
            )

    def text(self) -> str:
        """The study as it was given, without the folders of its files."""
        try:
            return self._top(STUDY).decode()
        except UnicodeDecodeError as error:
            raise VeraxError(
                f"{STUDY} of {self.folder.shown} is not UTF-8 text: run the study again, its cells "
                "are kept",
                code="result.damaged",
            ) from error

    def resolved(self) -> dict[str, Any]:
        """The study with all defaults, and the configuration of each of its cells by key."""
        return dict(self.source().resolved)

    def settle(self) -> None:
        """Drop the configurations of finished cells from `resolved.json`: manifests have them."""
        source = self.source()
        self._write_plan(source.resolved, source.holders)

    def source(self) -> Source:
        """What results are read from: the cells as they are now."""
        plan, failures, own = self._plan(), self.failures(), CellFolders(self.folder)
        manifests, wrong = own.remember()
        holders: dict[str, Cells] = dict.fromkeys(manifests, own)
        packed: dict[str, CellState] = {}
        if self.packed is not None:
            damaged = {k: w for k, w in self.packed.damage().items() if k not in manifests}
            wrong = damaged | wrong
            packed = {key: self.packed.states[key] for key in self.packed.done}
            holders = dict.fromkeys(packed.keys() - wrong.keys(), self.packed) | holders

        def state(key: str) -> CellState:
            if key in manifests:
                manifest = manifests[key]
                tables = tables_in(manifest["files"])
                return CellState(DONE, manifest["config"], facts_of(manifest), tables)
            config = packed[key].config if key in packed else plan["cells"].get(key) or {}
            if key in wrong:
                return CellState(DAMAGED, config, wrong=wrong[key])
            if key in packed:
                return packed[key]
            if key in failures:
                return CellState(FAILED, config, failure=failures[key])
            return CellState(MISSING, config)

        listed = {key: state(key) for key in plan["cells"]}
        states = listed | {key: state(key) for key in holders if key not in listed}
        cells = {key: state.config for key, state in listed.items()}
        plan = {**plan, "cells": cells}
        return Source(self.folder.shown, self.about, plan, states, holders, self.text)

    @cached_property
    def packed(self) -> Archive | None:
        """The pack in the folder `packed`, whose cells are as good as those of `cells`."""
        return _packed_in(self.folder)

    def keys(self) -> list[str]:
        """The keys of all stored cells, complete or damaged."""
        return sorted({*CellFolders(self.folder).keys(), *self._packed_keys()})

    def complete(self, key: str) -> bool:
        """Whether a cell has every file in its full length."""
        return self._holder(key).wrong(key) is None

    def verify(
        self, keys: Iterable[str] | None = None, contents: bool | None = None
    ) -> dict[str, str]:
        """Return damaged cells by key, and what is wrong with each.

        Args:
            keys: the cells to look at, by default all.
            contents: compare checksums, not only lengths; by default on this machine only.
        """
        contents = self.folder.is_local if contents is None else contents
        keys = self.keys() if keys is None else set(keys)
        own = CellFolders(self.folder)
        wrong = own.damage(keys, contents)
        packed = self._packed_keys().intersection(keys).difference(own.keys())
        if packed and self.packed is not None:
            wrong |= self.packed.damage(packed, contents)
        return wrong

    def manifest(self, key: str) -> Mapping[str, Any]:
        """A cell's configuration, how it ran, and its files with sizes and checksums."""
        return self._holder(key).manifest(key)

    def read(self, key: str, name: str) -> bytes:
        """The contents of a finished cell's file; an error that names it if it was changed."""
        return self._holder(key).file(key, name)

    def cell(self, key: str) -> Cell:
        """The configuration of a finished cell."""
        return Cell.from_json(self.manifest(key)["config"])

    def commit(
        self,
        key: str,
        cell_json: Mapping[str, Any],
        files: Mapping[str, bytes],
        facts: Mapping[str, Any],
    ) -> None:
        """Put a finished cell into the store atomically.

        A complete one stays as it is, whoever made it; a damaged one is replaced.
        """
        for name in files:
            if not is_inside(name) or name == MANIFEST:
                raise ValueError(f"{name!r} cannot be the name of a cell's file")
        listed = {n: {"size": len(data), "sha256": checksum(data)} for n, data in files.items()}
        manifest = {"format": FORMAT, "cell": key, "config": cell_json, **facts_of(facts)}
        manifest["files"] = listed
        whole = {**files, MANIFEST: sealed(manifest)}
        with self.folder.writing():
            if self.complete(key):
                pass
            elif self.folder.is_local:
                self._commit_by_rename(key, whole)
            else:
                self._commit_by_manifest(key, whole)
        self.forgive(key)

    def _commit_by_manifest(self, key: str, files: Mapping[str, bytes]) -> None:
        """File by file, the manifest last; again if another runner wrote in between."""
        for _ in range(_TRIES):
            self.discard(key)
            for name, data in files.items():
                self.folder.write_bytes(f"{CELLS}/{key}/{name}", data)
            if CellFolders(self.folder).wrong(key, contents=True) is None:
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
        """Remove a damaged cell atomically. One of a pack is ignored from now on."""
        self._discarded.add(key)
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

    def fail(self, key: str, record: Mapping[str, Any]) -> None:
        """Record why a cell failed."""
        with self.folder.writing():
            self.folder.write_bytes(f"{FAILED_CELLS}/{key}.json", as_json(record) + b"\n")

    def failures(self) -> dict[str, dict[str, Any]]:
        """Records of failed cells; one that cannot be read is a failure to retry."""
        names = self.folder.names(FAILED_CELLS)
        keys = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        stored = set(self.keys()) if keys else set()
        failures = {}
        for key in keys:
            if KEY.fullmatch(key) and key not in stored:
                unread = {"cell": key, "reason": "error", "error": "its record cannot be read"}
                try:
                    record = parse_json(self.folder.read_bytes(f"{FAILED_CELLS}/{key}.json"))
                except FileNotFoundError:  # forgiven by another runner
                    continue
                except (SchemaError, OSError):
                    record = None
                failures[key] = record if isinstance(record, dict) else unread
        return failures

    def forgive(self, key: str) -> None:
        """Remove the record of a failure."""
        with self.folder.writing():
            self.folder.remove(f"{FAILED_CELLS}/{key}.json")

    def lock(self, key: str) -> CellLock | None:
        """The right to run a cell, or None while another process has it.

        It ends with `release` or with this process. Filesystems other than this machine's have no
        locks: there two runners may run the same cell, and the first complete one stays.
        """
        if self.folder.local is None:
            return CellLock()
        return lock_file(self.folder.local / LOCKS / key)

    def sweep(self, key: str) -> None:
        """Remove what killed runners left of a cell; only while it is locked."""
        for name in self.folder.names(SCRATCH):
            if name.startswith(f"{key}-"):
                folder = f"{SCRATCH}/{name}"
                self.folder.remove_folder(folder)
                self.folder.remove(folder)

    def sweep_all(self) -> None:
        """Remove what killed runners left, except for cells that another runner has."""
        if self.folder.local is None:
            return
        sweep(self.folder.local / SCRATCH)
        for name in self.folder.names(SCRATCH):
            key = name.partition("-")[0]
            lock = self.lock(key) if KEY.fullmatch(key) else None
            if lock is not None:
                with lock:
                    self.sweep(key)

    def _packed_keys(self) -> set[str]:
        """The keys of packed cells that nobody found to be damaged."""
        return set() if self.packed is None else set(self.packed.done) - self._discarded

    def _holder(self, key: str) -> Cells:
        """Where a cell is: in a folder of its own, or else in the pack."""
        in_pack = key in self._packed_keys() and not self.folder.exists(f"{CELLS}/{key}")
        return self.packed if in_pack and self.packed is not None else CellFolders(self.folder)

    def _write_plan(self, resolved: Mapping[str, Any], kept: Collection[str]) -> None:
        """Write `resolved.json`, without the configurations of kept cells."""
        cells = {k: None if k in kept else c or None for k, c in resolved.get("cells", {}).items()}
        self._write(RESOLVED, sealed({**resolved, "cells": cells}) + b"\n")

    def _plan(self) -> dict[str, Any]:
        try:
            return unsealed(self._top(RESOLVED), RESOLVED)
        except DamageError as error:
            raise VeraxError(
                f"{RESOLVED} of {self.folder.shown} cannot be read: run the study again, its cells "
                f"are kept ({error})",
                code="result.damaged",
            ) from None

    def _write(self, name: str, data: bytes) -> None:
        """Write one of the store's own files, unless it is there as it should be."""
        with self.folder.writing():
            if not self.folder.exists(name) or self.folder.read_bytes(name) != data:
                self.folder.write_bytes(name, data)

    def _top(self, name: str) -> bytes:
        try:
            with self.folder.reading(name):
                return self.folder.read_bytes(name)
        except FileNotFoundError:
            raise VeraxError(
                f"{name} of {self.folder.shown} is missing: run the study again, its cells "
                "are kept",
                code="result.damaged",
            ) from None


def as_json(values: Any) -> bytes:
    """Indented JSON. It ends with its last bracket, so that no truncated part of it is JSON."""
    return json_text(values, indent=2, allow_nan=False).encode()


def facts_of(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """How a cell ran: its manifest without configuration and files."""
    return {name: value for name, value in manifest.items() if name not in _NOT_FACTS}


def sealed(values: Mapping[str, Any]) -> bytes:
    """JSON with a hash of itself."""
    return as_json({**values, _SUM: sum_of(values)})


def unsealed(data: bytes, name: str) -> dict[str, Any]:
    """The values that were sealed, or `DamageError`."""
    try:
        values = parse_json(data)
    except SchemaError:
        raise DamageError(f"{name} is not JSON") from None
    if not isinstance(values, dict) or values.get(_SUM) != sum_of(values):
        raise DamageError(f"{name} has other contents than were written")
    return {name: value for name, value in values.items() if name != _SUM}


def sum_of(values: Mapping[str, Any]) -> str:
    """A hash of values, but for the hash itself."""
    told = {name: value for name, value in values.items() if name != _SUM}
    written = json.dumps(told, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return checksum(written.encode())


def damage(
    files: Mapping[str, Any],
    sizes: Mapping[str, int],
    read: Callable[[str], bytes] | None = None,
) -> str | None:
    """What is wrong with files, or None; with `read`, checksums are compared too.

    Args:
        files: size and checksum of each file, by name.
        sizes: the sizes of the files that are there, by name.
        read: reads a file.
    """
    problems = []
    for name, entry in files.items():
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
    return sorted(name.stem for name in names if name.suffix == _TABLE)


def table_file(table: str) -> str:
    return f"{table}{_TABLE}"


def damaged_cell(key: str, shown: str, wrong: str) -> VeraxError:
    """An error for the user about a damaged cell."""
    return VeraxError(
        f"cell {key} of {shown} is damaged ({wrong}): run the study again", code="result.damaged"
    )


def _packed_in(where: StorageFolder) -> Archive | None:
    """The pack in a study's folder."""
    from verax.studies.store.archive import FIRST, Archive

    packed = where.inside(PACKED)
    return Archive(packed) if packed.exists(FIRST) else None


def _is_ours(where: StorageFolder) -> bool:
    """Whether a folder is a store, or one whose runner was killed while it made it."""
    names = set(where.names())
    return STORE in names or names <= _ALL

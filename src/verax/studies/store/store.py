"""The store of a study: its cells, its definition, failures and locks.

STUDY/store.json, study.yaml, resolved.json   what is studied
STUDY/cells/KEY/…                             a finished cell
STUDY/failed/KEY.json                         why one failed
STUDY/.locks/KEY, .scratch/                   who runs what; folders being filled
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from verax.errors import VeraxError
from verax.files import refuse_foreign
from verax.schema import SchemaError, checked_json, parse_json
from verax.scratch import sweep
from verax.studies.grid.portable import portable_study
from verax.studies.store import saved
from verax.studies.store.cells import CELLS, FORMAT, KEY, CellFolders, as_json
from verax.studies.store.folders import SCRATCH, CellLock, StorageFolder, lock_file, storage_folder
from verax.version import __version__

STORE, STUDY, RESOLVED = "store.json", "study.yaml", "resolved.json"
FAILED, LOCKS = "failed", ".locks"
_ALL = {STORE, STUDY, RESOLVED, CELLS, FAILED, LOCKS, SCRATCH}


class Store(CellFolders):
    """The folder of a study, in which each finished cell is committed atomically."""

    def __init__(self, where: StorageFolder, about: Mapping[str, Any]) -> None:
        super().__init__(where)
        self.about = about

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
        """The store in a folder; an error where there is none that this Verax reads."""
        where = storage_folder(folder, filesystem)
        try:
            with where.reading(STORE):
                about = parse_json(where.read_bytes(STORE))
            version = about["format"]
            named, maker = str(about["name"]), about["verax"]
            if version == FORMAT:
                saved.STORE(about, STORE)
        except FileNotFoundError:
            raise VeraxError(
                f"{where.shown} is not a study: expected a folder that verax run wrote",
                code="result.missing",
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, VeraxError):
                raise
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
        return cls(where, {**about, "name": named})

    @classmethod
    def create(
        cls,
        folder: str | os.PathLike[str] | StorageFolder,
        study_name: str,
        text: str,
        resolved: Mapping[str, Any],
        filesystem: Any = None,
    ) -> Store:
        """The store of a study: made, or opened again if it is there.

        `text` is the study as it was given; it is kept without the folders of its files. What is
        there already as it should be is not written.
        """
        where = storage_folder(folder, filesystem)
        cls.refuse_other(where, study_name)
        if not where.exists(STORE):
            about = {"format": FORMAT, "verax": __version__, "name": study_name}
            with where.writing():
                where.write_bytes(STORE, as_json(about) + b"\n")
        store = cls.open(where)
        with where.writing():
            study = portable_study(text).encode()
            for name, data in ((STUDY, study), (RESOLVED, as_json(resolved) + b"\n")):
                if not where.exists(name) or where.read_bytes(name) != data:
                    where.write_bytes(name, data)
        return store

    @classmethod
    def refuse_other(
        cls, folder: str | os.PathLike[str] | StorageFolder, study_name: str, filesystem: Any = None
    ) -> None:
        """Raise where `create` would: the folder holds something else than this study."""
        where = storage_folder(folder, filesystem)
        if where.local is not None:
            refuse_foreign(where.local, lambda _: _is_ours(where), replaced=False)
        elif not _is_ours(where):
            raise VeraxError(
                f"cannot write {where.shown}: it holds other files, give a new or an empty folder",
                code="output.occupied",
            )
        if where.exists(STORE) and (name := cls.open(where).name) != study_name:
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
        """The study with every default spelt out, and its cells by key."""
        try:
            return dict(checked_json(self._top(RESOLVED), saved.resolved, RESOLVED))
        except SchemaError as error:
            raise VeraxError(
                f"{RESOLVED} of {self.folder.shown} cannot be read: run the study again, its cells "
                f"are kept ({error})",
                code="result.damaged",
            ) from error

    def _committed(self, key: str) -> None:
        self.forgive(key)

    def fail(self, key: str, record: Mapping[str, Any]) -> None:
        """Record why a cell failed."""
        with self.folder.writing():
            self.folder.write_bytes(f"{FAILED}/{key}.json", as_json(record) + b"\n")

    def failures(self) -> dict[str, dict[str, Any]]:
        """Records of failed cells; one that cannot be read is a failure to retry."""
        keys = [n.removesuffix(".json") for n in self.folder.names(FAILED) if n.endswith(".json")]
        stored = set(self.keys()) if keys else set()
        failures = {}
        for key in keys:
            if KEY.fullmatch(key) and key not in stored:
                try:
                    data = self.folder.read_bytes(f"{FAILED}/{key}.json")
                    record = checked_json(data, saved.FAILURE, f"{key}.json")
                except FileNotFoundError:  # forgiven by another runner
                    continue
                except (SchemaError, OSError):
                    record = None
                unread = {"cell": key, "reason": "error", "error": "its record cannot be read"}
                failures[key] = record if isinstance(record, dict) else unread
        return failures

    def forgive(self, key: str) -> None:
        """Remove the record of a failure."""
        with self.folder.writing():
            self.folder.remove(f"{FAILED}/{key}.json")

    def lock(self, key: str) -> CellLock | None:
        """The right to run a cell, or None while somebody else has it.

        It ends with `release` or with this process. Filesystems other than this machine's have no
        locks: there two runners may run the same cell, and the first complete one stays.
        """
        if self.folder.local is None:
            return CellLock()
        return lock_file(self.folder.local / LOCKS / key)

    def sweep_all(self) -> None:
        """Remove what killed runners left, but of cells that another runner has."""
        if self.folder.local is None:
            return
        sweep(self.folder.local / SCRATCH)
        for name in self.folder.names(SCRATCH):
            key = name.partition("-")[0]
            lock = self.lock(key) if KEY.fullmatch(key) else None
            if lock is not None:
                with lock:
                    self.sweep(key)

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


def _is_ours(where: StorageFolder) -> bool:
    """Whether a folder is a store, or one whose runner was killed while it made it."""
    names = set(where.names())
    return STORE in names or names <= _ALL

"""A store as a source of results; `verax.studies.store.packed` has that of packed studies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from verax.errors import VeraxError
from verax.schema import SchemaError, parse_json
from verax.studies.function_cell import check_cell
from verax.studies.store import saved
from verax.studies.store.cells import (
    CELLS,
    CONFIG,
    MODEL,
    VERDICT,
    damaged_cell,
    facts_of,
    table_file,
    tables_in,
)
from verax.studies.store.store import Store

DONE, FAILED, MISSING, DAMAGED = "done", "failed", "missing", "damaged"


@dataclass(frozen=True)
class CellState:
    """The state of one cell.

    facts     of its manifest, where it is done
    tables    their names
    wrong     what is damaged, in words
    failure   its record, where it failed
    left_out  tables it had before it was packed without them, and `model`
    """

    status: str
    config: Mapping[str, Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    tables: Sequence[str] = ()
    wrong: str | None = None
    failure: Mapping[str, Any] | None = None
    left_out: Sequence[str] = ()


class StoreSource:
    """A store, read file by file, each compared with its checksum.

    `states` has the study's cells in its own order, then others of the folder.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.shown, self.format, self.about = store.folder.shown, store.format, store.about
        self.resolved = store.resolved()
        self._manifests: dict[str, Any] = {}
        self.states = self._states()

    def _states(self) -> dict[str, CellState]:
        store, configs = self._store, dict(self.resolved["cells"])
        stored, failures = set(store.keys()), store.failures()
        wrong = store.verify(stored, contents=False)
        undamaged = sorted(stored - set(wrong))
        with ThreadPoolExecutor(8) as pool:
            self._manifests = dict(zip(undamaged, pool.map(store.manifest, undamaged), strict=True))
        for key in undamaged:
            if key not in configs:
                with suppress(VeraxError, SchemaError):  # a cell of no study may be damaged
                    config = parse_json(self.file(key, CONFIG))
                    check_cell(config, CONFIG, key)
                    configs[key] = config
        states = {}
        for key, config in configs.items():
            if key in wrong:
                states[key] = CellState(DAMAGED, config, wrong=wrong[key])
            elif key in stored:
                manifest = self._manifests[key]
                states[key] = CellState(
                    DONE,
                    config,
                    facts_of(manifest),
                    tables_in(manifest["files"]),
                    left_out=manifest.get("left_out", ()),
                )
            elif key in failures:
                states[key] = CellState(FAILED, config, failure=failures[key])
            else:
                states[key] = CellState(MISSING, config)
        return states

    def text(self) -> str:
        """The study as it was given."""
        return self._store.text()

    def file(self, key: str, name: str) -> bytes:
        return self._store.read(key, name, self._manifests[key])

    def files(self, key: str) -> list[str]:
        return list(self._manifests[key]["files"])

    def table(self, key: str, name: str) -> pa.Table:
        data = self.file(key, table_file(name))
        try:
            return parquet.ParquetFile(pa.BufferReader(data)).read()
        except (OSError, pa.ArrowException):
            raise damaged_cell(key, self.shown, f"{table_file(name)} is not Parquet") from None

    def schema(self, key: str, name: str) -> pa.Schema:
        """A table's columns, of which no row is read."""
        file = table_file(name)
        try:
            with self._store.folder.open(f"{CELLS}/{key}/{file}") as opened:
                return parquet.read_schema(opened)
        except (OSError, pa.ArrowException):
            raise damaged_cell(key, self.shown, f"{file} is not Parquet") from None

    def verdict(self, key: str) -> Mapping[str, Any]:
        if VERDICT not in self._manifests[key]["files"]:
            raise damaged_cell(key, self.shown, f"{VERDICT} is missing")
        try:
            return saved.read_verdict(self.file(key, VERDICT))
        except SchemaError as error:
            raise damaged_cell(key, self.shown, str(error)) from None

    def model(self, key: str) -> dict[str, bytes]:
        start = f"{MODEL}/"
        names = [name for name in self.files(key) if name.startswith(start)]
        return {name.removeprefix(start): self.file(key, name) for name in names}

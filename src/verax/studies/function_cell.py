"""One call of a function of a grid: its key, what it reads, and how a worker makes it."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.files import stamp
from verax.plugin_files import PluginFile, import_plugins, imported_plugins, resolve
from verax.progress import Reporting
from verax.studies.engines import engine
from verax.studies.grid.cell import Cell
from verax.studies.grid.study import Hardware

VALUES = "values.json"
"""The file of a cell that holds what is neither a table nor a file."""
_OWN = frozenset({"manifest.json", "verdict.json", VALUES})
_RESERVED_TABLES = frozenset({"cells", "files"})


@dataclass(frozen=True)
class FunctionCell:
    """A function with one configuration.

    Attributes:
        function: its name, `module:function`, without the folders of a file.
        version: its version; see `verax.run_grid`.
        config: the argument, a mapping of JSON.
        inputs: hashes of what else it reads, by parameter.
    """

    function: str
    version: int
    config: Mapping[str, Any] = field(hash=False)
    inputs: Mapping[str, str] = field(default_factory=dict, hash=False)

    @cached_property
    def key(self) -> str:
        """A hash of the function's name, its version, the configuration and the inputs."""
        values = json.dumps(
            self.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True
        )
        return hashlib.sha256(values.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, Any]:
        """The cell as it is stored."""
        values = {"function": self.function, "version": self.version, "config": dict(self.config)}
        return {**values, "inputs": dict(self.inputs)} if self.inputs else values


AnyCell = Cell | FunctionCell


@dataclass(frozen=True)
class FileInput:
    """A file or a folder with a hash of its content.

    Attributes:
        path: where it is on the machine that started the grid.
        digest: the hash; the names of files in a folder enter it, that of the input does not.
        content: its files by relative name, for workers on other machines.
    """

    path: str
    digest: str
    content: Mapping[str, bytes] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, path: str | os.PathLike[str], *, send: bool = False) -> FileInput:
        """Read a file or a folder.

        Args:
            path: the file or folder.
            send: whether workers are on other machines, so that they need the content.
        """
        place = Path(path).expanduser().absolute()
        try:
            content = {n: f.read_bytes() for n, f in _files(place).items()} if send else None
            return cls(str(place), _digest_of(place), content)
        except OSError as error:
            raise VeraxError(
                f"cannot read {error.filename}: {error.strerror}", code="file.unreadable"
            ) from error

    @contextmanager
    def at_hand(self) -> Iterator[Path]:
        """The path at which a worker finds the content."""
        place = Path(self.path)
        if self.content is None:
            if _digest_of(place) != self.digest:
                raise VeraxError(
                    f"{place.name} has changed since the grid was started: run the grid again",
                    code="file.unreadable",
                )
            yield place
            return
        with tempfile.TemporaryDirectory(prefix="verax-") as scratch:
            copy = Path(scratch) / place.name
            for name, data in self.content.items():
                file = copy / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            yield copy


@dataclass(frozen=True)
class FunctionJob:
    """A call for an engine to make.

    Attributes:
        cell: the function and its argument.
        name: the name by which a worker imports the function.
        files: its inputs by parameter, except a corpus.
        corpus: the parameter that takes the corpus; empty if it needs none.
        max_tokens: passed to a function that has a parameter of this name, if it is not None.
        plugins: files that a worker imports first; by default those imported in this process.
    """

    cell: FunctionCell
    name: str
    files: Mapping[str, FileInput] = field(default_factory=dict, repr=False)
    corpus: str = ""
    max_tokens: int | None = None
    plugins: Sequence[PluginFile] = field(default_factory=imported_plugins, repr=False)

    def run(
        self,
        corpus: Corpus | None,
        *,
        device: str,
        report: Callable[[engine.Progressed], None],
    ) -> engine.Finished | engine.Failed:
        """Call the function."""
        from verax.studies.engines.machine import surroundings
        from verax.studies.engines.performing import failure

        key, clock = self.cell.key, time.monotonic()
        started = datetime.now(UTC).isoformat(timespec="seconds")
        try:
            import_plugins(self.plugins)
            function = self._function()
            display = Reporting(lambda *step: report(engine.Progressed(key, *step)))
            available: dict[str, Any] = {"device": device, "progress": display}
            if self.max_tokens is not None:
                available["max_tokens"] = self.max_tokens
            accepted = inspect.signature(function).parameters
            keywords = {name: value for name, value in available.items() if name in accepted}
            config = json.loads(json.dumps(self.cell.config))
            with ExitStack() as stack:
                for name, file in self.files.items():
                    keywords[name] = stack.enter_context(file.at_hand())
                if self.corpus:
                    keywords[self.corpus] = corpus
                files = files_of(function(config, **keywords), key)
        except (Exception, SystemExit, GeneratorExit) as error:
            return failure(key, error)
        facts = {
            **surroundings(device),
            "seconds": {"total": round(time.monotonic() - clock, 3)},
            "started": started,
            "finished": datetime.now(UTC).isoformat(timespec="seconds"),
        }
        return engine.Finished(key, files, facts)

    def _function(self) -> Callable[..., Any]:
        function, version = resolve(self.name)
        if version != self.cell.version:
            raise VeraxError(
                f"{self.cell.function} has version {version} in the worker and "
                f"{self.cell.version} where the grid was started: install the same version",
                code="plugin.invalid",
            )
        return function


@dataclass(frozen=True, eq=False)
class FunctionGrid:
    """A function and its configurations, for a `Runner`; `inputs` are by their hashes."""

    name: str
    function: str
    cells: tuple[FunctionCell, ...] = field(repr=False)
    hardware: Hardware
    labels: Mapping[str, str] = field(repr=False)
    inputs: Mapping[str, FileInput | Corpus] = field(default_factory=dict, repr=False)
    weights: bool = False

    @property
    def text(self) -> str:
        return json.dumps({"function": self.name}) + "\n"

    def resolved(self) -> dict[str, Any]:
        """The grid for JSON; the address of a cluster is left out."""
        hardware = {n: value for n, value in asdict(self.hardware).items() if n != "address"}
        return {
            "name": self.name,
            "function": self.name,
            "hardware": hardware,
            "cells": {cell.key: cell.to_json() for cell in self.cells},
        }

    def job(self, cell: FunctionCell) -> tuple[FunctionJob, Corpus | None]:
        """A call of the function for a worker, and the corpus that it needs."""
        inputs = {name: self.inputs[digest] for name, digest in cell.inputs.items()}
        files = {name: value for name, value in inputs.items() if isinstance(value, FileInput)}
        corpora = {name: value for name, value in inputs.items() if isinstance(value, Corpus)}
        parameter, corpus = next(iter(corpora.items()), ("", None))
        return FunctionJob(cell, self.function, files, parameter, self.hardware.max_tokens), corpus


def files_of(returned: Any, key: str) -> dict[str, bytes]:
    """The files of a cell, from what its function returned.

    Args:
        returned: the function's mapping: tables, files and JSON values by name.
        key: the cell's key, which becomes the first column of each table.
    """
    from verax.studies.engines.performing import parquet
    from verax.studies.store.store import as_json, is_inside

    if not isinstance(returned, Mapping):
        raise VeraxError(
            f"the function returned {type(returned).__name__}: expected a mapping of names to "
            "DataFrames, bytes or JSON values",
            code="plugin.invalid",
        )
    files: dict[str, bytes] = {}
    values: dict[str, Any] = {}
    for name, value in returned.items():
        if not isinstance(name, str) or not name:
            raise VeraxError(f"the name {name!r:.60} is not text", code="plugin.invalid")
        if isinstance(value, pd.DataFrame):
            if "cell" in value or name in _RESERVED_TABLES or "/" in name or not is_inside(name):
                raise VeraxError(
                    f"table {name!r:.60} cannot be stored: choose another name, and no column "
                    "named 'cell'",
                    code="plugin.invalid",
                )
            files[f"{name}.parquet"] = parquet(value, key)
        elif isinstance(value, bytes):
            if not is_inside(name) or name in _OWN or name.endswith(".parquet"):
                raise VeraxError(
                    f"file {name!r:.60} cannot be stored: choose another name, without a folder",
                    code="plugin.invalid",
                )
            files[name] = value
        else:
            values[name] = _plain(value, name)
    return {**files, VALUES: as_json(values) + b"\n"}


def _plain(value: Any, name: str) -> Any:
    """A value as JSON has it: NumPy's scalars as Python's, and NaN as null."""
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if isinstance(value, Mapping):
        return {str(part): _plain(inner, name) for part, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner, name) for inner in value]
    if isinstance(value, float) and value != value:
        return None
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise VeraxError(
            f"value {name!r:.60} has a {type(value).__name__}: expected a DataFrame, bytes, or "
            "numbers, text, lists and mappings",
            code="plugin.invalid",
        )
    return value


def corpus_digest(corpus: Corpus) -> str:
    """A hash of all documents, with their ids and marked words."""
    ids = [documents.ids.tolist() for documents in corpus.splits.values()]
    values = (corpus.fingerprint, corpus.rationales_fingerprint, ids)
    return hashlib.sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _files(place: Path) -> dict[str, Path]:
    """The files of a folder by relative name, or a single file, whose name is empty."""
    if not place.exists():
        raise VeraxError(f"no such file or folder: {place}", code="file.missing")
    if not place.is_dir():
        return {"": place}
    return {f.relative_to(place).as_posix(): f for f in sorted(place.rglob("*")) if f.is_file()}


def _digest_of(place: Path) -> str:
    files = _files(place).items()
    return _digest(tuple((name, str(file), *(stamp(file) or ())) for name, file in files))


@functools.lru_cache(maxsize=64)
def _digest(files: tuple[tuple[str | int, ...], ...]) -> str:
    """The hash of files, computed again when the size or time of one has changed."""
    total = hashlib.sha256()
    for name, path, *_ in files:
        with Path(str(path)).open("rb") as file:
            total.update(f"{name}\0{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return total.hexdigest()[:16]

"""`run_grid`: any function over many configurations, with results that survive interruptions."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError, nearest
from verax.options import check
from verax.plugin_files import function_identity, imported_plugins, resolve
from verax.studies.function_cell import VALUES, FunctionCell, FunctionGrid
from verax.studies.function_inputs import FileInput, corpus_digest
from verax.studies.grid.study import Hardware
from verax.studies.running import run as running
from verax.studies.running.runner import Runner
from verax.studies.store.archive import open_source
from verax.studies.store.folders import storage_folder
from verax.studies.store.store import DAMAGED, DONE, FAILED, MISSING, Source, Store
from verax.studies.store.tables import frame_of, unlabelled


def run_grid(
    function: str | Callable[..., Mapping[str, Any]],
    configs: Iterable[Mapping[str, Any]],
    folder: str | os.PathLike[str],
    *,
    inputs: Mapping[str, str | os.PathLike[str] | Corpus] | None = None,
    engine: str = "local",
    workers: int | None = None,
    device: str = "auto",
    threads: int = 1,
    address: str | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
    filesystem: Any = None,
    progress: bool | None = None,
) -> GridResults:
    """Call a function once for each configuration, and keep what it returns.

    Each configuration is one cell of a folder, named by a hash of the function's name, its version
    and the configuration. Cells that are in the folder already are not run again, so the same call
    resumes an interrupted grid, and a longer list of configurations runs only the new ones. Several
    processes may run one grid in the same folder: they share the work.

    Args:
        function: `package.module:function`, `file.py:function`, or a function defined at the top
            level of a module. It is called as `function(config)`, and with `device=` (a name of
            PyTorch's) and `progress=` (a display, which `verax.train` and others accept) if it has
            parameters of these names. It returns a mapping: a DataFrame is stored as a table, bytes
            as a file of that name, everything else as JSON. Its module, with its package, is sent
            to the workers. An attribute `version` (a whole number from 1) enters the key: raise it
            when the function returns something else for the same configuration.
        configs: mappings of JSON; the order is that of the run. Files are best named without their
            folders, because a configuration is stored as it is.
        inputs: what the function reads in every call, by parameter: files and folders, which it
            gets as paths, and at most one corpus. A hash of the content enters the key, and on a
            cluster the content travels to the workers, so that a file may be moved or renamed.
        folder: where results go: a path, a URL, or a path in `filesystem`.
        engine: "local" (worker processes), "ray" (a cluster), or "here" (this process).
        workers: cells at once; by default one per core, or one per GPU.
        device: auto, cpu, cuda or cuda:1.
        threads: threads of each worker on a CPU.
        address: address of a Ray cluster; without it, Ray starts one on this machine.
        budget: seconds after which no cell is started.
        retry_failed: whether cells that failed in an earlier run are run again.
        filesystem: an fsspec or pyarrow filesystem.
        progress: whether to show bars; None shows them on a terminal and in a notebook.

    Returns:
        The results of these configurations. A cell whose function raised an exception has status
        "failed"; the others are not affected. A cell whose worker died is started again, at most
        three times.

    >>> import pathlib, tempfile, verax
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "thrown_dice.py").write_text('''
    ... import random
    ... def throw(config):
    ...     dice = random.Random(config["seed"])
    ...     return {"sum": sum(dice.randint(1, 6) for _ in range(config["dice"]))}
    ... ''')
    >>> configs = [{"dice": dice, "seed": seed} for dice in (1, 2) for seed in (0, 1)]
    >>> throw = f"{folder}/thrown_dice.py:throw"
    >>> results = verax.run_grid(throw, configs, folder / "out", engine="here")
    >>> results.cells[["dice", "seed", "sum"]]
       dice  seed  sum
    0     1     0    4
    1     1     1    2
    2     2     0    8
    3     2     1    7
    """
    hardware, here = running.hardware_of(
        engine, workers=workers, device=device, threads=threads, address=address
    )
    budget = None if budget is None else check("budget", budget, float, {"above": 0})
    grid = read_grid(function, configs, hardware, inputs or {})
    running.refuse_hardware(hardware)
    store = Store.create(folder, grid.name, grid.text, grid.resolved(), filesystem)

    with running.watching(grid.labels, progress) as watcher:
        runner = Runner(grid, store, watcher, budget=budget, retry_failed=retry_failed)
        running.run_cells(runner, here=here)
    return open_grid(folder, filesystem)


def open_grid(folder: str | os.PathLike[str], filesystem: Any = None) -> GridResults:
    """Open what `run_grid` stored in a folder.

    Args:
        folder: a path, a URL, or a path in `filesystem`.
        filesystem: an fsspec or pyarrow filesystem.

    Returns:
        The cells of the last run.
    """
    where = storage_folder(folder, filesystem)
    source = open_source(where)
    if "function" not in source.resolved:
        raise VeraxError(
            f"{where.shown} holds a study: open it with verax.open_study", code="result.wrong-kind"
        )
    return GridResults(source)


class GridResults:
    """What a function returned for each configuration of a grid.

    Attributes:
        name: the function's name.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._states = {key: source.states[key] for key in source.resolved["cells"]}
        self.name = str(source.resolved["name"])

    def __repr__(self) -> str:
        parts = [f"{number:,} {status}" for status, number in self.counts.items()]
        return f"GridResults({self.name}: {', '.join(parts) or 'no cells'})"

    @property
    def counts(self) -> dict[str, int]:
        """How many cells are done, failed, damaged and missing; only those that occur."""
        counts = Counter(state.status for state in self._states.values())
        return {s: counts[s] for s in (DONE, FAILED, DAMAGED, MISSING) if counts[s]}

    @property
    def left_out(self) -> list[str]:
        """Tables that cells had before they were packed without them."""
        return sorted({name for state in self._states.values() for name in state.left_out})

    @property
    def keys(self) -> list[str]:
        """The keys of finished cells, in the order of the configurations."""
        return [key for key, state in self._states.items() if state.status == DONE]

    @property
    def cells(self) -> pd.DataFrame:
        """One row per cell: key, status, its configuration, its values, and an error.

        Nested values are JSON. A value that has the name of an option is called `value_NAME`.
        `error` is there if a cell failed.
        """
        rows = []
        for key, state in self._states.items():
            row: dict[str, Any] = {"key": key, "status": state.status}
            row |= {n: v for n, v in state.config["config"].items() if n not in row}
            if state.status == DONE:
                for name, value in self.values(key).items():
                    row[f"value_{name}" if name in row else name] = value
            elif state.failure is not None:
                row["error"] = state.failure.get("error")
            rows.append(row)
        return frame_of(rows) if rows else pd.DataFrame(columns=["key", "status"])

    @property
    def failures(self) -> dict[str, Mapping[str, Any]]:
        """The record of each failed cell, by its key: reason, error, traceback."""
        return {k: s.failure or {} for k, s in self._states.items() if s.status == FAILED}

    @property
    def tables(self) -> list[str]:
        """The names of all tables."""
        return sorted({name for key in self.keys for name in self._states[key].tables})

    def table(self, name: str) -> pd.DataFrame:
        """The rows of a table of all finished cells; the column `cell` has the key of each.

        Args:
            name: the name under which the function returned the DataFrame.
        """
        if name not in self.tables:
            known = nearest(name, self.tables) if self.tables else "no finished cell has a table"
            raise VeraxError(f"unknown table {name!r}: {known}", code="result.unknown-name")
        keys = [key for key in self.keys if name in self._states[key].tables]
        parts = []
        for key in keys:
            table = unlabelled(self._source.table(key, name))
            parts.append(table.add_column(0, "cell", pa.repeat(pa.scalar(key), len(table))))
        try:
            together = pa.concat_tables(parts, promote_options="permissive")
        except pa.ArrowException as error:
            raise VeraxError(
                f"table {name!r} has columns of different kinds in different cells",
                code="result.incomparable",
            ) from error
        frame: pd.DataFrame = together.unify_dictionaries().to_pandas(ignore_metadata=True)
        return frame

    def config(self, key: str) -> dict[str, Any]:
        """The configuration of a cell."""
        if key not in self._states:
            raise self._unknown(key)
        return dict(self._states[key].config["config"])

    def values(self, key: str) -> dict[str, Any]:
        """What the function returned for a cell, apart from tables and files."""
        return dict(json.loads(self.file(key, VALUES)))

    def files(self, key: str) -> list[str]:
        """The names of a cell's files, apart from tables."""
        self._done(key)
        names = self._source.files(key)
        return [name for name in names if name != VALUES and not name.endswith(".parquet")]

    def file(self, key: str, name: str) -> bytes:
        """The contents of a cell's file."""
        self._done(key)
        if name not in self._source.files(key):
            raise VeraxError(f"cell {key} has no file {name!r}", code="result.unknown-name")
        return self._source.file(key, name)

    def metadata(self, key: str) -> Mapping[str, Any]:
        """Versions, commit, device and seconds of a finished cell."""
        self._done(key)
        return self._states[key].facts

    def _done(self, key: str) -> None:
        if key not in self._states:
            raise self._unknown(key)
        if (status := self._states[key].status) != DONE:
            raise VeraxError(
                f"cell {key} is {status}: run the grid again to have it", code="result.unfinished"
            )

    def _unknown(self, key: str) -> VeraxError:
        near = nearest(key, self._states) if self._states else "the grid has no cell"
        return VeraxError(
            f"no cell {key!r} in {self._source.shown}: {near}", code="result.unknown-name"
        )


def read_grid(
    function: str | Callable[..., Any],
    configs: Iterable[Mapping[str, Any]],
    hardware: Hardware,
    inputs: Mapping[str, str | os.PathLike[str] | Corpus],
) -> FunctionGrid:
    """Check a function, its configurations and its inputs, and make cells of them."""
    name = function if isinstance(function, str) else _name_of(function)
    resolved, _ = resolve(name)
    if inputs:
        _refuse_parameters(resolved, inputs)
    identity = function_identity(name)
    digests: dict[str, str] = {}
    by_digest: dict[str, FileInput | Corpus] = {}
    for parameter, value in inputs.items():
        if isinstance(value, Corpus):
            digests[parameter] = corpus_digest(value)
            by_digest[digests[parameter]] = value
        else:
            file = FileInput.of(value, send=hardware.engine == "ray")
            digests[parameter] = file.digest
            by_digest[file.digest] = file
    cells: dict[str, FunctionCell] = {}
    for number, config in enumerate(configs, start=1):
        cell = FunctionCell(config=_checked(config, number), inputs=digests, **identity)
        cells.setdefault(cell.key, cell)
    if not cells:
        raise VeraxError("a grid needs at least one configuration", code="option.empty")
    labels = _labels(list(cells.values()))
    every = tuple(cells.values())
    return FunctionGrid(identity["function"], name, every, hardware, labels, by_digest)


def _refuse_parameters(
    function: Callable[..., Any], inputs: Mapping[str, str | os.PathLike[str] | Corpus]
) -> None:
    parameters = list(inspect.signature(function).parameters.values())
    taken = {parameters[0].name if parameters else "", "device", "progress", "max_tokens"}
    known = {p.name for p in parameters}
    open_ended = any(p.kind is p.VAR_KEYWORD for p in parameters)
    for name in inputs:
        if name in taken or not (name in known or open_ended):
            raise VeraxError(
                f"the function has no parameter for input {name!r:.60}: give it one",
                code="option.unknown",
            )
    if sum(isinstance(value, Corpus) for value in inputs.values()) > 1:
        raise VeraxError("a grid can have one corpus among its inputs", code="option.conflict")


def _name_of(function: Callable[..., Any]) -> str:
    module = getattr(function, "__module__", None)
    name = getattr(function, "__qualname__", "")
    if module is None or not name.isidentifier() or module == "__main__":
        raise VeraxError(
            f"workers cannot import {name or function!r:.60}: define the function at the top level "
            "of a module, or name it as file.py:function",
            code="option.wrong-type",
        )
    path = getattr(sys.modules.get(module), "__file__", None)
    if any(file.name is None and file.path == path for file in imported_plugins()):
        return f"{path}:{name}"
    return f"{module}:{name}"


def _checked(config: Any, number: int) -> dict[str, Any]:
    """A configuration as JSON has it."""
    try:
        if not isinstance(config, Mapping) or not all(isinstance(name, str) for name in config):
            raise TypeError("expected a mapping with text as names")
        values = json.loads(json.dumps(dict(config), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise VeraxError(
            f"configuration {number} of the grid is not JSON: {error}", code="option.wrong-type"
        ) from error
    return dict(values)


def _labels(cells: Sequence[FunctionCell]) -> dict[str, str]:
    """Short names of cells: the options in which they differ."""
    names = dict.fromkeys(name for cell in cells for name in cell.config)
    seen = {n: {json.dumps(cell.config.get(n), sort_keys=True) for cell in cells} for n in names}
    varying = [name for name in names if len(seen[name]) > 1]
    return {
        cell.key: ", ".join(f"{n} {cell.config[n]}" for n in varying if n in cell.config)
        or cell.key
        for cell in cells
    }

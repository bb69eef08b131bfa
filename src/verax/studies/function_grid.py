"""`run_grid`: any function over many configurations, with results that survive interruptions."""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.options import check
from verax.plugin_files import function_identity, imported_plugins, resolve
from verax.studies.function_cell import FileInput, FunctionCell, FunctionGrid, corpus_digest
from verax.studies.grid.study import Hardware
from verax.studies.running import run as running
from verax.studies.running.runner import Runner
from verax.studies.store.results import GridResults, open_grid
from verax.studies.store.store import Store


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

"""The runner: gives the cells of a study to an engine, and what comes back to the store.

It holds nothing that the store does not have: when it is killed, another goes on. The runner alone
writes to the store, so that a worker can be lost at any time. A cell is claimed while it runs, and
runners of one folder share the work.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, WriteError
from verax.files import write_elsewhere
from verax.models.saving import FILES
from verax.studies.engines.engine import (
    LOST,
    OUT_OF_MEMORY,
    CellError,
    Engine,
    Event,
    Failed,
    Finished,
    Job,
    Progressed,
    count,
)
from verax.studies.function_cell import AnyCell, FunctionCell, FunctionGrid
from verax.studies.grid.cell import Cell
from verax.studies.grid.portable import portable_failure
from verax.studies.grid.study import Study
from verax.studies.running.watching import Ran, Watcher
from verax.studies.store.folders import CellLock
from verax.studies.store.store import CELLS, MODEL, Store
from verax.version import __version__

MODEL_FILES = tuple(f"{MODEL}/{name}" for name in sorted(FILES))
TRIES = 3
"""How often a cell is begun whose worker goes away each time."""
_PATIENCE = 0.5
"""Seconds between looks at cells that another runner has."""


class Runner:
    """One run of a study into a store.

    Args:
        study: the study or grid.
        store: its store.
        watcher: is called as the run goes on.
        budget: seconds after which no cell is started.
        retry_failed: whether cells that failed in an earlier run are run again.
        fail_fast: whether a failed cell ends the run with `CellError`.
    """

    def __init__(
        self,
        study: Study | FunctionGrid,
        store: Store,
        watcher: Watcher | None = None,
        *,
        budget: float | None = None,
        retry_failed: bool = False,
        fail_fast: bool = False,
    ) -> None:
        self.study: Any = study
        self.store = store
        self.watcher = watcher or Watcher()
        self.deadline = None if budget is None else time.monotonic() + budget
        self.retry_failed = retry_failed
        self.fail_fast = fail_fast
        self.ran = Ran(len(study.cells))
        self.claims: dict[str, CellLock] = {}
        self.in_flight: dict[str, AnyCell] = {}
        self.tries: Counter[str] = Counter()
        self.began: dict[str, float] = {}
        self.models: dict[str, str] = {}
        self.budgets = dict.fromkeys((cell.key for cell in study.cells), study.hardware.max_tokens)

    def pending(self) -> list[AnyCell]:
        """The cells that are still to be run; damaged ones are named and removed first.

        What is done is left as it is. Cells that failed wait for `retry_failed`.
        """
        self.store.sweep_all()
        planned = {cell.key: cell for cell in self.study.cells}
        damaged = self.store.verify(planned, contents=True)
        for key in damaged:
            lock = self.store.lock(key)
            with lock or nullcontext():  # without one, another runner is at it
                wrong = self.store.verify([key], contents=True).get(key) if lock else None
                if wrong is not None:
                    self.watcher.says(f"cell {key} is damaged and will be run again: {wrong}")
                    self.store.discard(key)
        stored = set(self.store.keys())
        kept = stored & set(planned) - set(damaged)
        self.ran.beside = len(stored - set(planned))
        self.ran.kept = len(kept)
        if not self.retry_failed:
            failures = self.store.failures()
            self.ran.failed = {key: why for key, why in failures.items() if key in planned}
        self._mention(kept)
        if self.study.weights:
            self.models = trained_models(self.store)
        return [c for key, c in planned.items() if key not in kept and key not in self.ran.failed]

    def _mention(self, kept: set[str]) -> None:
        """Tell the watcher of kept cells that would be made otherwise now."""
        manifests = [self.store.manifest(key) for key in kept]
        bare = sum(not set(MODEL_FILES) <= set(manifest["files"]) for manifest in manifests)
        if self.study.weights and bare:
            self.watcher.says(
                f"{count(bare, 'cell was', 'cells were')} done without weights and stay so; for "
                "their models, run the study into another folder"
            )
        versions = (manifest.get("versions", {}) for manifest in manifests)
        made_by = Counter(str(version.get("verax", __version__)) for version in versions)
        for version, cells in sorted(made_by.items()):
            if version != __version__:
                made = f"{count(cells, 'cell was', 'cells were')} made by Verax {version}"
                self.watcher.says(f"{made} and are kept; this is {__version__}")

    def run(self, engine: Engine, cells: Iterable[AnyCell]) -> Ran:
        """Run these cells of the study, in this order; see `pending` for which are left to run."""
        run_all(engine, [(self, cell) for cell in cells])
        return self.ran

    def _is_late(self) -> bool:
        return self.deadline is not None and time.monotonic() >= self.deadline

    def _begin(self, engine: Engine, cell: AnyCell) -> bool:
        """Begin a cell, unless another has done it; False while another runner has it."""
        claim = self.store.lock(cell.key)
        if claim is None:
            return False
        self.claims[cell.key] = claim
        if self._is_settled(cell.key):
            self._release(cell.key)
            return True
        self.store.sweep(cell.key)
        self._submit(engine, cell)
        return True

    def _is_settled(self, key: str) -> bool:
        """Whether another runner has ended a cell that is claimed by now."""
        if self.store.complete(key):
            self.ran.others += 1
            self.ran.failed.pop(key, None)
            self.watcher.elsewhere(key)
            return True
        failure = None if self.retry_failed else self.store.failures().get(key)
        if failure is not None:
            self.ran.failed[key] = failure
            self.watcher.fails(key, failure)
        return failure is not None

    def _submit(self, engine: Engine, cell: AnyCell) -> None:
        self.tries[cell.key] += 1
        self.in_flight[cell.key] = cell
        self.began[cell.key] = time.monotonic()
        self.watcher.starts(cell.key)
        if isinstance(cell, FunctionCell):
            assert isinstance(self.study, FunctionGrid)
            engine.submit(*self.study.job(cell))
            return
        assert isinstance(self.study, Study)
        job = Job(cell, self.study.weights, self.budgets.get(cell.key))
        owner = self.models.get(cell.trained)  # a cell of other exams has kept its model
        if owner is not None:
            with suppress(VeraxError):  # damaged or gone meanwhile: it can be trained again
                files = {name: self.store.read(owner, name) for name in MODEL_FILES}
                job = replace(job, model=files, model_of=owner)
        engine.submit(job, self.study.corpora[cell.fingerprint])

    def _handle(self, engine: Engine, event: Event) -> None:
        """Store what a cell came to, or begin it again."""
        if isinstance(event, Progressed):
            self.watcher.progresses(event)
            return
        cell = self.in_flight.pop(event.key)
        if isinstance(event, Finished):
            self._commit(cell, event)
            self.ran.done += 1
            if self.study.weights and isinstance(cell, Cell):
                self.models[cell.trained] = cell.key
            self.ran.failed.pop(cell.key, None)
            self.watcher.finishes(cell.key, event.facts)
        elif event.reason == LOST and self.tries[cell.key] < TRIES:
            self.watcher.gives_up(cell.key, event.error)
            if not self._is_late():
                self._submit(engine, cell)
                return
            self.ran.left += 1
        elif isinstance(cell, Cell) and self._can_halve(event):
            self.budgets[cell.key] = (self.budgets[cell.key] or MAX_TOKENS) // 2
            self.watcher.gives_up(cell.key, f"{event.error}; again with half the tokens at once")
            self._submit(engine, cell)
            return
        else:
            self._fail(cell, event)
        self._release(cell.key)

    def _commit(self, cell: AnyCell, event: Finished) -> None:
        """Store a finished cell; elsewhere where the store cannot be written, and the run ends."""

        def commit(store: Store) -> None:
            store.commit(cell.key, cell.to_json(), event.files, event.facts)

        def commit_to(folder: Path) -> None:
            study = self.study
            commit(Store.create(folder, study.name, study.text, study.resolved()))

        try:
            commit(self.store)
        except WriteError as error:
            place = write_elsewhere("study", commit_to, error) / CELLS / cell.key
            raise WriteError(
                f"{error}; a cell that was done is in {place}: move it to "
                f"{self.store.folder.shown}/{CELLS}"
            ) from error

    def _can_halve(self, event: Failed) -> bool:
        """Whether memory ran out for the first time, where the cell itself could not halve."""
        budget = self.budgets[event.key]
        return (
            event.reason == OUT_OF_MEMORY
            and not event.halved
            and budget == self.study.hardware.max_tokens
            and budget != 1
            and not self._is_late()
        )

    def _fail(self, cell: AnyCell, event: Failed) -> None:
        record = {
            "cell": cell.key,
            "reason": event.reason,
            "error": event.error,
            "code": event.code,
            "traceback": event.traceback,
            "tries": self.tries[cell.key],
            "seconds": round(time.monotonic() - self.began[cell.key], 3),
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "verax": __version__,
        }
        kept = event.error if event.kept is None else event.kept
        self.store.fail(cell.key, portable_failure({**record, "error": kept}))
        self.ran.failed[cell.key] = record
        self.watcher.fails(cell.key, record)
        if self.fail_fast:
            raise CellError(self.study.labels.get(cell.key, cell.key), record)

    def _release(self, key: str) -> None:
        claim = self.claims.pop(key, None)
        if claim is not None:
            claim.release()


Waiting = list[tuple[Runner, Any]]
"""Cells that are to be run, each with its run, in their order."""


def run_all(
    engine: Engine,
    cells: Iterable[tuple[Runner, Any]],
    revise: Callable[[Waiting], Waiting] | None = None,
) -> None:
    """Run cells of one or several runs on one engine, in this order, and stop it.

    A cell that two runs share is not in flight twice at once. `revise` is given what waits before
    cells begin, and returns what waits from then on: cells may become known as others end.
    """
    waiting = list(cells)
    runners = list(dict.fromkeys(runner for runner, _ in waiting))
    try:
        while True:
            if revise is not None:
                waiting = revise(waiting)
                runners = list(dict.fromkeys([*runners, *(runner for runner, _ in waiting)]))
            begun = _begin_some(engine, waiting, runners)
            busy = [runner for runner in runners if runner.in_flight]
            if busy:
                for event in engine.wait(_PATIENCE):
                    owner = next((r for r in busy if event.key in r.in_flight), None)
                    if owner is not None:
                        owner._handle(engine, event)
            elif all(runner._is_late() for runner, _ in waiting):
                break
            elif not begun:
                time.sleep(_PATIENCE)
    finally:
        engine.stop()
        for runner in runners:
            for key in list(runner.claims):
                runner._release(key)
    for runner, _ in waiting:
        runner.ran.left += 1
    for runner in runners:
        runner.store.settle()


def _begin_some(
    engine: Engine, waiting: list[tuple[Runner, Any]], runners: Sequence[Runner]
) -> bool:
    """Whether any cell was begun, of as many as there is room for, or needs no more."""
    begun = False
    for runner, cell in list(waiting):
        if engine.free <= 0:
            break
        if runner._is_late() or any(cell.key in other.in_flight for other in runners):
            continue
        if runner._begin(engine, cell):
            waiting.remove((runner, cell))
            begun = True
    return begun


def trained_models(store: Store) -> dict[str, str]:
    """The hash of what decides a model (`Cell.trained`) → a finished cell that has kept it."""
    owners = {}
    for key in sorted(store.keys()):
        try:
            if set(MODEL_FILES) <= set(store.manifest(key)["files"]):
                owners[store.cell(key).trained] = key
        except VeraxError:  # damaged: not one to take a model from
            continue
    return owners

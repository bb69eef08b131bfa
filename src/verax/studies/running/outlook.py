"""What a run would do: which cells are done already, and where the others would run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.studies.engines.local import LocalEngine
from verax.studies.engines.machine import cores
from verax.studies.grid.cell import Cell
from verax.studies.grid.study import Hardware, Study
from verax.studies.store.cells import CONFIG
from verax.studies.store.folders import storage_folder
from verax.studies.store.sources import DAMAGED, DONE, FAILED
from verax.studies.store.store import STORE, Store


@dataclass(frozen=True)
class Outlook:
    """The state of a study's cells, and where the rest would run.

    states    key → done, failed or damaged, for cells that were run
    finished  finished cells of the store, of the study or not, and the seconds each took
    workers   cells that would run at once
    where     the machine, in words
    """

    states: Mapping[str, str]
    finished: Sequence[tuple[Cell, float]]
    workers: int
    where: str


def outlook(study: Study, folder: str | Path, filesystem: Any = None) -> Outlook:
    """The outlook of a study in a folder; nothing is written or started."""
    states, finished = _stored(study, folder, filesystem)
    return Outlook(states, finished, *_machine(study.hardware))


def _stored(
    study: Study, folder: str | Path, filesystem: Any
) -> tuple[dict[str, str], list[tuple[Cell, float]]]:
    Store.refuse_other(folder, study.name, filesystem)  # what a run would refuse
    where = storage_folder(folder, filesystem)
    if not where.exists(STORE):
        return {}, []
    store = Store.open(where)
    keys = {cell.key for cell in study.cells}
    damaged = store.verify(keys, contents=True)
    whole = set(store.keys()) - set(damaged)
    states = {key: FAILED for key in store.failures() if key in keys}
    states |= dict.fromkeys(whole & keys, DONE) | dict.fromkeys(damaged, DAMAGED)
    finished = []
    for key in sorted(whole - set(store.verify(whole - keys))):
        seconds = store.manifest(key).get("seconds", {}).get("total")
        if seconds is not None:
            config = json.loads(store.read(key, CONFIG))
            finished.append((Cell.from_json(config), float(seconds)))
    return states, finished


def _machine(hardware: Hardware) -> tuple[int, str]:
    """How many cells would run at once, and where, in words."""
    if hardware.engine == "ray":  # of a cluster only its own nodes know
        workers = hardware.workers or max(1, cores() // hardware.threads)
        return workers, f"a Ray cluster, were it {workers} cells at once"
    engine = LocalEngine(replace(hardware, mps=False))
    try:
        return engine.workers, engine.describe()
    finally:
        engine.stop()

"""What a run would do: which cells are done already, and where the others would run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.studies.engines.local import LocalEngine
from verax.studies.engines.machine import cores, gpus
from verax.studies.grid.hardware import Hardware
from verax.studies.grid.study import Study
from verax.studies.store.folders import storage_folder
from verax.studies.store.sources import DAMAGED, DONE, FAILED
from verax.studies.store.store import STORE, Store


@dataclass(frozen=True)
class Outlook:
    """What is there, and where the rest would run.

    states   key → done, failed or damaged, for cells that were run
    seconds  of those done
    """

    states: Mapping[str, str]
    seconds: Mapping[str, float]
    workers: int
    device: str
    where: str


def outlook(study: Study, folder: str | Path, filesystem: Any = None) -> Outlook:
    """Look at what is there, and touch nothing."""
    states, seconds = _found(study, folder, filesystem)
    workers, device, where = _place(study.hardware)
    return Outlook(states, seconds, workers, device, where)


def _found(
    study: Study, folder: str | Path, filesystem: Any
) -> tuple[dict[str, str], dict[str, float]]:
    Store.refuse_other(folder, study.name, filesystem)  # what a run would refuse
    where = storage_folder(folder, filesystem)
    if not where.exists(STORE):
        return {}, {}
    store = Store.open(where)
    keys = {cell.key for cell in study.cells}
    damaged = store.verify(keys, contents=True)
    there = set(store.keys()) & keys - set(damaged)
    states = {key: FAILED for key in store.failures() if key in keys}
    states |= dict.fromkeys(there, DONE) | dict.fromkeys(damaged, DAMAGED)
    took = {key: store.manifest(key).get("seconds", {}).get("total") for key in there}
    return states, {key: float(value) for key, value in took.items() if value is not None}


def _place(hardware: Hardware) -> tuple[int, str, str]:
    """How many cells at once, on what, in words; nothing is started."""
    if hardware.engine == "ray":  # of a cluster only its own nodes know
        workers = hardware.workers or max(1, cores() // hardware.threads)
        device = "cpu" if hardware.device in ("auto", "cpu") else "cuda"
        return workers, device, f"a Ray cluster, were it {workers} cells at once"
    device = "cuda" if gpus(hardware.device) else "cpu"
    engine = LocalEngine(replace(hardware, mps=False))
    try:
        return engine.workers, device, engine.describe()
    finally:
        engine.stop()

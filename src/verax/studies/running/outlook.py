"""What a run would do: which cells are done already, where the others would run, and how long."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.models.encoders import ENCODERS
from verax.models.options import AUTO
from verax.studies.adversary_scores import CONTROLS
from verax.studies.engines.local import LocalEngine
from verax.studies.engines.machine import cores
from verax.studies.grid.cell import Cell
from verax.studies.grid.study import Hardware, Study
from verax.studies.store.folders import storage_folder
from verax.studies.store.store import DAMAGED, DONE, FAILED, PACKED, STORE, Store


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
    if not (where.exists(STORE) or where.exists(PACKED)):
        return {}, []
    store = Store.open(where)
    keys = {cell.key for cell in study.cells}
    damaged = store.verify(keys, contents=True)
    whole = set(store.keys()) - set(damaged)
    states = {key: FAILED for key in store.failures() if key in keys}
    states |= dict.fromkeys(whole & keys, DONE) | dict.fromkeys(damaged, DAMAGED)
    finished = []
    for key in sorted(whole - set(store.verify(whole - keys))):
        seconds = store.manifest(key).get("seconds")
        total = seconds.get("total") if isinstance(seconds, Mapping) else seconds
        if total is not None:
            finished.append((store.cell(key), float(total)))
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


@dataclass(frozen=True)
class StudyEstimate:
    """How long `cells` that are left take, by `measured` finished ones.

    `seconds` is None where no finished cell says how long one takes.
    """

    seconds: float | None
    cells: int
    measured: int


def estimate(
    study: Study,
    finished: Iterable[tuple[Cell, float]] = (),
    left_out: Collection[str] = (),
    workers: int = 1,
) -> StudyEstimate:
    """How long a study takes on so many workers.

    A cell takes the median of what finished cells took for a unit of its work (see `work_of`): of
    those with its encoder, or of all where none has it.

    Args:
        study: the study.
        finished: cells that are done, of the study or of others of its corpora, and their seconds.
        left_out: keys of cells that will not be run.
        workers: cells that run at once.
    """
    finished = list(finished)
    measured = [(c, s) for c, s in finished if s > 0 and c.fingerprint in study.corpora]
    rates: dict[str | None, list[float]] = {}
    for cell, seconds in measured:
        rate = seconds / work_of(cell, study.corpora)
        for kind in (cell.model.get("encoder"), None):
            rates.setdefault(kind, []).append(rate)
    done = {cell.key for cell, _ in finished} | set(left_out)
    rest = [cell for cell in study.cells if cell.key not in done]
    if not rates:
        return StudyEstimate(None, len(rest), 0)
    each = [
        statistics.median(rates.get(cell.model.get("encoder"), rates[None]))
        * work_of(cell, study.corpora)
        for cell in rest
    ]
    # the longest cell takes its time however many workers there are
    seconds = max(sum(each) / max(1, workers), max(each, default=0.0))
    return StudyEstimate(seconds, len(rest), len(measured))


def work_of(cell: Cell, corpora: Mapping[str, Corpus]) -> float:
    """Documents that a cell reads, in every epoch of every training and once in each exam.

    Adversaries, the base retrained and controls are trainings too, and so is each candidate for
    strength auto. A document counts as much as its encoder says (`training_cost`).
    """
    splits = corpora[cell.fingerprint].splits
    if not cell.is_trained:
        documents = len(splits[cell.split])
        return float(documents if cell.sample is None else min(documents, cell.sample))
    epochs = cell.training["epochs"]
    if cell.model["strength"] == AUTO:  # the ungrounded model, and one for each candidate
        epochs *= 1 + len(cell.training["strengths"].split(","))
    against = cell.adversaries
    if against is not None:
        seeds = len(against["seeds"])
        epochs += len(against["lams"]) * seeds * against["epochs"]
        again = len(against["retrain"]) + (seeds * len(CONTROLS) if against["controls"] else 0)
        epochs += again * cell.training["epochs"]
    examined = len(splits[cell.split])
    if cell.sample is not None:
        examined = min(examined, cell.sample)
    documents = epochs * len(splits["train"]) + len(cell.exams) * examined
    return float(documents * ENCODERS[cell.model["encoder"]].training_cost)

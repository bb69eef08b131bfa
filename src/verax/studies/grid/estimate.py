"""About how long the rest of a study takes, by what finished cells took."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from verax.corpora.corpus import Corpus
from verax.models.encoders import ENCODERS
from verax.models.options import AUTO
from verax.studies.adversaries.making import CONTROLS
from verax.studies.grid.cell import Cell
from verax.studies.grid.study import Study


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

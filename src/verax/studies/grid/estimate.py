"""About how long a study takes: told before it runs, and better once some of it has run.

A cell costs a start, training (documents, tokens and epochs, once for each strength that is tried),
that of adversaries and what they are read by, and exams (tokens; those that look through the
encoder cost more the longer a document is). The constants are of one core of a server, and of a
large GPU that a dozen cells share: on another machine they may be off by a factor of several, which
the first finished cells put right.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from verax.corpora.corpus import Corpus, Documents
from verax.exams.registry import EXAMS
from verax.models.encoders import ENCODERS
from verax.models.options import AUTO
from verax.studies.adversaries.recipes import CONTROLS
from verax.studies.grid.cell import Cell
from verax.studies.grid.study import Study
from verax.training.guided import DEFAULTS as UNENCODED


@dataclass(frozen=True)
class Machine:
    """Seconds: to start a cell, for a document and a token of training, for a token of exams.

    masked   how much more a token costs under a masked LM
    reading  what examining costs here, a core being 1
    """

    start: float
    document: float
    token: float
    masked: float
    reading: float


MACHINES = {
    "cpu": Machine(start=1.0, document=1.2e-4, token=20e-6, masked=3.4, reading=1.0),
    "cuda": Machine(start=1.0, document=3e-5, token=5e-7, masked=3.0, reading=0.65),
}
_OPPOSED = 1.6
"""How much more an epoch of an adversary costs, which is held against its base."""
_SIZE = 100


@dataclass(frozen=True)
class Estimate:
    """About how many seconds the `cells` not yet done take, by `measured` that are."""

    seconds: float
    cells: int
    measured: int


def estimate(
    study: Study,
    workers: int = 1,
    device_kind: str = "cpu",
    done: Mapping[str, float] | None = None,
) -> Estimate:
    """How long a study takes on so many workers.

    `done` has the seconds that finished cells took, by key: the others are taken to be as much
    slower or faster than predicted as these were, in the median.
    """
    done = {} if done is None else done
    predictions = {
        cell.key: predicted(cell, study.corpora[cell.fingerprint], device_kind)
        for cell in study.cells
    }
    ratios = [done[key] / predictions[key] for key in predictions if done.get(key, 0) > 0]
    scale = statistics.median(ratios) if ratios else 1.0
    rest = [scale * seconds for key, seconds in predictions.items() if key not in done]
    # the longest cell takes its time however many there are to help
    seconds = max(sum(rest) / max(1, workers), max(rest, default=0.0))
    return Estimate(seconds, len(rest), len(ratios))


def predicted(cell: Cell, corpus: Corpus, device_kind: str = "cpu") -> float:
    """Seconds that one cell takes, roughly; `device_kind` is cpu or cuda."""
    machine, sizes = MACHINES[device_kind], Sizes.of(corpus)
    trained = _training(cell, sizes, machine) + _opposing(cell, sizes, machine)
    return machine.start + trained + _examining(cell, sizes, machine)


@dataclass(frozen=True)
class Sizes:
    """Documents and tokens of each split."""

    documents: Mapping[str, int]
    tokens: Mapping[str, float]

    @classmethod
    def of(cls, corpus: Corpus) -> Sizes:
        """Counted once for a corpus: a study asks for each of its cells."""
        if corpus not in _COUNTED:
            splits = corpus.splits.items()
            _COUNTED[corpus] = cls(
                {n: len(d) for n, d in splits}, {n: tokens(d) for n, d in splits}
            )
        return _COUNTED[corpus]


_COUNTED: WeakKeyDictionary[Corpus, Sizes] = WeakKeyDictionary()


def _training(cell: Cell, sizes: Sizes, machine: Machine) -> float:
    model, settings = cell.model, cell.training
    fits = _masked(model, machine)
    if model["strength"] == AUTO:  # the ungrounded model, and one for each candidate
        fits = 1 + fits * len(settings["strengths"].split(","))
    return float(fits * settings["epochs"] * _epoch(model, sizes, machine))


def _opposing(cell: Cell, sizes: Sizes, machine: Machine) -> float:
    """Adversaries, the base again, and controls: one with the base's encoder, the rest without."""
    asked = cell.adversaries
    if asked is None:
        return 0.0
    other = {name: asked.get(name, value) for name, value in cell.model.items()}
    own, opposed = (
        _masked(model, machine) * _epoch(model, sizes, machine) for model in (cell.model, other)
    )
    unencoded = _epoch({**cell.model, **UNENCODED}, sizes, machine)
    seeds, epochs = len(asked["seeds"]), cell.training["epochs"]
    cost = _OPPOSED * len(asked["lams"]) * seeds * asked["epochs"] * opposed
    cost += len(asked["retrain"]) * epochs * own
    if asked["controls"]:
        cost += seeds * epochs * (own + (len(CONTROLS) - 1) * unencoded)
    return float(cost)


def _masked(model: Mapping[str, Any], machine: Machine) -> float:
    return machine.masked if model["grounding"] == "mlm" else 1.0


def _epoch(model: Mapping[str, Any], sizes: Sizes, machine: Machine) -> float:
    width = max(0.5, model["hidden_size"] / _SIZE) * (model["layers"] or 1)
    token = machine.token * ENCODERS[model["encoder"]].training_cost * width
    return float(machine.document * sizes.documents["train"] + token * sizes.tokens["train"])


def _examining(cell: Cell, sizes: Sizes, machine: Machine) -> float:
    read = sizes.tokens[cell.split]
    length = read / sizes.documents[cell.split]
    if cell.sample is not None:
        read = min(read, cell.sample * length)
    at_all, longer = ENCODERS[cell.model["encoder"]].reading_cost
    cost = 0.0
    for name, options in cell.exams.items():
        own = EXAMS[name].cost_of(options, length)
        cost += own.token + at_all * own.through_encoder + longer * own.by_length * length
    return machine.reading * cost * read


def tokens(documents: Documents) -> float:
    """Tokens of a split: counted if it was tokenised already, else guessed from its blanks."""
    if "token_numbers" in documents.__dict__:
        return float(documents.token_numbers.lengths.sum())
    if documents.given_tokens is not None:
        return float(sum(map(len, documents.given_tokens)))
    signs = (
        1.15 if documents.tokeniser.kind in ("words", "digits-masked") else 1.0
    )  # each sign is a token
    return signs * sum(text.count(" ") + 1 for text in documents.texts)

"""`verify_paper`: trains stored cells again and compares every number with the stored one.

A cell is trained from its stored configuration. On a device of the same kind and with the same
torch its numbers are expected to be equal. Elsewhere rounding differs and training with it: a
number is then expected to be within the tolerance of its unit, or to move by no more than the other
stored seeds of its model differ.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from research.papers.paper import Paper, refuse_others, unknown
from research.papers.probing import PROBES
from research.papers.results import finished_in, part_of
from research.papers.words import as_json
from verax import Corpus, StudyResults, VeraxError
from verax.errors import VeraxErrors
from verax.studies import Cell

Numbers = dict[str, tuple[float, str]]
"""TABLE/ROW/COLUMN → number and unit."""
EQUAL, WITHIN, DIFFERS, NOT_RUN = "equal", "within tolerance", "differs", "not run"
DIGITS = 1e-12
"""Numbers are equal up to this, relative to 1 or more: the last digits of a sum over documents
differ between processors."""


TOLERANCES = {
    "percent": (3.0, 0.0),
    "points": (3.0, 0.0),
    "number": (0.03, 0.1),
    "count": (3.0, 0.1),
}
"""Unit of a measure → how far numbers may be apart, or by which share of the larger one, on another
kind of device or with another torch.

Where the other stored seeds of the model differ by more, their range is the tolerance.
"""
INEXACT = ("conv",)
"""Encoders whose training is not the same to the bit from one GPU to the next."""


@dataclass(frozen=True)
class Difference:
    """A number that is not the stored one.

    name    TABLE/ROW/COLUMN; `low`, `high` and `n` of its interval follow it
    new     NaN if the cell does not give it any more
    within  whether the difference is within the tolerance of its unit
    """

    name: str
    stored: float
    new: float
    within: bool


@dataclass(frozen=True)
class VerifiedCell:
    """A cell that was trained again.

    same_kind    whether device and torch are those of the stored cell
    numbers      how many were compared
    differences  those that are not equal, the largest first
    error        why it was not run
    """

    key: str
    part: str
    label: str
    same_kind: bool
    is_exact: bool = True
    numbers: int = 0
    differences: Sequence[Difference] = field(default_factory=tuple, repr=False)
    error: str = ""

    @property
    def verdict(self) -> str:
        """equal, within tolerance, differs, or not run."""
        if self.error:
            return NOT_RUN
        if not self.differences:
            return EQUAL
        return WITHIN if all(d.within for d in self.differences) else DIFFERS

    @property
    def expected(self) -> str:
        """equal on the same kind of device with the same torch, else within tolerance."""
        return EQUAL if self.same_kind and self.is_exact else WITHIN

    @property
    def is_as_expected(self) -> bool:
        """Whether the verdict is the expected one, or a better one."""
        return self.verdict == EQUAL or self.verdict == self.expected


@dataclass(frozen=True)
class Verified:
    """Cells of a paper that were trained again, and how many there are in all."""

    paper: str
    cells: Sequence[VerifiedCell]
    stored: int

    @property
    def counts(self) -> dict[str, int]:
        """Verdict → cells."""
        verdicts = [cell.verdict for cell in self.cells]
        return {v: verdicts.count(v) for v in (EQUAL, WITHIN, DIFFERS, NOT_RUN)}

    def to_json(self) -> str:
        """What `verify --json` prints."""
        cells = [
            {
                "cell": cell.key,
                "part": cell.part,
                "model": cell.label,
                "verdict": cell.verdict,
                "expected": cell.expected,
                "numbers": cell.numbers,
                "differences": [asdict(difference) for difference in cell.differences],
                "error": cell.error or None,
            }
            for cell in self.cells
        ]
        about = {"paper": self.paper, "stored": self.stored, "counts": self.counts}
        return as_json({**about, "cells": cells})


def verify_paper(
    paper: Paper,
    folder: str | Path,
    *,
    sample: int = 5,
    seed: int = 0,
    cells: Iterable[str] | None = None,
    parts: Iterable[str] | None = None,
    vectors: Iterable[str | Path] = (),
    watch: Callable[[VerifiedCell], None] = lambda cell: None,
    device: str = "auto",
) -> Verified:
    """Train stored cells of a paper again, and compare their numbers.

    Args:
        paper: the paper, as `paper(name)` gives it.
        folder: its results: studies, packed or not, in a folder each; probes are in folder/probes.
        sample: how many cells, drawn by `seed` from all that are finished.
        seed: of the draw.
        cells: keys of the cells in place of a draw; the first digits will do.
        parts: draw from these parts alone.
        vectors: files of word vectors; each cell takes the one that it was trained with.
        watch: is called with each cell as it ends.
        device: where to train, such as cpu or cuda:1; auto uses a GPU if there is one.

    Returns:
        The verdict on each cell, in the order of keys.

    Raises:
        VeraxError: a key is unknown, or a corpus or a file of vectors is not at hand.
    """
    stored: dict[str, StudyResults] = {}
    for place in (Path(folder), Path(folder) / PROBES):
        refuse_others(paper, place)
        for study, key in finished_in(place):
            stored.setdefault(key, study)
    if not stored:
        raise VeraxError(
            f"{folder} holds no finished cell: run the paper, or name its results",
            code="result.unfinished",
        )
    chosen = _chosen(_of_parts(stored, parts), cells, sample, seed)
    runnable = _with_vectors([stored[key].cell(key) for key in chosen], vectors)
    corpora: dict[str, Corpus] = {}
    for cell in runnable.values():  # before any is trained
        if _reading(cell) not in corpora:
            corpora[_reading(cell)] = cell.load_corpus(trusted=True)
    models = {key: replace(study.cell(key), seed=0).key for key, study in stored.items()}
    done = []
    for key in chosen:
        siblings = [one for one in stored if models[one] == models[key] and one != key]
        seeds = [_numbers(stored[one], one) for one in siblings]
        done.append(_verified(stored[key], runnable[key], corpora, device, seeds))
        watch(done[-1])
    return Verified(paper.name, done, len(stored))


def _of_parts(stored: Mapping[str, StudyResults], parts: Iterable[str] | None) -> list[str]:
    """The keys of all stored cells, or of those of some parts, sorted."""
    part_by_key = {key: part_of(stored[key].name) for key in sorted(stored)}
    names = set(part_by_key.values()) if parts is None else set(parts)
    for name in sorted(names - set(part_by_key.values())):
        raise unknown("part with a finished cell", name, sorted(set(part_by_key.values())))
    return [key for key, part in part_by_key.items() if part in names]


def _chosen(among: Sequence[str], keys: Iterable[str] | None, sample: int, seed: int) -> list[str]:
    """Keys that begin as those named; without names, a draw."""
    if keys is None:
        order = np.random.Generator(np.random.PCG64(seed)).permutation(len(among))
        return sorted(among[place] for place in order[:sample])
    chosen = []
    for start in keys:
        fitting = [key for key in among if key.startswith(start)]
        if len(fitting) != 1:
            many = f"{len(fitting)} cells begin" if fitting else "no finished cell begins"
            raise VeraxError(
                f"{many} with {start!r}: give the key of one, as tables/*.csv have it",
                code="option.ambiguous",
            )
        chosen += fitting
    return sorted(set(chosen))


def _with_vectors(cells: Iterable[Cell], files: Iterable[str | Path]) -> dict[str, Cell]:
    """Key → the cell with the file of its word vectors, which is known by its content."""
    by_content: dict[str | None, str] = {_content(path): str(path) for path in files}
    trained = {c.vectors: c.training["vectors"] for c in cells if c.vectors is not None}
    missing = trained.keys() - by_content.keys()
    if missing:
        raise VeraxErrors(
            *(
                VeraxError(
                    f"cells were trained with word vectors {name} ({digest}), which no file of "
                    "--vectors holds: give that file with --vectors FILE",
                    code="option.missing",
                )
                for digest, name in trained.items()
                if digest in missing
            )
        )
    found = {}
    for cell in cells:
        changed = {} if cell.vectors is None else {"vectors": by_content[cell.vectors]}
        found[cell.key] = replace(cell, training={**cell.training, **changed})
    return found


def _content(path: str | Path) -> str:
    """The hash by which a cell's configuration names a file of word vectors."""
    try:
        with Path(path).expanduser().open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise VeraxError(f"cannot read {path}: {error.strerror}", code="file.missing") from error
    return f"sha256:{digest[:16]}"


def _reading(cell: Cell) -> str:
    return json.dumps(cell.corpus, sort_keys=True)


def _verified(
    study: StudyResults,
    cell: Cell,
    corpora: Mapping[str, Corpus],
    device: str,
    seeds: Sequence[Numbers],
) -> VerifiedCell:
    """Train a cell again and compare its numbers; `seeds` are those of its model's other seeds."""
    part, label, facts = part_of(study.name), label_of(cell), study.facts(cell.key)
    corpus = corpora[_reading(cell)]
    try:
        tables, now = cell.run(corpus, device=device, max_tokens=facts.get("max_tokens"))
    except VeraxError as error:
        return VerifiedCell(cell.key, part, label, False, error=str(error))
    is_exact = not (facts.get("gpu") and cell.model.get("encoder") in INEXACT)
    before = _numbers(study, cell.key)
    differences = differences_of(before, numbers_of(tables["summary"], now), seeds)
    same = kind(facts) == kind(now)
    return VerifiedCell(cell.key, part, label, same, is_exact, len(before), differences)


def _numbers(study: StudyResults, key: str) -> Numbers:
    """All of a stored cell's summary, and its scores on the test split."""
    return numbers_of(study.summary_of(key), study.facts(key))


def label_of(cell: Cell) -> str:
    """Corpus, model and seed of a cell in words."""
    unless = {"projection": "softmax", "grounding": "none"}
    parts = [cell.corpus.get("corpus", ""), cell.model.get("encoder"), cell.model.get("attention")]
    parts += [cell.model.get(name) for name, usual in unless.items() if cell.model[name] != usual]
    return " ".join(str(part) for part in [*parts, f"seed {cell.seed}"])


def kind(facts: Mapping[str, Any]) -> tuple[Any, ...]:
    """What has to be the same for equal numbers: GPU or processor, torch, CUDA."""
    versions = facts.get("versions", {})
    device = facts.get("gpu") or facts.get("platform")
    return device, versions.get("torch"), versions.get("cuda")


def differences_of(
    stored: Numbers, new: Numbers, seeds: Sequence[Numbers] = ()
) -> list[Difference]:
    """Stored numbers that the new ones do not equal, the largest difference first.

    Numbers that are only new are left out: exams may measure more by now. A stored number that is
    not there any more differs beyond any tolerance.

    >>> differences_of({"f1": (80.0, "percent")}, {"f1": (81.5, "percent")})
    [Difference(name='f1', stored=80.0, new=81.5, within=True)]
    """
    differences: list[tuple[float, Difference]] = []
    for name, (old, unit) in stored.items():
        value = new[name][0] if name in new else math.nan
        if math.isnan(old) and math.isnan(value) and name in new:
            continue
        apart = abs(old - value)
        if apart <= DIGITS * max(1.0, abs(old), abs(value)):
            continue
        far, share = TOLERANCES.get(unit, TOLERANCES["number"])
        others = [numbers[name][0] for numbers in seeds if name in numbers]
        known = [other for other in others if math.isfinite(other)] or [0.0]
        reach = max(far, share * max(abs(old), abs(value)), max(known) - min(known))
        size = apart / reach if math.isfinite(apart) else math.inf
        differences.append((size, Difference(name, old, value, size <= 1)))
    differences.sort(key=lambda pair: (-pair[0], pair[1].name))
    return [difference for _, difference in differences]


def numbers_of(summary: pd.DataFrame, facts: Mapping[str, Any]) -> Numbers:
    """Each number of a summary, its interval and its documents; scores on the test split."""
    numbers: Numbers = {}
    names = ["table", "row", "column", "unit", "value", "low", "high", "n"]
    columns = (summary[name].tolist() for name in names)
    for table, row, column, unit, value, low, high, n in zip(*columns, strict=True):
        name = f"{table}/{row}/{column}"
        numbers[name] = (float(value), str(unit))
        numbers[f"{name} low"] = (float(low), str(unit))
        numbers[f"{name} high"] = (float(high), str(unit))
        numbers[f"{name} n"] = (float(n), "count")
    scores = facts.get("test") or {}
    return numbers | {f"test/{name}": (float(score), "number") for name, score in scores.items()}

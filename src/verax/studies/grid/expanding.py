"""From a plan to its cells: crossed, held against what can be, and each once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.vectors import TRAINED as WORD2VEC
from verax.errors import VeraxError
from verax.progress import Progress
from verax.studies.grid import vectors
from verax.studies.grid.adversaries import settled_adversaries
from verax.studies.grid.cell import Cell
from verax.studies.grid.corpora import Reading, facts_of
from verax.studies.grid.crossing import (
    BY_CORPUS,
    BY_MODEL,
    BY_TRAINING,
    Combination,
    count,
    cross,
    distinct,
    lay,
    values_of,
)
from verax.studies.grid.effects import ACTIVE_WHEN, settled
from verax.studies.grid.exams import settled_exams
from verax.studies.grid.lines import large
from verax.studies.grid.plan import Models, Plan
from verax.studies.grid.problems import Place, Problems
from verax.studies.grid.refusing import Facts, culprits, refusals
from verax.studies.grid.settings import DEFAULTS, Axis

MOST_CELLS = 100_000
_LOOKED_INTO = 50
"""Combinations of one refusal whose lines are looked for: the rest come from the same ones."""


@dataclass(frozen=True)
class Combined:
    """A combination of options, for one corpus."""

    reading: Reading
    corpus: Corpus | None
    options: Combination


def combine(plan: Plan, corpora: Sequence[Corpus | None], problems: Problems) -> list[Combined]:
    """Every combination of every corpus, but those that are excluded."""
    cells = size(plan)
    if cells > MOST_CELLS:
        problems.add(f"the grid has {large(cells)} cells: a study has at most {MOST_CELLS:,}")
        return []
    judged = not len(problems)  # what was left out for being wrong might have been excluded
    found = []
    for models in plan.models:
        kept = 0
        for reading, corpus in zip(plan.readings, corpora, strict=True):
            for options in _kept(models, reading, plan, problems):
                found.append(Combined(reading, corpus, options))
                kept += 1
        if judged and plan.readings:
            for exclusion in models.exclusions:
                if not exclusion.used:
                    problems.add(
                        "exclude leaves nothing out: no combination has all of these values",
                        exclusion.place,
                    )
            if not kept:
                places = [exclusion.place for exclusion in models.exclusions]
                problems.add("exclude leaves no model: every combination is left out", *places)
    # a corpus's cells stand together, whatever mapping of models they come from
    order = {id(reading): number for number, reading in enumerate(plan.readings)}
    return sorted(found, key=lambda combined: order[id(combined.reading)])


def size(plan: Plan) -> int:
    """How many cells there are, before any are left out, without making one."""
    models = sum(count(models.axes) for models in plan.models) * count(plan.training)
    return models * len(plan.seeds) * sum(count(reading.axes) for reading in plan.readings)


def _kept(
    models: Models, reading: Reading, plan: Plan, problems: Problems
) -> Iterator[Combination]:
    by_model = list(cross(models.axes, BY_MODEL, problems))
    by_training = list(cross(plan.training, BY_TRAINING, problems))
    by_corpus = list(cross(reading.axes, BY_CORPUS, problems))
    written = distinct(
        lay(parts, problems)
        for parts in ((t, c, m) for m in by_model for t in by_training for c in by_corpus)
    )
    laid = []
    for options in written:
        final = lay((options, plan.changed), problems)
        hit = [exclusion for exclusion in models.exclusions if exclusion.fits(final)]
        for exclusion in models.exclusions:
            exclusion.used |= exclusion in hit or exclusion.fits(options)
        if not hit:
            laid.append(final)
    yield from distinct(laid)


def read_files(
    combined: Iterable[Combined], problems: Problems, progress: bool
) -> tuple[dict[str, str], dict[str, int]]:
    """What the vectors files hold, as a hash, and how wide they are, by path as written."""
    places: dict[str, set[Place]] = {}
    for one in combined:
        setting = one.options.get("vectors")
        if setting is not None and setting.value not in (None, WORD2VEC):
            places.setdefault(setting.value, set()).add(setting.place)
    contents, widths = {}, {}
    with Progress(progress) as display:
        for path, where in places.items():
            try:
                contents[path] = vectors.content(path, display.watching(f"reading {path}"))
                widths[path] = vectors.width(path)
            except VeraxError as error:
                for place in where:
                    problems.add(str(error), place)
    return contents, widths


def refuse(
    plan: Plan, combined: Sequence[Combined], widths: Mapping[str, int], problems: Problems
) -> None:
    """Every combination that cannot be, as one problem for each reason.

    Nothing is said about options some of whose values were refused already.
    """
    broken = broken_in(plan)
    facts: dict[int, Facts] = {}
    concerned: Counter[str] = Counter()
    places: dict[str, set[Place]] = {}
    for one in combined:
        if id(one.corpus) not in facts:
            known = facts_of(one.corpus)
            facts[id(one.corpus)] = replace(known, widths=widths, adversaries=plan.adversaries)
        held_against = facts[id(one.corpus)]
        values = values_of(one.options)
        first = refusals(values, held_against)
        if not first:
            continue
        if all(concerned[message] >= _LOOKED_INTO for message in first):
            concerned.update(first)
            continue
        for message, where in culprits(one.options, one.reading.place, held_against).items():
            concerned[message] += 1
            places.setdefault(message, set()).update(where)
    for message, where in places.items():
        if any(re.search(rf"\b{name}\b", message) for name in broken):
            continue
        number = f" ({concerned[message]:,} of {len(combined):,} combinations)"
        problems.add(message + (number if len(combined) > 1 else ""), *where)


def broken_in(plan: Plan) -> set[str]:
    """Options of which a value was refused."""

    def of(axes: Iterable[Axis]) -> Iterator[str]:
        for axis in axes:
            if not axis.whole:
                yield axis.name
            for branch in axis.branches:
                yield from of(branch.axes)

    every = [plan.training, *(m.axes for m in plan.models), *(r.axes for r in plan.readings)]
    return {name for axes in every for name in of(axes)}


def cells_of(
    plan: Plan, combined: Iterable[Combined], contents: Mapping[str, str]
) -> tuple[list[Cell], list[str]]:
    """The cells, each once, and notes on combinations that turn out to be one."""
    exams, wanted = settled_exams(plan.exams), plan.adversaries
    cells: dict[str, Cell] = {}
    same: dict[str, list[dict[str, Any]]] = {}
    for one in combined:
        assert one.corpus is not None
        values = values_of(one.options)
        classes = len(one.corpus.classes)
        model, training = settled(values, classes)
        config = {name: value for name, value in one.corpus.config.items() if value is not None}
        beside = settled_adversaries(wanted, model, training, classes)
        for number, seed in enumerate(plan.seeds):
            cell = Cell(
                corpus=config,
                fingerprint=one.corpus.fingerprint,
                model=model,
                training=training,
                seed=seed,
                exams=exams,
                split=plan.split,
                sample=plan.sample,
                vectors=contents.get(training["vectors"]),
                adversaries=beside,
            )
            cells.setdefault(cell.key, cell)
            if number == 0:
                same.setdefault(cell.key, []).append(values)
    return list(cells.values()), _notes(same.values())


def _notes(groups: Iterable[list[dict[str, Any]]]) -> list[str]:
    combinations: Counter[str] = Counter()
    models: Counter[str] = Counter()
    for group in groups:
        if len(group) > 1:
            why = _why_one(group)
            combinations[why] += len(group)
            models[why] += 1
    notes = []
    for why, number in combinations.items():
        several = "one model" if models[why] == 1 else f"{models[why]:,} models"
        notes.append(f"{number:,} combinations are {several} ({why}): run once")
    return notes


def _why_one(group: Sequence[Mapping[str, Any]]) -> str:
    """Why combinations are one model: in what they differ, and why that does not matter."""
    reasons = []
    for name, default in DEFAULTS.items():
        if len({values.get(name, default) for values in group}) == 1:
            continue
        slot = ACTIVE_WHEN[name][0] if name in ACTIVE_WHEN else None
        chosen = {values.get(slot, DEFAULTS[slot]) for values in group} if slot else set()
        if len(chosen) == 1:
            reasons.append(f"{name} has no effect with {slot} {chosen.pop()}")
        else:
            reasons.append(f"{name} makes no difference")
    return ", ".join(reasons) or "written more than once"

"""From a plan to its cells: crossed, checked for what cannot be, and each once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.vectors import TRAINED as WORD2VEC
from verax.errors import VeraxError
from verax.progress import Progress
from verax.studies.grid import crossing, refusing, vectors
from verax.studies.grid.cell import Cell
from verax.studies.grid.crossing import Combination, combined, count, cross, distinct, values_of
from verax.studies.grid.located import Location, Problems, large
from verax.studies.grid.options import DEFAULTS
from verax.studies.grid.plan import ModelGrid, Plan
from verax.studies.grid.sections import Reading, marks_needed, settled_exams
from verax.training.effects import ACTIVE_WHEN, no_effect, settled_options

MOST_CELLS = 100_000
_TRACED = 50
"""Combinations of one refusal whose lines are searched for: the rest come from the same ones."""


@dataclass(frozen=True)
class Combined:
    """A combination of options, for one corpus."""

    reading: Reading
    corpus: Corpus | None
    options: Combination


def combine(plan: Plan, corpora: Sequence[Corpus | None], problems: Problems) -> list[Combined]:
    """Every combination of every corpus, but those that are excluded."""
    models = sum(count(grid.axes) for grid in plan.models) * count(plan.training)
    cells = models * len(plan.seeds) * sum(count(reading.axes) for reading in plan.readings)
    if cells > MOST_CELLS:
        problems.add(
            f"the grid has {large(cells)} cells: a study has at most {MOST_CELLS:,}",
            code="study.too-large",
        )
        return []
    # of a value that was refused it is not known what it would have excluded
    exclusions_count = not len(problems) and bool(plan.readings)
    everything: dict[int, list[Combined]] = {number: [] for number in range(len(plan.readings))}
    for grid in plan.models:
        kept = 0
        for number, (reading, corpus) in enumerate(zip(plan.readings, corpora, strict=True)):
            options = _not_excluded(grid, reading, plan, problems)
            everything[number] += [Combined(reading, corpus, one) for one in options]
            kept += len(options)
        for exclusion in grid.exclusions if exclusions_count else ():
            if not exclusion.used:
                message = "exclude leaves nothing out: no combination has all of these values"
                problems.add(message, exclusion.location, code="option.not-applicable")
        if exclusions_count and not kept:
            locations = [exclusion.location for exclusion in grid.exclusions]
            problems.add(
                "exclude leaves no model: every combination is left out",
                *locations,
                code="option.conflict",
            )
    # a corpus's cells stand together, whatever mapping of models they come from
    return [one for part in everything.values() for one in part]


def _not_excluded(
    grid: ModelGrid, reading: Reading, plan: Plan, problems: Problems
) -> list[Combination]:
    by_model = list(cross(grid.axes, crossing.BY_MODEL, problems))
    by_training = list(cross(plan.training, crossing.BY_TRAINING, problems))
    by_corpus = list(cross(reading.axes, crossing.BY_CORPUS, problems))
    in_file = distinct(
        combined((t, c, m), problems) for m in by_model for t in by_training for c in by_corpus
    )
    kept = []
    for options in in_file:
        final = combined((options, plan.changed), problems)
        fitting = [exclusion for exclusion in grid.exclusions if exclusion.fits(final)]
        for exclusion in grid.exclusions:
            exclusion.used |= exclusion in fitting or exclusion.fits(options)
        if not fitting:
            kept.append(final)
    return distinct(kept)


def read_files(
    combinations: Iterable[Combined], problems: Problems, progress: bool
) -> tuple[dict[str, str], dict[str, int]]:
    """The hash of each vectors file's content, and its width, by path as written."""
    locations: dict[str, set[Location]] = {}
    for one in combinations:
        setting = one.options.get("vectors")
        if setting is not None and setting.value not in (None, WORD2VEC):
            locations.setdefault(setting.value, set()).add(setting.location)
    hashes, widths = {}, {}
    with Progress(progress) as display:
        for path, where in locations.items():
            try:
                hashes[path] = vectors.content(path, display.watching(f"reading {path}"))
                widths[path] = vectors.width(path)
            except VeraxError as error:
                for location in where:  # a line each
                    problems.add(str(error), location, code=error.code)
    return hashes, widths


def refuse(
    plan: Plan, combinations: Sequence[Combined], widths: Mapping[str, int], problems: Problems
) -> None:
    """Every combination that cannot be, as one problem for each reason.

    Nothing is said about options some of whose values were refused already.
    """
    without_corpus = refusing.Requirements(widths, plan.adversaries)
    corpora = {id(one.corpus): one.corpus for one in combinations}
    requirements = {n: without_corpus.of(c) if c else without_corpus for n, c in corpora.items()}
    numbers: Counter[refusing.Refusal] = Counter()
    locations: dict[refusing.Refusal, set[Location]] = {}
    for one in combinations:
        requirement = requirements[id(one.corpus)]
        refusals = refusing.refusals(values_of(one.options), requirement)
        if refusals and all(numbers[refusal] >= _TRACED for refusal in refusals):
            numbers.update(refusals)
        elif refusals:
            causes = refusing.causes_of(one.options, one.reading.location, requirement)
            numbers.update(causes.keys())
            for refusal, where in causes.items():
                locations.setdefault(refusal, set()).update(where)
    refused = plan.refused_options()
    for refusal, where in locations.items():
        if refused.intersection(refusal.options):
            continue
        share = f" ({numbers[refusal]:,} of {len(combinations):,} combinations)"
        problems.add(
            refusal.message + (share if len(combinations) > 1 else ""), *where, code=refusal.code
        )


def cells_of(
    plan: Plan, combinations: Iterable[Combined], hashes: Mapping[str, str]
) -> tuple[list[Cell], list[str]]:
    """The cells, each once, and notes on combinations that turn out to be one."""
    exams = settled_exams(plan.exams)
    cells: dict[str, Cell] = {}
    same: dict[str, list[dict[str, Any]]] = {}
    for one in combinations:
        assert one.corpus is not None
        values, classes = values_of(one.options), len(one.corpus.classes)
        model, training = settled_options(values, classes)
        adversaries = None
        if plan.adversaries is not None:
            adversaries = plan.adversaries.settled(model, training, classes)
        first = Cell(
            corpus={name: value for name, value in one.corpus.config.items() if value is not None},
            fingerprint=one.corpus.fingerprint,
            model=model,
            training=training,
            seed=plan.seeds[0],
            exams=exams,
            split=plan.options.split,
            sample=plan.options.sample,
            vectors=hashes.get(training["vectors"]),
            adversaries=adversaries,
            rationales=marks_needed(exams, one.corpus),
        )
        same.setdefault(first.key, []).append(values)
        for cell in (first, *(replace(first, seed=seed) for seed in plan.seeds[1:])):
            cells.setdefault(cell.key, cell)
    sizes: dict[str, list[int]] = {}
    for group in same.values():
        if len(group) > 1:
            sizes.setdefault(_why_one(group), []).append(len(group))
    notes = []
    for why, numbers in sizes.items():
        several = "one model" if len(numbers) == 1 else f"{len(numbers):,} models"
        notes.append(f"{sum(numbers):,} combinations are {several} ({why}): run once")
    return list(cells.values()), notes


def _why_one(group: Sequence[Mapping[str, Any]]) -> str:
    """Why combinations are one model: in what they differ, and why that does not matter."""
    reasons = []
    for name, default in DEFAULTS.items():
        if len({values.get(name, default) for values in group}) == 1:
            continue
        decider = ACTIVE_WHEN[name][0] if name in ACTIVE_WHEN else None
        chosen = {values.get(decider, DEFAULTS[decider]) for values in group} if decider else set()
        if len(chosen) == 1:
            reasons.append(no_effect(name, chosen.pop()))
        else:
            reasons.append(f"{name} makes no difference")
    return ", ".join(reasons) or "written more than once"

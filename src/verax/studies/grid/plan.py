"""A study file, section by section: checked, not yet crossed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verax.corpora.corpus import SPLITS
from verax.options import SEED, names, option
from verax.studies.grid import corpora, crossing, exams
from verax.studies.grid.adversaries import AdversaryPlan, read_adversaries
from verax.studies.grid.crossing import Combination, Exclusion
from verax.studies.grid.located import LocatedValue, Location, Problems, located
from verax.studies.grid.options import (
    OF_TRAINING,
    OPTIONS,
    Axis,
    Declared,
    checked,
    declared,
    read_axes,
    read_list,
    read_values,
    unknown,
)
from verax.studies.grid.outside import OutsideModels, read_outside
from verax.studies.grid.study import Hardware

_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")
_SEEDS = Declared("seeds", int, {**SEED, "choices": None, "also": ()}, [0])


@dataclass(frozen=True)
class StudyOptions:
    """The keys of a study file that have one value."""

    name: str | None = option(None, "name of the study, and of its folder (the file's)")
    question: str | None = option(None, "what the study asks")
    split: str = option("test", "documents that are examined", choices=SPLITS)
    sample: int | None = option(None, "how many of them (all)", minimum=1)
    weights: bool = option(False, "keep models, not their results alone")


SECTIONS = (
    *names(StudyOptions),
    *("corpora", "models", "training", "seeds", "exams", "adversaries", "hardware"),
)


@dataclass(frozen=True)
class ModelGrid:
    """One mapping of `models`: its axes, and which of their combinations are left out."""

    axes: tuple[Axis, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What a file asks for, with what the caller asks for laid over it."""

    name: str
    options: StudyOptions = field(default_factory=StudyOptions)
    readings: Sequence[corpora.Reading] = ()
    models: Sequence[ModelGrid] = (ModelGrid(),)
    outside: OutsideModels = field(default_factory=OutsideModels)
    training: tuple[Axis, ...] = ()
    seeds: Sequence[int] = (0,)
    exams: Mapping[str, exams.PlannedExam] = field(default_factory=dict)
    adversaries: AdversaryPlan | None = None
    hardware: Hardware = field(default_factory=Hardware)
    changed: Combination = field(default_factory=dict)

    def refused_options(self) -> set[str]:
        """Options of which a value was refused."""
        lists = [self.training, *(m.axes for m in self.models), *(r.axes for r in self.readings)]
        return {name for axes in lists for name in _refused_in(axes)}


def _refused_in(axes: Iterable[Axis]) -> set[str]:
    refused = {axis.name for axis in axes if not axis.whole}
    return refused.union(*(_refused_in(b.axes) for axis in axes for b in axis.branches))


@dataclass(frozen=True)
class ByCaller:
    """What a caller asks for in place of what the file says; None where the file decides."""

    corpora: Any = None
    seeds: Any = None
    exams: Any = None
    changed: Mapping[str, Any] | None = None


def read_plan(study: LocatedValue, name: str, by_caller: ByCaller, problems: Problems) -> Plan:
    """Read every section; what is wrong with one does not keep the others from being read.

    Args:
        study: the content of the file, or the mapping in its place.
        name: of the study, if it does not say so itself.
        by_caller: what takes the place of the file's sections.
        problems: takes in what is wrong.
    """
    if not isinstance(study.value, dict):
        problems.add("a study is a mapping: at least corpora, such as corpora: sst", study.location)
        return Plan(name)
    for key, part in study.value.items():
        if key not in SECTIONS:
            problems.add(unknown(key, SECTIONS, "key"), part.key)
    # a key without a value is as if it were not there
    sections = {key: part for key, part in study.value.items() if part.value is not None}
    options = _study_options(LocatedValue(sections).only(names(StudyOptions)), problems)
    seeds = _seeds(study.value.get("seeds", LocatedValue(0)), by_caller.seeds, problems)
    nothing = LocatedValue(None)
    outside = read_outside(sections.get("models", nothing))
    if outside:
        for name in ("training", "adversaries"):
            if name in sections:
                message = f"{name} is for models that a study trains: leave it out"
                problems.add(message, sections[name].location)
    return Plan(
        name=options.name or name,
        options=options,
        readings=_readings(study.value.get("corpora"), by_caller.corpora, problems),
        models=() if outside else _models(sections.get("models", nothing), problems),
        outside=outside,
        training=read_axes(_mapping("training", sections, problems), OF_TRAINING, problems),
        seeds=seeds,
        exams=_exams(study.value.get("exams", LocatedValue(exams.ALL)), by_caller.exams, problems),
        adversaries=read_adversaries(sections.get("adversaries", nothing), seeds, problems),
        hardware=_hardware(_mapping("hardware", sections, problems), problems),
        changed=_changed(by_caller.changed or {}, problems),
    )


def _study_options(section: LocatedValue, problems: Problems) -> StudyOptions:
    values = read_values(section, declared(StudyOptions), problems)
    name = values.get("name", "study")
    if not name.strip() or Path(name).name != name or name[0] == ".":
        message = f"name is {name!r}: expected a name that a folder can have"
        problems.add(message, section.value["name"].location)
    return StudyOptions(**values)


def _mapping(name: str, sections: Mapping[str, LocatedValue], problems: Problems) -> LocatedValue:
    part = sections.get(name, LocatedValue({}))
    if isinstance(part.value, dict):
        return part
    problems.add(f"{name} is a mapping of options to values", part.location)
    return LocatedValue({})


def _hardware(section: LocatedValue, problems: Problems) -> Hardware:
    values = read_values(section, declared(Hardware), problems)
    device = values.get("device", "auto")
    if not _DEVICE.fullmatch(device):
        message = f"option 'device' is {device!r}: use auto, cpu, cuda or cuda:1"
        problems.add(message, section.value["device"].location)
    return Hardware(**values)


def _readings(
    section: LocatedValue | None, by_caller: Any, problems: Problems
) -> list[corpora.Reading]:
    readings = [] if section is None else corpora.read_corpora(section, problems)
    if by_caller is not None:
        return corpora.in_place_of(readings, located(by_caller, "corpora"), problems)
    if section is None:
        problems.add("no corpora given: name at least one, such as corpora: sst")
    return readings


def _exams(
    section: LocatedValue, by_caller: Any, problems: Problems
) -> dict[str, exams.PlannedExam]:
    planned = exams.read_exams(section, problems)
    if by_caller is None:
        return planned
    return exams.in_place_of(planned, located(by_caller, "exams"), problems)


def _models(section: LocatedValue, problems: Problems) -> list[ModelGrid]:
    """A mapping, or a list of them, whose combinations are all wanted."""
    grids = []
    for item in section.each:
        if item.value is None:
            grids.append(ModelGrid())
        elif isinstance(item.value, dict):
            options = item.only(n for n in item.value if n != "exclude")
            exclude = item.value.get("exclude", LocatedValue([]))
            axes = read_axes(options, OPTIONS, problems)
            grids.append(ModelGrid(axes, crossing.read_exclusions(exclude, problems)))
        else:
            message = "models is a mapping of options to values, or a list of such mappings"
            problems.add(message, item.location)
    if not section.each:
        message = "models is empty: leave it out for one model with all defaults"
        problems.add(message, section.location)
    return grids


def _seeds(section: LocatedValue, by_caller: Any, problems: Problems) -> list[int]:
    if by_caller is None:
        return list(read_list(_SEEDS, section, problems))
    return list(read_list(_SEEDS, located(by_caller, "seeds"), problems, as_text=True))


def _changed(options: Mapping[str, Any], problems: Problems) -> Combination:
    """Options of the caller: one value each, as a flag or as Python has it."""
    settings = {}
    for name, value in options.items():
        if name not in OPTIONS:
            problems.add(unknown(name, OPTIONS))
            continue
        with problems.at():
            plain = checked(OPTIONS[name], located(value, name).plain(), as_text=True)
            location = Location(0, f"{name} as set")
            settings[name] = crossing.Setting(plain, location, crossing.BY_CALLER)
    return settings

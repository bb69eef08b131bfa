"""A study file, section by section: checked, not yet crossed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verax.corpora.corpus import SPLITS
from verax.options import SEED, names, option
from verax.studies.grid import crossing, sections
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
_NOTHING = LocatedValue(None)


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
    readings: Sequence[sections.Reading] = ()
    models: Sequence[ModelGrid] = (ModelGrid(),)
    outside: OutsideModels = field(default_factory=dict)
    training: tuple[Axis, ...] = ()
    seeds: Sequence[int] = (0,)
    exams: Mapping[str, sections.PlannedExam] = field(default_factory=dict)
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


def read_plan(
    study: LocatedValue,
    name: str,
    problems: Problems,
    *,
    corpora: Any = None,
    seeds: Any = None,
    exams: Any = None,
    changed: Mapping[str, Any] | None = None,
) -> Plan:
    """Read every section; what is wrong with one does not keep the others from being read.

    Args:
        study: the content of the file, or the mapping in its place.
        name: of the study, if it does not say so itself.
        problems: takes in what is wrong.
        corpora, seeds, exams: take the place of the file's sections.
        changed: options over all others.
    """
    if not isinstance(study.value, dict):
        problems.add(
            "a study is a mapping: at least corpora, such as corpora: sst",
            study.location,
            code="option.wrong-type",
        )
        return Plan(name)
    for key, part in study.value.items():
        if key not in SECTIONS:
            problems.add(unknown(key, SECTIONS, "key"), part.key, code="study.unknown-key")
    # a key without a value is as if it were not there
    given = {key: part for key, part in study.value.items() if part.value is not None}
    section = LocatedValue(given).only(names(StudyOptions))
    options = StudyOptions(**read_values(section, declared(StudyOptions), problems))
    called = "study" if options.name is None else options.name
    if not called.strip() or Path(called).name != called or called[0] == ".":
        message = f"name is {called!r}: expected a name that a folder can have"
        problems.add(message, given["name"].location, code="file.bad-name")
    section = study.value.get("seeds", LocatedValue(0))
    section = section if seeds is None else located(seeds, "seeds")
    all_seeds = list(read_list(_SEEDS, section, problems, as_text=seeds is not None))
    outside = read_outside(given.get("models", _NOTHING))
    for key in {"training", "adversaries"} & set(given) if outside else ():
        problems.add(
            f"{key} is for models that a study trains: leave it out",
            given[key].location,
            code="option.not-applicable",
        )
    section = study.value.get("exams", LocatedValue(sections.ALL))
    return Plan(
        name=options.name or name,
        options=options,
        readings=sections.read_corpora(study.value.get("corpora"), corpora, problems),
        models=() if outside else _models(given.get("models", _NOTHING), problems),
        outside=outside,
        training=read_axes(_mapping("training", given, problems), OF_TRAINING, problems),
        seeds=all_seeds,
        exams=sections.read_exams(section, exams, problems),
        adversaries=read_adversaries(given.get("adversaries", _NOTHING), all_seeds, problems),
        hardware=_hardware(_mapping("hardware", given, problems), problems),
        changed=_changed(changed or {}, problems),
    )


def _mapping(name: str, given: Mapping[str, LocatedValue], problems: Problems) -> LocatedValue:
    part = given.get(name, LocatedValue({}))
    if isinstance(part.value, dict):
        return part
    problems.add(
        f"{name} is a mapping of options to values", part.location, code="option.wrong-type"
    )
    return LocatedValue({})


def _hardware(section: LocatedValue, problems: Problems) -> Hardware:
    hardware = Hardware(**read_values(section, declared(Hardware), problems))
    if not _DEVICE.fullmatch(hardware.device):
        message = f"option 'device' is {hardware.device!r}: use auto, cpu, cuda or cuda:1"
        problems.add(message, section.value["device"].location, code="device.unknown")
    return hardware


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
            problems.add(message, item.location, code="option.wrong-type")
    if not section.each:
        message = "models is empty: leave it out for one model with all defaults"
        problems.add(message, section.location, code="option.empty")
    return grids


def _changed(options: Mapping[str, Any], problems: Problems) -> Combination:
    """Options of the caller: one value each, as a flag or as Python has it."""
    settings = {}
    for name, value in options.items():
        if name not in OPTIONS:
            problems.add(unknown(name, OPTIONS), code="option.unknown")
            continue
        with problems.at():
            plain = checked(OPTIONS[name], located(value, name).plain(), as_text=True)
            location = Location(0, f"{name} as set")
            settings[name] = crossing.Setting(plain, location, crossing.BY_CALLER)
    return settings

"""A study file, section by section: checked, not yet crossed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verax.corpora.corpus import SPLITS
from verax.errors import VeraxError
from verax.options import SEED, check
from verax.studies.grid import corpora, exams
from verax.studies.grid.adversaries import Wanted, refuse_bases_again, wanted_of
from verax.studies.grid.corpora import Reading
from verax.studies.grid.crossing import BY_HAND, Combination, Exclusion, Setting, exclusions_of
from verax.studies.grid.exams import Asked
from verax.studies.grid.hardware import Hardware
from verax.studies.grid.lines import Written, as_written
from verax.studies.grid.problems import Place, Problems
from verax.studies.grid.settings import (
    OPTIONS,
    TRAINED,
    Axis,
    Declared,
    axes_of,
    checked_text,
    declared,
    one_by_one,
    unknown,
)

_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")
SECTIONS = (
    "name",
    "question",
    "corpora",
    "models",
    "training",
    "seeds",
    "exams",
    "adversaries",
    "split",
    "sample",
    "weights",
    "hardware",
)


@dataclass(frozen=True)
class Models:
    """One mapping of `models`: its axes, and which of their combinations are left out."""

    axes: tuple[Axis, ...] = ()
    exclusions: tuple[Exclusion, ...] = ()


@dataclass(frozen=True)
class Plan:
    """What a file asks for, with what was asked for by hand laid over it."""

    name: str
    question: str | None = None
    readings: Sequence[Reading] = ()
    models: Sequence[Models] = (Models(),)
    training: tuple[Axis, ...] = ()
    seeds: Sequence[int] = (0,)
    exams: Mapping[str, Asked] = field(default_factory=dict)
    adversaries: Wanted | None = None
    split: str = "test"
    sample: int | None = None
    weights: bool = False
    hardware: Hardware = field(default_factory=Hardware)
    changed: Combination = field(default_factory=dict)


@dataclass(frozen=True)
class ByHand:
    """What a caller asks for in place of what the file says; None where it may say."""

    corpora: Any = None
    seeds: Any = None
    exams: Any = None
    changed: Mapping[str, Any] | None = None


def plan_of(written: Written, name: str, by_hand: ByHand, problems: Problems) -> Plan:
    """Read every section; what is wrong with one does not keep the others from being read."""
    if not isinstance(written.value, dict):
        problems.add("a study is a mapping: at least corpora, such as corpora: sst", written.place)
        return Plan(name)
    parts = written.value
    for key in parts:
        if key not in SECTIONS:
            problems.add(unknown(key, SECTIONS, "key"), written.keys[key])
    training = _mapping("training", parts, problems)
    hardware = _mapping("hardware", parts, problems)
    seeds = _seeds(parts, by_hand, problems)
    return Plan(
        name=_name(parts, problems) or name,
        question=_one("question", str, parts, problems),
        readings=_readings(parts, by_hand, problems),
        models=_models(parts["models"], problems) if "models" in parts else [Models()],
        training=axes_of(training, TRAINED, problems),
        seeds=seeds,
        exams=_exams(parts, by_hand, problems),
        adversaries=_adversaries(parts, seeds, problems),
        split=_one("split", str, parts, problems, choices=SPLITS) or "test",
        sample=_one("sample", int, parts, problems, minimum=1),
        weights=bool(_one("weights", bool, parts, problems)),
        hardware=_hardware(hardware, problems),
        changed=_changed(by_hand.changed or {}, problems),
    )


def _hardware(written: Written, problems: Problems) -> Hardware:
    values = one_by_one(written, declared(Hardware), problems)
    device = values.get("device", "auto")
    if not _DEVICE.fullmatch(device):
        told = f"option 'device' is {device!r}: use auto, cpu, cuda or cuda:1"
        problems.add(told, written.value["device"].place)
    return Hardware(**values)


def _one(
    name: str, kind: type, parts: Mapping[str, Written], problems: Problems, **how: Any
) -> Any:
    """A section that is one value; None where it is not given."""
    if name not in parts or parts[name].value is None:
        return None
    metadata = {"choices": None, "minimum": None, "also": (), **how}
    try:
        value = parts[name].plain()
        if isinstance(value, list | dict):
            raise VeraxError(f"{name} takes one value")
        return check(name, value, kind, metadata)
    except VeraxError as error:
        message = str(error).replace(f"option {name!r}", name, 1)
        problems.add(message, parts[name].place)
        return None


def _name(parts: Mapping[str, Written], problems: Problems) -> str | None:
    name = _one("name", str, parts, problems)
    if name is not None and (not name.strip() or Path(name).name != name or name[0] == "."):
        problems.add(
            f"name is {name!r}: expected a name that a folder can have", parts["name"].place
        )
        return None
    return name


def _mapping(name: str, parts: Mapping[str, Written], problems: Problems) -> Written:
    written = parts.get(name, Written({}, Place()))
    if written.value is None:
        return Written({}, written.place)
    if not isinstance(written.value, dict):
        problems.add(f"{name} is a mapping of options to values", written.place)
        return Written({}, written.place)
    return written


def _readings(parts: Mapping[str, Written], by_hand: ByHand, problems: Problems) -> list[Reading]:
    found = []
    if "corpora" in parts:
        found = corpora.readings_of(parts["corpora"], problems)
    elif by_hand.corpora is None:
        problems.add("no corpora given: name at least one, such as corpora: sst")
    if by_hand.corpora is not None:
        found = corpora.overridden(found, as_written(by_hand.corpora, "corpora"), problems)
    return found


def _models(written: Written, problems: Problems) -> list[Models]:
    """A mapping, or a list of them, whose combinations are all wanted."""
    found = []
    for item in written.value if isinstance(written.value, list) else [written]:
        if item.value is None:
            found.append(Models())
        elif not isinstance(item.value, dict):
            problems.add(
                "models is a mapping of options to values, or a list of such mappings", item.place
            )
        else:
            rest = {name: part for name, part in item.value.items() if name != "exclude"}
            exclude = item.value.get("exclude")
            found.append(
                Models(
                    axes_of(Written(rest, item.place, item.keys), OPTIONS, problems),
                    tuple(exclusions_of(exclude, problems) if exclude is not None else ()),
                )
            )
    if written.value == []:
        problems.add("models is empty: leave it out for one model with all defaults", written.place)
    return found


def _seeds(parts: Mapping[str, Written], by_hand: ByHand, problems: Problems) -> list[int]:
    written = parts.get("seeds", Written(0, Place()))
    if by_hand.seeds is not None:
        written = as_written(by_hand.seeds, "seeds")
    option = Declared("seed", int, {**SEED, "choices": None, "also": ()}, 0)
    found: list[int] = []
    items = written.value if isinstance(written.value, list) else [written]
    if not items:
        problems.add("seeds is empty: give at least one", written.place)
    for item in items:
        try:
            value = item.plain()
            seed = (
                checked_text(option, value)
                if by_hand.seeds is not None
                else check("seed", value, int, option.metadata)
            )
        except VeraxError as error:
            problems.add(str(error).replace("option 'seed'", "seed", 1), item.place)
            continue
        if seed in found:
            problems.add(f"seed {seed} is there twice", item.place)
        else:
            found.append(seed)
    return found


def _exams(parts: Mapping[str, Written], by_hand: ByHand, problems: Problems) -> dict[str, Asked]:
    found = exams.asked_of(parts.get("exams", Written(exams.ALL, Place())), problems)
    if by_hand.exams is not None:
        found = exams.overridden(found, as_written(by_hand.exams, "exams"), problems)
    return found


def _adversaries(
    parts: Mapping[str, Written], seeds: Sequence[int], problems: Problems
) -> Wanted | None:
    found = wanted_of(parts.get("adversaries", Written(None, Place())), problems)
    if found is not None:
        refuse_bases_again(found, seeds, problems)
    return found


def _changed(given: Mapping[str, Any], problems: Problems) -> Combination:
    """Options set by hand: one value each, as a flag or as Python has it."""
    found = {}
    for name, value in given.items():
        place = Place(0, f"{name} as set")
        if name not in OPTIONS:
            problems.add(unknown(name, list(OPTIONS)), Place())
            continue
        try:
            plain = as_written(value, name).plain()
            found[name] = Setting(checked_text(OPTIONS[name], plain), place, BY_HAND)
        except VeraxError as error:
            problems.add(str(error))
    return found

"""The sections of a study, checked: options with their values, not yet crossed.

    lr: [1e-3, 3e-4]
    projection: [softmax, {sparsegen: {lam: [0.25, 0.75]}}]

An option has one value or several; a value may bring options of its own, which hold for it alone.
"""

from __future__ import annotations

import dataclasses
import re
import reprlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path as FilePath
from typing import Any, NamedTuple

from verax.corpora.corpus import SPLITS
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.errors import VeraxError, nearest
from verax.exams.registry import EXAMS, default_exams
from verax.external.opening import is_outside
from verax.models.options import AUTO, ModelOptions
from verax.options import SEED, build, check, hints, kind_of, names, option, parse
from verax.studies.adversary_scores import LAMS
from verax.studies.grid.source import Path, Place, Problems, plain
from verax.studies.grid.study import Hardware
from verax.training.adversary import DEFAULTS as OF_ADVERSARIES
from verax.training.adversary import UNIFORM
from verax.training.options import TrainingOptions

# -- options


@dataclass(frozen=True)
class Declared:
    """An option as its dataclass declares it."""

    name: str
    hint: Any
    metadata: Mapping[str, Any]
    default: Any

    @property
    def choices(self) -> Collection[str]:
        return self.metadata["choices"] or ()


def declared(*classes: type) -> dict[str, Declared]:
    """Every option of these dataclasses, by name."""
    return {
        f.name: Declared(f.name, hints(cls)[f.name], f.metadata, f.default)
        for cls in classes
        for f in dataclasses.fields(cls)
    }


OF_TRAINING = {n: d for n, d in declared(TrainingOptions).items() if n != "max_tokens"}
"""Options of training that a cell may set: how much is held at once is a hint for machines."""
OPTIONS = {**declared(ModelOptions), **OF_TRAINING}
DEFAULTS = {name: option.default for name, option in OPTIONS.items()}

_LISTED = {"strengths": '"0.1,1"', "epsilons": '"0.05,0.5"'} | dict.fromkeys(
    ("inputs", "items", "entropy_of"), '"gradient,leave-one-out"'
)
"""Options that are a list in text, and how one is written."""


class Setting(NamedTuple):
    """The value of an option, and where it was written."""

    value: Any
    place: Place


class Alternative(NamedTuple):
    """One of the values of an option, with the options that hold for it alone."""

    setting: Setting
    options: Mapping[str, Sequence[Alternative]]


Grid = Mapping[str, Sequence[Alternative]]
"""Option → its alternatives: each is to be combined with each of every other option."""


def checked(option: Declared, value: Any, as_text: bool = False) -> Any:
    """Return a value in the kind that an option takes.

    Args:
        option: the option it is for.
        value: the value as a study file or Python has it.
        as_text: whether text may stand for it as a flag has it: `2`, `1e-3`, `none`.
    """
    kind, optional = kind_of(option.hint)
    if as_text and isinstance(value, str) and value not in option.metadata["also"]:
        value = None if optional and value.lower() == "none" else parse(option.name, value, kind)
    if isinstance(value, list) and option.name in _LISTED:
        how = f"write it as text, such as {_LISTED[option.name]}"
        raise VeraxError(f"option {option.name!r} is a list: {how}", code="option.wrong-type")
    if isinstance(value, list) or (isinstance(value, dict) and kind is not dict):
        what = "list" if isinstance(value, list) else "mapping"
        raise VeraxError(
            f"option {option.name!r} is a {what}: expected one value", code="option.wrong-type"
        )
    if value is None and not optional:
        expected = nearest("", option.choices) if option.choices else "give one, or leave it out"
        raise VeraxError(f"option {option.name!r} has no value: {expected}", code="option.missing")
    value = check(option.name, value, option.hint, option.metadata)
    # −0 is 0, but would not be written as it
    return value + 0.0 if isinstance(value, float) else value


_ELSEWHERE = {
    "seed": "a study has seeds, such as seeds: [0, 1], or --seeds 0,1",
    "seeds": "it is a key of the study itself, or --seeds 0,1",
    "exclude": "put it under models",
}
_SECTIONS: dict[str, Collection[str]] = {
    "training": OF_TRAINING,
    "models": names(ModelOptions),
    "hardware": names(Hardware),
    "corpora, with the corpus it is for": names(CorpusOptions),
}


def unknown(name: str, valid: Collection[str], what: str = "option") -> str:
    """Return the message about a name that stands where it is not valid."""
    belongs = None
    if name in _ELSEWHERE and not (name == "seed" and "seeds" in valid):
        belongs = _ELSEWHERE[name]
    elif slot := next((o.name for o in OPTIONS.values() if name in o.choices), None):
        belongs = (
            f"it is a choice of {slot}, as in {slot}: {name}, or with options "
            f"{slot}: {{{name}: {{…}}}}"
        )
    elif section := next((s for s, options in _SECTIONS.items() if name in options), None):
        belongs = f"put it under {section}"
    if belongs is None:
        return f"unknown {what} {name!r}: {nearest(name, valid)}"
    return f"{what} {name!r} does not belong here: {belongs}"


def _each(value: Any, path: Path) -> list[tuple[Any, Path]]:
    """The items of a list; a value that is no list is one alone."""
    if isinstance(value, list):
        return [(item, (*path, number)) for number, item in enumerate(value)]
    return [(value, path)]


def _known(
    section: Mapping[str, Any], path: Path, options: Mapping[str, Declared], problems: Problems
) -> Iterator[tuple[Declared, Any, Path]]:
    """Each option of a mapping with its value; a name that is no option is a problem."""
    for name, value in section.items():
        if name in options:
            yield options[name], value, (*path, name)
        else:
            problems.add(unknown(name, options), (*path, name), code="option.unknown")


def read_values(
    section: Mapping[str, Any], path: Path, options: Mapping[str, Declared], problems: Problems
) -> dict[str, Any]:
    """Return the values of a mapping of options with one value each."""
    values = {}
    for known, value, at in _known(section, path, options, problems):
        with problems.at(at):
            values[known.name] = checked(known, value)
    return values


def read_grid(
    section: Mapping[str, Any],
    path: Path,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...] = (),
) -> Grid:
    """Return the alternatives of each option of a mapping.

    Args:
        section: options, each with a value or a list of them; a value that is a choice may be
            written as a mapping, `{sparsegen: {lam: 0.5}}`, with the options that go with it.
        path: where the mapping is.
        options: those that it may set.
        problems: takes in what is wrong.
        within: the options whose choices the mapping belongs to.
    """
    grid = {}
    for known, value, at in _known(section, path, options, problems):
        if known.name in within:
            problem = f"option {known.name!r} is set inside its own choice"
            problems.add(problem, at, code="option.conflict")
            continue
        before = len(problems)
        grid[known.name] = _alternatives(known, value, at, options, problems, within)
        if len(problems) > before:
            problems.refused.add(known.name)
    return grid


def _alternatives(
    option: Declared,
    given: Any,
    path: Path,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...] = (),
    *,
    as_text: bool = False,
) -> list[Alternative]:
    """The values of an option that takes one or several, with the options that each brings."""
    found: list[Alternative] = []
    if given == [] and option.default != [] and option.name not in _LISTED:
        problem = f"option {option.name!r} is an empty list: give values"
        problems.add(problem, path, code="option.empty")
    for item, at in [(given, path)] if option.name in _LISTED else _each(given, path):
        if isinstance(item, dict) and option.choices:
            found += _choices(option, item, at, options, problems, (*within, option.name))
            continue
        with problems.at(at):
            value = checked(option, item, as_text)
            if any(other.setting.value == value and not other.options for other in found):
                raise VeraxError(
                    f"option {option.name!r} has {value!r} twice", code="option.duplicate"
                )
            found.append(Alternative(Setting(value, problems.place(at)), {}))
    return found


def _choices(
    option: Declared,
    mapping: Mapping[str, Any],
    path: Path,
    options: Mapping[str, Declared],
    problems: Problems,
    within: tuple[str, ...],
) -> list[Alternative]:
    found = []
    if not mapping:
        problem = f"option {option.name!r} is an empty mapping: name a choice"
        problems.add(problem, path, code="option.empty")
    for choice, section in mapping.items():
        at = (*path, choice)
        with problems.at(at):
            setting = Setting(checked(option, choice), problems.place(at))
            if section is not None and not isinstance(section, dict):
                raise VeraxError(
                    f"{option.name} {choice!r} is given {reprlib.repr(section)}: expected options "
                    "that go with it, such as {lam: 0.5}",
                    code="option.wrong-type",
                )
            grid = read_grid(section or {}, at, options, problems, within)
            found.append(Alternative(setting, grid))
    return found


def _read_list(
    option: Declared, given: Any, path: Path, problems: Problems, *, as_text: bool = False
) -> dict[Any, Place]:
    """The values of an option that takes one or several, each with its place."""
    found = _alternatives(option, given, path, {}, problems, as_text=as_text)
    return {one.setting.value: one.setting.place for one in found}


# -- sections


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
class CorpusSpec:
    """A corpus to load: its options, and training options that hold for it alone.

    `whole` is false where something was wrong with it.
    """

    name: str
    place: Place
    options: Mapping[str, Any] = field(default_factory=dict)
    training: Grid = field(default_factory=dict)
    whole: bool = True

    @property
    def settings(self) -> Any:
        """All that is set, in any order, without places."""
        return self.name, self.options, _without_places(self.training)


def _without_places(grid: Grid) -> Any:
    return {
        name: [(one.setting.value, _without_places(one.options)) for one in alternatives]
        for name, alternatives in grid.items()
    }


@dataclass
class Exclusion:
    """Combinations to leave out: those with one of these values in each of these options."""

    place: Place
    values: Mapping[str, Sequence[Any]]
    used: bool = False

    def fits(self, combination: Mapping[str, Setting]) -> bool:
        return all(
            (combination[name].value if name in combination else DEFAULTS[name]) in values
            for name, values in self.values.items()
        )


@dataclass(frozen=True)
class ModelGrid:
    """One mapping of `models`, and which of its combinations are left out."""

    options: Grid = field(default_factory=dict)
    exclusions: Sequence[Exclusion] = ()


@dataclass(frozen=True)
class AdversaryPlan:
    """The adversaries of a study.

    place     of the whole section
    keywords  lams, seeds, retrain and controls, each with its default where it is not given
    options   of the adversaries, as given; none where something is wrong with one
    """

    place: Place
    keywords: Mapping[str, Any]
    options: Mapping[str, Setting] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """A study, checked section by section, with what the caller sets in place of the file.

    exams    exam → the options given for it; None where `all` brought it
    outside  name → source, of models that were not trained here
    changed  options that the caller sets over all others
    """

    name: str
    options: StudyOptions = field(default_factory=StudyOptions)
    corpora: Sequence[CorpusSpec] = ()
    models: Sequence[ModelGrid] = (ModelGrid(),)
    outside: Mapping[str, Setting] = field(default_factory=dict)
    training: Grid = field(default_factory=dict)
    seeds: Sequence[int] = (0,)
    exams: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    adversaries: AdversaryPlan | None = None
    hardware: Hardware = field(default_factory=Hardware)
    changed: Mapping[str, Setting] = field(default_factory=dict)


_DEVICE = re.compile(r"auto|cpu|cuda(:\d+)?")
_BARE: Mapping[str, Any] = {"choices": None, "also": ()}
_SEEDS = Declared("seeds", int, {**_BARE, **SEED}, [0])


def read_plan(
    study: Any,
    name: str,
    problems: Problems,
    *,
    corpora: Any = None,
    seeds: Any = None,
    exams: Any = None,
    changed: Mapping[str, Any] | None = None,
) -> Plan:
    """Check every section; what is wrong with one does not keep the others from being checked.

    Args:
        study: the content of the file, or the mapping in its place, as plain data.
        name: of the study, if it does not say so itself.
        problems: takes in what is wrong.
        corpora, seeds, exams: take the place of the file's sections.
        changed: options over all others.
    """
    if not isinstance(study, dict):
        expected = "a study is a mapping: at least corpora, such as corpora: sst"
        problems.add(expected, (), code="option.wrong-type")
        return Plan(name)
    for key in study:
        if key not in SECTIONS:
            problems.add(unknown(key, SECTIONS, "key"), (key,), code="study.unknown-key")
    # a key without a value is as if it were not there
    given = {key: part for key, part in study.items() if part is not None}
    own = {key: part for key, part in given.items() if key in names(StudyOptions)}
    options = StudyOptions(**read_values(own, (), declared(StudyOptions), problems))
    called = "study" if options.name is None else options.name
    if not called.strip() or FilePath(called).name != called or called[0] == ".":
        expected = f"name is {called!r}: expected a name that a folder can have"
        problems.add(expected, ("name",), code="file.bad-name")
    by_caller = problems.of_caller()
    if seeds is None:
        all_seeds = list(_read_list(_SEEDS, study.get("seeds", 0), ("seeds",), problems))
    else:
        all_seeds = list(_read_list(_SEEDS, plain(seeds), ("seeds",), by_caller, as_text=True))
    outside = _outside(given.get("models"), problems)
    for key in {"training", "adversaries"} & set(given) if outside else ():
        why = f"{key} is for models that a study trains: leave it out"
        problems.add(why, (key,), code="option.not-applicable")
    hardware = Hardware(
        **read_values(_mapping("hardware", given, problems), ("hardware",), _HARDWARE, problems)
    )
    if not _DEVICE.fullmatch(hardware.device):
        expected = f"option 'device' is {hardware.device!r}: use auto, cpu, cuda or cuda:1"
        problems.add(expected, ("hardware", "device"), code="device.unknown")
    return Plan(
        name=options.name or name,
        options=options,
        corpora=_corpora(study, corpora, problems, by_caller),
        models=() if outside else _models(given.get("models"), problems),
        outside=outside,
        training=read_grid(
            _mapping("training", given, problems), ("training",), OF_TRAINING, problems
        ),
        seeds=all_seeds,
        exams=_exams(study, exams, problems, by_caller),
        adversaries=_adversaries(given.get("adversaries"), all_seeds, problems),
        hardware=hardware,
        changed=_changed(changed or {}, problems),
    )


_HARDWARE = declared(Hardware)


def _mapping(name: str, given: Mapping[str, Any], problems: Problems) -> dict[str, Any]:
    section = given.get(name, {})
    if isinstance(section, dict):
        return section
    problems.add(f"{name} is a mapping of options to values", (name,), code="option.wrong-type")
    return {}


def _outside(section: Any, problems: Problems) -> dict[str, Setting]:
    """The models of a mapping whose values all name models from outside; none of any other."""

    def is_named(value: Any) -> bool:
        try:
            return isinstance(value, str) and is_outside(value)
        except VeraxError:  # what is wrong with it is noted where it is read
            return True

    parts = section if isinstance(section, dict) else {}
    if not all(is_named(source) for source in parts.values()):
        return {}
    return {n: Setting(source, problems.place(("models", n))) for n, source in parts.items()}


def _models(section: Any, problems: Problems) -> list[ModelGrid]:
    """A mapping, or a list of them, whose combinations are all wanted."""
    grids = []
    for item, at in _each(section, ("models",)):
        if isinstance(item, dict):
            options = {name: part for name, part in item.items() if name != "exclude"}
            exclusions = _exclusions(item.get("exclude", []), (*at, "exclude"), problems)
            grids.append(ModelGrid(read_grid(options, at, OPTIONS, problems), exclusions))
        elif item is None:
            grids.append(ModelGrid())
        else:
            expected = "models is a mapping of options to values, or a list of such mappings"
            problems.add(expected, at, code="option.wrong-type")
    if section == []:
        advice = "models is empty: leave it out for one model with all defaults"
        problems.add(advice, ("models",), code="option.empty")
    return grids


def _exclusions(section: Any, path: Path, problems: Problems) -> list[Exclusion]:
    """`exclude: [{encoder: none, grounding: [tying, mlm]}]`, or one such mapping."""
    exclusions = []
    for item, at in _each(section, path):
        if not isinstance(item, dict) or not item:
            expected = "exclude takes mappings of options to values, such as {encoder: none}"
            problems.add(expected, at, code="option.wrong-type")
            continue
        before = len(problems)
        values: dict[str, list[Any]] = {name: [] for name in item}
        for known, part, where in _known(item, at, OPTIONS, problems):
            for one, place in _each(part, where):
                with problems.at(place):
                    values[known.name].append(checked(known, one))
        if len(problems) == before:
            exclusions.append(Exclusion(problems.place(at), values))
    return exclusions


def _changed(options: Mapping[str, Any], problems: Problems) -> dict[str, Setting]:
    """Options of the caller: one value each, as a flag or as Python has it."""
    settings = {}
    for name, value in options.items():
        if name not in OPTIONS:
            problems.add(unknown(name, OPTIONS), code="option.unknown")
            continue
        with problems.at():
            one = checked(OPTIONS[name], plain(value), as_text=True)
            settings[name] = Setting(one, f"{name} as set")
    return settings


# -- corpora and exams: names, each with its options

ALL = "all"
_CORPORA = "expected names of corpora, such as [sst, {imdb: {max_length: 400}}]"
_EXAMS = "expected names of exams, such as [erasure, {replacement: {permutations: 10}}], or all"


def _named(
    section: Any, path: Path, what: str, expected: str, example: str, problems: Problems
) -> Iterator[tuple[str, Path, dict[str, Any] | None]]:
    """Each name with its options, of a name, a list of names and mappings, or a mapping.

    Options are a mapping that may be empty, or None where they were refused.
    """
    before, empty = len(problems), True
    for item, at in _each(section, path):
        if isinstance(item, str) and item:
            empty = False
            yield item, at, {}
        elif isinstance(item, dict) and item:
            empty = False
            for name, options in item.items():
                if options is not None and not isinstance(options, dict):
                    problems.add(
                        f"{what} {name!r} is given {options!r:.60}: expected options, such as "
                        f"{example}",
                        (*at, name),
                        code="option.wrong-type",
                    )
                    yield name, (*at, name), None
                else:
                    yield name, (*at, name), options or {}
        else:
            problem = f"{item!r:.60} is no {what}: {expected}"
            problems.add(problem, at, code="option.wrong-type")
    if empty and len(problems) == before:
        problems.add(f"no {what} given: {expected}", path, code="option.missing")


def _corpora(
    study: Mapping[str, Any], chosen: Any, problems: Problems, by_caller: Problems
) -> list[CorpusSpec]:
    """The corpora of the file, or of the caller; one that both name keeps the file's options."""
    if "corpora" not in study and chosen is None:
        advice = "no corpora given: name at least one, such as corpora: sst"
        problems.add(advice, code="option.missing")
    in_file = _specs(study["corpora"], problems) if "corpora" in study else []
    if chosen is None:
        return in_file
    specs: list[CorpusSpec] = []
    for spec in _specs(plain(chosen), by_caller):
        bare = not spec.options and not spec.training
        specs += [s for s in in_file if bare and s.name == spec.name] or [spec]
    return specs


def _specs(section: Any, problems: Problems) -> list[CorpusSpec]:
    specs: list[CorpusSpec] = []
    parts = _named(section, ("corpora",), "corpus", _CORPORA, "{max_length: 400}", problems)
    for name, at, given in parts:
        spec = CorpusSpec(name, problems.place(at), whole=False)
        if given is not None:
            before = len(problems)
            known = declared(CorpusOptions)
            if name.partition(":")[0] == "planted":
                known |= declared(Planted)
            own = {n: value for n, value in given.items() if n not in OF_TRAINING}
            options = read_values(own, at, {**known, **OF_TRAINING}, problems)
            whole = len(problems) == before
            of_training = {n: value for n, value in given.items() if n in OF_TRAINING}
            training = read_grid(of_training, at, OF_TRAINING, problems)
            spec = CorpusSpec(name, problems.place(at), options, training, whole)
        if spec.settings in [other.settings for other in specs]:
            problems.add(f"corpus {name!r} is given twice", at, code="option.duplicate")
        specs.append(spec)
    return specs


def _exams(
    study: Mapping[str, Any], chosen: Any, problems: Problems, by_caller: Problems
) -> dict[str, Mapping[str, Any] | None]:
    """The exams of the file, or of the caller; one that both name keeps the file's options."""
    in_file = _exams_of(study.get("exams", ALL), problems)
    if chosen is None:
        return in_file
    exams = _exams_of(plain(chosen), by_caller)
    return {n: in_file[n] if n in in_file and not given else given for n, given in exams.items()}


def _exams_of(section: Any, problems: Problems) -> dict[str, Mapping[str, Any] | None]:
    exams: dict[str, Mapping[str, Any] | None] = {}
    parts = _named(section, ("exams",), "exam", _EXAMS, "{permutations: 10}", problems)
    for name, at, given in parts:
        if name == ALL:
            if given:
                advice = "options belong to one exam: name it beside 'all'"
                problems.add(advice, at, code="option.ambiguous")
            exams = {**dict.fromkeys(default_exams()), **exams}
        elif name not in EXAMS:
            problem = f"unknown exam {name!r}: {nearest(name, [*EXAMS, ALL])}"
            problems.add(problem, at, code="option.unknown-value")
        elif exams.get(name) is not None:
            problems.add(f"exam {name!r} is given twice", at, code="option.duplicate")
        else:
            exams[name] = _exam_options(name, given or {}, at, problems)
    return {name: exams[name] for name in EXAMS if name in exams}


def _exam_options(
    name: str, section: Mapping[str, Any], path: Path, problems: Problems
) -> dict[str, Any]:
    """The options of an exam; what the exam itself refuses is a problem, with its lines."""
    before = len(problems)
    options = read_values(section, path, declared(EXAMS[name].options_class), problems)

    def refusal(without: str = "") -> tuple[str, str] | None:
        values = {n: v for n, v in options.items() if n != without}
        try:
            EXAMS[name](build(EXAMS[name].options_class, values), 0, {})
        except VeraxError as error:
            return str(error), error.code
        return None

    refused = refusal() if len(problems) == before else None
    if refused is not None:
        causes = [(*path, option) for option in options if refusal(option) != refused]
        problems.add(refused[0], *(causes or [path]), code=refused[1])
    return options


# -- adversaries

_EXPECTED = "expected true, false, or options such as {lams: [0, 0.1, 1], retrain: [2, 3]}"
_LISTS = {
    "lams": Declared("lams", float, {**_BARE, "minimum": 0}, list(LAMS)),
    "seeds": Declared("seeds", int, {**_BARE, **SEED}, [1]),
    "retrain": Declared("retrain", int, {**_BARE, **SEED}, []),
}
_CONTROLS = Declared("controls", bool, _BARE, True)
NOT_ITS_OWN = ("hierarchical", "class_weight", "strengths", "min_df", "max_vocabulary", "vectors")
"""Options that no adversary may choose: they come with the base, or with the objective."""
_REFUSED = {
    **dict.fromkeys(NOT_ITS_OWN, "no adversary may choose it, leave it out"),
    "lam": "what adversaries are trained with is lams, such as lams: [0, 0.1, 1]",
}
_OPTIONS_OF_ADVERSARIES = {
    **_LISTS,
    "controls": _CONTROLS,
    **{name: option for name, option in OPTIONS.items() if name not in _REFUSED},
}
_IMPOSSIBLE = {
    ("projection", UNIFORM): "an adversary's attention must be free to move, leave it out",
    ("strength", AUTO): "an adversary has its base's, leave it out or give a number",
}


def _adversaries(section: Any, seeds: Sequence[int], problems: Problems) -> AdversaryPlan | None:
    """`true` or a mapping of options; None where there are to be no adversaries.

    `seeds` are those of the study: the base retrained with one of them is the base.
    """
    path: Path = ("adversaries",)
    if section is None or section is False:
        return None
    if section is True:
        section = {}
    if not isinstance(section, dict):
        problems.add(f"adversaries is {section!r:.60}: {_EXPECTED}", path, code="option.wrong-type")
        return None
    lists = {
        name: _read_list(option, section[name], (*path, name), problems)
        for name, option in _LISTS.items()
        if name in section
    }
    for seed, at in lists.get("retrain", {}).items():
        if seed in seeds:
            problems.add(
                f"cannot retrain with seed {seed}: it is one of the study's seeds, and would give "
                "that model again; give another",
                at,
                code="option.conflict",
            )
    before = len(problems)
    for name in section:
        if name in _REFUSED:
            problem = f"option {name!r} does not belong here: {_REFUSED[name]}"
            problems.add(problem, (*path, name), code="option.not-applicable")
    rest = {n: value for n, value in section.items() if n not in (*_LISTS, *_REFUSED)}
    options = read_values(rest, path, _OPTIONS_OF_ADVERSARIES, problems)
    controls = options.pop("controls", _CONTROLS.default)
    for (name, value), why in _IMPOSSIBLE.items():
        if options.get(name) == value:
            problem = f"option {name!r} is {value!r}: {why}"
            problems.add(problem, (*path, name), code="option.conflict")
    keywords = {
        **{n: sorted(lists[n]) if n in lists else option.default for n, option in _LISTS.items()},
        "controls": controls,
    }
    options = options if len(problems) == before else {}
    settings = {n: Setting(v, problems.place((*path, n))) for n, v in options.items()}
    return AdversaryPlan(problems.place(path), keywords, settings)


def adversary_options(plan: AdversaryPlan, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of an adversary of a base with these options."""
    given = {name: setting.value for name, setting in plan.options.items()}
    options = {**base, **OF_ADVERSARIES, **given}
    if options["strength"] == AUTO:  # the base's, chosen by then: a number
        options |= {"strength": 0.0, "strengths": None}
    return options

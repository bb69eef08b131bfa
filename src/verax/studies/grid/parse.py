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
from pathlib import Path
from typing import Any, NamedTuple

from verax.corpora.corpus import SPLITS
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.errors import VeraxError, nearest
from verax.exams.registry import EXAMS, default_exams
from verax.models.options import AUTO, READING, ModelOptions
from verax.models.transformers.loading import is_outside
from verax.options import SEED, build, check, hints, kind_of, names, option, parse
from verax.studies.adversary_scores import LAMS
from verax.studies.grid.loader import LOADER, Loader
from verax.studies.grid.source import Part, Place, Problems, plain
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
BY_CORPUS = {**{name: OPTIONS[name] for name in ("tokenizer", "lowercase")}, **OF_TRAINING}
"""Options that may be set with a corpus, for models that are trained on it."""
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


def _known(part: Part, options: Mapping[str, Declared]) -> Iterator[tuple[Declared, Part]]:
    """Each option of a mapping with its value; a name that is no option is a problem."""
    for name, value in part.items:
        if name in options:
            yield options[name], value
        else:
            value.add(unknown(name, options), code="option.unknown")


def read_values(part: Part, options: Mapping[str, Declared]) -> dict[str, Any]:
    """Return the values of a mapping of options with one value each."""
    values = {}
    for known, given in _known(part, options):
        with given.noted():
            values[known.name] = checked(known, given.value)
    return values


def read_grid(
    part: Part, options: Mapping[str, Declared], within: tuple[str, ...] = ()
) -> dict[str, list[Alternative]]:
    """Return the alternatives of each option of a mapping.

    Args:
        part: options, each with a value or a list of them; a value that is a choice may be
            written as a mapping, `{sparsegen: {lam: 0.5}}`, with the options that go with it.
        options: those that it may set.
        within: the options whose choices the mapping belongs to.
    """
    grid = {}
    for known, given in _known(part, options):
        if known.name in within:
            problem = f"option {known.name!r} is set inside its own choice"
            given.add(problem, code="option.conflict")
            continue
        before = len(part.problems)
        grid[known.name] = _alternatives(known, given, options, within)
        if len(part.problems) > before:
            part.problems.refused.add(known.name)
    return grid


def _alternatives(
    option: Declared,
    given: Part,
    options: Mapping[str, Declared],
    within: tuple[str, ...] = (),
    *,
    as_text: bool = False,
) -> list[Alternative]:
    """The values of an option that takes one or several, with the options that each brings."""
    found: list[Alternative] = []
    if given.value == [] and option.default != [] and option.name not in _LISTED:
        given.add(f"option {option.name!r} is an empty list: give values", code="option.empty")
    for item in [given] if option.name in _LISTED else given.each:
        if isinstance(item.value, dict) and option.choices:
            found += _choices(option, item, options, (*within, option.name))
            continue
        with item.noted():
            value = checked(option, item.value, as_text)
            if any(other.setting.value == value and not other.options for other in found):
                problem = f"option {option.name!r} has {value!r} twice"
                raise VeraxError(problem, code="option.duplicate")
            found.append(Alternative(Setting(value, item.place), {}))
    return found


def _choices(
    option: Declared, mapping: Part, options: Mapping[str, Declared], within: tuple[str, ...]
) -> list[Alternative]:
    found = []
    if not mapping.value:
        problem = f"option {option.name!r} is an empty mapping: name a choice"
        mapping.add(problem, code="option.empty")
    for choice, part in mapping.items:
        with part.noted():
            setting = Setting(checked(option, choice), part.place)
            if part.value is not None and not isinstance(part.value, dict):
                raise VeraxError(
                    f"{option.name} {choice!r} is given {reprlib.repr(part.value)}: expected "
                    "options that go with it, such as {lam: 0.5}",
                    code="option.wrong-type",
                )
            grid = read_grid(part._replace(value=part.value or {}), options, within)
            found.append(Alternative(setting, grid))
    return found


def _read_list(option: Declared, given: Part, *, as_text: bool = False) -> dict[Any, Place]:
    """The values of an option that takes one or several, each with its place."""
    found = _alternatives(option, given, {}, as_text=as_text)
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
    """A corpus to load: its options, and options of models that are trained on it alone.

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
    root = Part(study, (), problems)
    if not isinstance(study, dict):
        expected = "a study is a mapping: at least corpora, such as corpora: sst"
        root.add(expected, code="option.wrong-type")
        return Plan(name)
    for key, part in root.items:
        if key not in SECTIONS:
            part.add(unknown(key, SECTIONS, "key"), code="study.unknown-key")
    # a key without a value is as if it were not there
    given = root._replace(value={key: part for key, part in study.items() if part is not None})
    by_caller = problems.of_caller()
    options = StudyOptions(**read_values(given.only(names(StudyOptions)), declared(StudyOptions)))
    called = "study" if options.name is None else options.name
    if not called.strip() or Path(called).name != called or called[0] == ".":
        expected = f"name is {called!r}: expected a name that a folder can have"
        given.get("name").add(expected, code="file.bad-name")
    if seeds is None:
        all_seeds = list(_read_list(_SEEDS, root.get("seeds", 0)))
    else:
        chosen = Part(plain(seeds), ("seeds",), by_caller)
        all_seeds = list(_read_list(_SEEDS, chosen, as_text=True))
    outside = _outside(given.get("models"))
    for key in {"training", "adversaries"} & set(given.value) if outside else ():
        why = f"{key} is for models that a study trains: leave it out"
        given.get(key).add(why, code="option.not-applicable")
    hardware = Hardware(**read_values(_mapping(given.get("hardware")), declared(Hardware)))
    if not _DEVICE.fullmatch(hardware.device):
        expected = f"option 'device' is {hardware.device!r}: use auto, cpu, cuda or cuda:1"
        problems.add(expected, ("hardware", "device"), code="device.unknown")
    return Plan(
        name=options.name or name,
        options=options,
        corpora=_corpora(root, corpora, by_caller),
        models=() if outside else _models(given.get("models")),
        outside=outside,
        training=read_grid(_mapping(given.get("training")), OF_TRAINING),
        seeds=all_seeds,
        exams=_exams(root, exams, by_caller),
        adversaries=_adversaries(given.get("adversaries"), all_seeds),
        hardware=hardware,
        changed=_changed(changed or {}, problems),
    )


def _mapping(part: Part) -> Part:
    if part.value is not None and not isinstance(part.value, dict):
        expected = f"{part.path[-1]} is a mapping of options to values"
        part.add(expected, code="option.wrong-type")
    return part if isinstance(part.value, dict) else part._replace(value={})


def _outside(models: Part) -> dict[str, Setting]:
    """The models of a mapping whose values all name models from outside; none of any other."""

    def is_named(value: Any) -> bool:
        try:
            return isinstance(value, str) and is_outside(value)
        except VeraxError:  # what is wrong with it is noted where it is read
            return True

    parts = models.items if isinstance(models.value, dict) else []
    if not all(is_named(part.value) for _, part in parts):
        return {}
    return {name: Setting(part.value, part.place) for name, part in parts}


def _models(section: Part) -> list[ModelGrid]:
    """A mapping, or a list of them, whose combinations are all wanted."""
    grids = []
    for item in section.each:
        if isinstance(item.value, dict):
            grid = read_grid(item.only(item.value.keys() - {"exclude"}), OPTIONS)
            grids.append(ModelGrid(grid, _exclusions(item.get("exclude", []))))
        elif item.value is None:
            grids.append(ModelGrid())
        else:
            expected = "models is a mapping of options to values, or a list of such mappings"
            item.add(expected, code="option.wrong-type")
    if section.value == []:
        advice = "models is empty: leave it out for one model with all defaults"
        section.add(advice, code="option.empty")
    return grids


def _exclusions(section: Part) -> list[Exclusion]:
    """`exclude: [{encoder: none, grounding: [tying, mlm]}]`, or one such mapping."""
    exclusions = []
    for item in section.each:
        if not isinstance(item.value, dict) or not item.value:
            expected = "exclude takes mappings of options to values, such as {encoder: none}"
            item.add(expected, code="option.wrong-type")
            continue
        before = len(section.problems)
        values: dict[str, list[Any]] = {name: [] for name in item.value}
        for known, part in _known(item, OPTIONS):
            for one in part.each:
                with one.noted():
                    values[known.name].append(checked(known, one.value))
        if len(section.problems) == before:
            exclusions.append(Exclusion(item.place, values))
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
_CORPORA = "expected names of corpora, such as [sst, {imdb: {max_words: 400}}]"
_EXAMS = "expected names of exams, such as [erasure, {replacement: {permutations: 10}}], or all"
_LOADER = Declared(LOADER, str, _BARE, None)


def _named(
    section: Part, what: str, expected: str, example: str
) -> Iterator[tuple[str, Part, bool]]:
    """Each name with its options, of a name, a list of names and mappings, or a mapping.

    Options are a mapping that may be empty; the last value is whether they were refused.
    """
    before, empty = len(section.problems), True
    for item in section.each:
        if isinstance(item.value, str) and item.value:
            parts = [(item.value, item._replace(value=None))]
        elif isinstance(item.value, dict) and item.value:
            parts = item.items
        else:
            problem = f"{item.value!r:.60} is no {what}: {expected}"
            item.add(problem, code="option.wrong-type")
            continue
        empty = False
        for name, part in parts:
            refused = part.value is not None and not isinstance(part.value, dict)
            if refused:
                problem = f"{what} {name!r} is given {part.value!r:.60}: expected options"
                part.add(f"{problem}, such as {example}", code="option.wrong-type")
            yield name, part._replace(value={} if refused else part.value or {}), refused
    if empty and len(section.problems) == before:
        section.add(f"no {what} given: {expected}", code="option.missing")


def _corpora(root: Part, chosen: Any, by_caller: Problems) -> list[CorpusSpec]:
    """The corpora of the file, or of the caller; one that both name keeps the file's options."""
    if "corpora" not in root.value and chosen is None:
        advice = "no corpora given: name at least one, such as corpora: sst"
        root.problems.add(advice, code="option.missing")
    in_file = _specs(root.get("corpora")) if "corpora" in root.value else []
    if chosen is None:
        return in_file
    specs: list[CorpusSpec] = []
    for spec in _specs(Part(plain(chosen), ("corpora",), by_caller)):
        bare = not spec.options and not spec.training
        specs += [s for s in in_file if bare and s.name == spec.name] or [spec]
    return specs


def _specs(section: Part) -> list[CorpusSpec]:
    specs: list[CorpusSpec] = []
    for name, part, refused in _named(section, "corpus", _CORPORA, "{max_words: 400}"):
        before = len(section.problems)
        options = _corpus_options(name, part.only(part.value.keys() - BY_CORPUS.keys()))
        whole = len(section.problems) == before and not refused
        training = read_grid(part.only(BY_CORPUS), BY_CORPUS)
        spec = CorpusSpec(name, part.place, options, training, whole)
        if spec.settings in [other.settings for other in specs]:
            part.add(f"corpus {name!r} is given twice", code="option.duplicate")
        specs.append(spec)
    return specs


def _corpus_options(name: str, part: Part) -> dict[str, Any]:
    """The options of a corpus; those of its loader that no corpus has are as they are given."""
    known = {**declared(CorpusOptions), **BY_CORPUS}
    if name.partition(":")[0] == "planted":
        known |= declared(Planted)
    if LOADER not in part.value:
        return read_values(part, known)
    with part.get(LOADER).noted():
        valid = Loader.named(checked(_LOADER, part.value[LOADER])).options
        for option, given in part.items:
            if option not in (LOADER, *valid):
                problem = unknown(option, valid) if valid else f"unknown option {option!r}"
                given.add(problem, code="option.unknown")
    return {**part.value, **read_values(part.only(known), known)}


def _exams(root: Part, chosen: Any, by_caller: Problems) -> dict[str, Mapping[str, Any] | None]:
    """The exams of the file, or of the caller; one that both name keeps the file's options."""
    in_file = _exams_of(root.get("exams", ALL))
    if chosen is None:
        return in_file
    exams = _exams_of(Part(plain(chosen), ("exams",), by_caller))
    return {n: in_file[n] if n in in_file and not given else given for n, given in exams.items()}


def _exams_of(section: Part) -> dict[str, Mapping[str, Any] | None]:
    exams: dict[str, Mapping[str, Any] | None] = {}
    for name, part, _ in _named(section, "exam", _EXAMS, "{permutations: 10}"):
        if name == ALL:
            if part.value:
                advice = "options belong to one exam: name it beside 'all'"
                part.add(advice, code="option.ambiguous")
            exams = {**dict.fromkeys(default_exams()), **exams}
        elif name not in EXAMS:
            problem = f"unknown exam {name!r}: {nearest(name, [*EXAMS, ALL])}"
            part.add(problem, code="option.unknown-value")
        elif exams.get(name) is not None:
            part.add(f"exam {name!r} is given twice", code="option.duplicate")
        else:
            exams[name] = _exam_options(name, part)
    return {name: exams[name] for name in EXAMS if name in exams}


def _exam_options(name: str, part: Part) -> dict[str, Any]:
    """The options of an exam; what the exam itself refuses is a problem, with its lines."""
    before = len(part.problems)
    options = read_values(part, declared(EXAMS[name].options_class))

    def refusal(without: str = "") -> tuple[str, str] | None:
        values = {n: v for n, v in options.items() if n != without}
        try:
            EXAMS[name](build(EXAMS[name].options_class, values), 0, {})
        except VeraxError as error:
            return str(error), error.code
        return None

    refused = refusal() if len(part.problems) == before else None
    if refused is not None:
        causes = [(*part.path, option) for option in options if refusal(option) != refused]
        part.problems.add(refused[0], *(causes or [part.path]), code=refused[1])
    return options


# -- adversaries

_EXPECTED = "expected true, false, or options such as {lams: [0, 0.1, 1], retrain: [2, 3]}"
_LISTS = {
    "lams": Declared("lams", float, {**_BARE, "minimum": 0}, list(LAMS)),
    "seeds": Declared("seeds", int, {**_BARE, **SEED}, [1]),
    "retrain": Declared("retrain", int, {**_BARE, **SEED}, []),
}
_CONTROLS = Declared("controls", bool, _BARE, True)
NOT_ITS_OWN = (
    *("hierarchical", "class_weight", "strengths", *READING, "min_df", "max_vocabulary"),
    "vectors",
)
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


def _adversaries(section: Part, seeds: Sequence[int]) -> AdversaryPlan | None:
    """`true` or a mapping of options; None where there are to be no adversaries.

    `seeds` are those of the study: the base retrained with one of them is the base.
    """
    if section.value is None or section.value is False:
        return None
    if section.value is not True and not isinstance(section.value, dict):
        problem = f"adversaries is {section.value!r:.60}: {_EXPECTED}"
        section.add(problem, code="option.wrong-type")
        return None
    given = section._replace(value={} if section.value is True else section.value)
    lists = {n: _read_list(o, given.get(n)) for n, o in _LISTS.items() if n in given.value}
    for seed, place in lists.get("retrain", {}).items():
        if seed in seeds:
            given.problems.add(
                f"cannot retrain with seed {seed}: it is one of the study's seeds, and would give "
                "that model again; give another",
                place,
                code="option.conflict",
            )
    before = len(given.problems)
    for name, part in given.items:
        if name in _REFUSED:
            problem = f"option {name!r} does not belong here: {_REFUSED[name]}"
            part.add(problem, code="option.not-applicable")
    rest = given.only(given.value.keys() - {*_LISTS, *_REFUSED})
    options = read_values(rest, _OPTIONS_OF_ADVERSARIES)
    controls = options.pop("controls", _CONTROLS.default)
    for (name, value), why in _IMPOSSIBLE.items():
        if options.get(name) == value:
            given.get(name).add(f"option {name!r} is {value!r}: {why}", code="option.conflict")
    keywords = {
        **{n: sorted(lists[n]) if n in lists else option.default for n, option in _LISTS.items()},
        "controls": controls,
    }
    options = options if len(given.problems) == before else {}
    settings = {name: Setting(value, given.get(name).place) for name, value in options.items()}
    return AdversaryPlan(given.place, keywords, settings)


def adversary_options(plan: AdversaryPlan, base: Mapping[str, Any]) -> dict[str, Any]:
    """Return every option of an adversary of a base with these options."""
    given = {name: setting.value for name, setting in plan.options.items()}
    options = {**base, **OF_ADVERSARIES, **given}
    if options["strength"] == AUTO:  # the base's, chosen by then: a number
        options |= {"strength": 0.0, "strengths": None}
    return options

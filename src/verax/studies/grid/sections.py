"""The corpora and exams of a study: names, each with its options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.errors import VeraxError, nearest
from verax.exams.registry import EXAMS, default_exams
from verax.options import build
from verax.progress import Progress
from verax.studies.grid.located import LocatedValue, Location, Problems, located
from verax.studies.grid.options import OF_TRAINING, Axis, declared, read_axes, read_values

ALL = "all"
_CORPORA = "expected names of corpora, such as [sst, {imdb: {max_length: 400}}]"
_EXAMS = "expected names of exams, such as [erasure, {replacement: {permutations: 10}}], or all"


@dataclass(frozen=True)
class Reading:
    """A corpus to be read: its options, and training options that hold for it alone.

    `whole` is false where something was wrong with it.
    """

    name: str
    location: Location
    options: dict[str, Any] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    whole: bool = True

    @property
    def settings(self) -> Any:
        """All that is set, in whatever order and lines."""
        axes = {axis.name: [branch.value for branch in axis.branches] for axis in self.axes}
        return self.name, self.options, axes


@dataclass(frozen=True)
class PlannedExam:
    """The options given for an exam; `named` is false where `all` brought it."""

    options: Mapping[str, Any] = field(default_factory=dict)
    named: bool = True


def _named_parts(
    section: LocatedValue, what: str, expected: str, example: str, problems: Problems
) -> Iterator[tuple[str, Location, LocatedValue | None]]:
    """Each name with its options, of a name, a list of names and mappings, or a mapping.

    Options are a mapping that may be empty, or None where they were refused.
    """
    before, empty = len(problems), True
    for item in section.each:
        if isinstance(item.value, str) and item.value:
            parts = {item.value: LocatedValue(None, item.location, item.location)}
        elif isinstance(item.value, dict) and item.value:
            parts = item.value
        else:
            problems.add(
                f"{item.plain()!r:.60} is no {what}: {expected}",
                item.location,
                code="option.wrong-type",
            )
            continue
        empty = False
        for name, part in parts.items():
            if part.value is None:
                yield name, part.key, LocatedValue({}, part.location)
            elif isinstance(part.value, dict):
                yield name, part.key, part
            else:
                message = f"{what} {name!r} is given {part.plain()!r:.60}: expected options"
                problems.add(
                    f"{message}, such as {example}", part.location, code="option.wrong-type"
                )
                yield name, part.key, None
    if empty and len(problems) == before:
        problems.add(f"no {what} given: {expected}", section.location, code="option.missing")


def read_corpora(section: LocatedValue | None, by_caller: Any, problems: Problems) -> list[Reading]:
    """The corpora that a study file names, or a caller in its place.

    A corpus that both name keeps the file's options.
    """
    if section is None and by_caller is None:
        problems.add(
            "no corpora given: name at least one, such as corpora: sst", code="option.missing"
        )
    in_file = [] if section is None else _readings(section, problems)
    if by_caller is None:
        return in_file
    chosen: list[Reading] = []
    for reading in _readings(located(by_caller, "corpora"), problems):
        bare = not reading.options and not reading.axes
        chosen += [r for r in in_file if bare and r.name == reading.name] or [reading]
    return chosen


def _readings(section: LocatedValue, problems: Problems) -> list[Reading]:
    readings: list[Reading] = []
    example = "{max_length: 400}"
    for name, location, part in _named_parts(section, "corpus", _CORPORA, example, problems):
        reading = Reading(name, location, whole=False)
        if part is not None:
            before = len(problems)
            known = declared(CorpusOptions)
            if name.partition(":")[0] == "planted":
                known |= declared(Planted)
            of_corpus = part.only(n for n in part.value if n not in OF_TRAINING)
            options = read_values(of_corpus, {**known, **OF_TRAINING}, problems)
            whole = len(problems) == before
            axes = read_axes(part.only(OF_TRAINING), OF_TRAINING, problems)
            reading = Reading(name, location, options, axes, whole)
        if reading.settings in [other.settings for other in readings]:
            problems.add(f"corpus {name!r} is given twice", location, code="option.duplicate")
        readings.append(reading)
    return readings


def load_corpora(
    readings: Sequence[Reading],
    problems: Problems,
    progress: bool,
    loaded: dict[str, Corpus] | None = None,
) -> list[Corpus | None]:
    """The corpora, each read once; None for one that cannot be, which is a problem.

    `loaded` has those that were read before, for other studies, and takes in those read now.
    """
    done: dict[str, Corpus | None] = dict(loaded or {})
    keys = [repr((reading.name, sorted(reading.options.items()))) for reading in readings]
    with Progress(progress) as display:
        for key, reading in zip(keys, readings, strict=True):
            if key in done:
                continue
            done[key] = None
            if reading.whole:
                with problems.at(reading.location), display.busy(f"loading {reading.name}"):
                    done[key] = load_corpus(reading.name, **reading.options)
    if loaded is not None:
        loaded.update({key: corpus for key, corpus in done.items() if corpus is not None})
    return [done[key] for key in keys]


def read_exams(section: LocatedValue, by_caller: Any, problems: Problems) -> dict[str, PlannedExam]:
    """The exams that a study file names, or a caller in its place.

    Either says `all`, names, names with options, or a mapping of names to options. An exam that
    both name keeps the file's options.
    """
    in_file = _planned(section, problems)
    if by_caller is None:
        return in_file
    chosen = _planned(located(by_caller, "exams"), problems)
    return {
        name: in_file[name] if name in in_file and not exam.options else exam
        for name, exam in chosen.items()
    }


def _planned(section: LocatedValue, problems: Problems) -> dict[str, PlannedExam]:
    exams: dict[str, PlannedExam] = {}
    example = "{permutations: 10}"
    for name, location, part in _named_parts(section, "exam", _EXAMS, example, problems):
        if name == ALL:
            if part is not None and part.value:
                problems.add(
                    "options belong to one exam: name it beside 'all'",
                    part.location,
                    code="option.ambiguous",
                )
            exams = {**dict.fromkeys(default_exams(), PlannedExam(named=False)), **exams}
        elif name not in EXAMS:
            problems.add(
                f"unknown exam {name!r}: {nearest(name, [*EXAMS, ALL])}",
                location,
                code="option.unknown-value",
            )
        elif name in exams and exams[name].named:
            problems.add(f"exam {name!r} is given twice", location, code="option.duplicate")
        else:
            options = {} if part is None else _exam_options(name, part, location, problems)
            exams[name] = PlannedExam(options)
    return {name: exams[name] for name in EXAMS if name in exams}


def settled_exams(exams: Mapping[str, PlannedExam]) -> dict[str, dict[str, Any]]:
    """Exam → every one of its options."""
    return {
        name: asdict(build(EXAMS[name].options_class, exam.options)) for name, exam in exams.items()
    }


def marks_needed(exams: Iterable[str], corpus: Corpus) -> str | None:
    """A hash of what people marked, where an exam depends on it; None elsewhere.

    Args:
        exams: names of exams.
        corpus: what they examine a model on.
    """
    needed = any(EXAMS[name].needs_rationales for name in exams)
    return corpus.rationales_fingerprint if needed else None


def _exam_options(
    name: str, section: LocatedValue, location: Location, problems: Problems
) -> dict[str, Any]:
    """The options of an exam; what the exam itself refuses is a problem, with its lines."""
    before = len(problems)
    known = declared(EXAMS[name].options_class)
    options = read_values(section, known, problems)

    def refusal(without: str = "") -> tuple[str, str] | None:
        values = {n: v for n, v in options.items() if n != without}
        try:
            EXAMS[name](build(EXAMS[name].options_class, values), 0, {})
        except VeraxError as error:
            return str(error), error.code
        return None

    refused = refusal() if len(problems) == before else None
    if refused is not None:
        parts = section.value
        causes = [parts[option].location for option in options if refusal(option) != refused]
        message, code = refused
        problems.add(message, *(causes or [location]), code=code)
    return options

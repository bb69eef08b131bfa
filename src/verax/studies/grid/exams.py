"""The exams of a study: which, and with what options."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError, nearest
from verax.exams.registry import EXAMS, RENAMED_OPTIONS, current_name, current_option, default_exams
from verax.options import build
from verax.studies.grid.corpora import named_parts
from verax.studies.grid.located import LocatedValue, Location, Problems
from verax.studies.grid.options import declared, read_values

ALL = "all"
_EXPECTED = "expected names of exams, such as [erasure, {replacement: {permutations: 10}}], or all"


@dataclass(frozen=True)
class PlannedExam:
    """The options given for an exam; `named` is false where `all` brought it."""

    options: Mapping[str, Any] = field(default_factory=dict)
    named: bool = True


def read_exams(section: LocatedValue, problems: Problems) -> dict[str, PlannedExam]:
    """`all`, names, names with options, or a mapping of names to options."""
    exams: dict[str, PlannedExam] = {}
    for written, location, part in named_parts(
        section, "exam", _EXPECTED, "{permutations: 10}", problems
    ):
        name = current_name(written)
        if name == ALL:
            if part is not None and part.value:
                problems.add("options belong to one exam: name it beside 'all'", part.location)
            exams = {**dict.fromkeys(default_exams(), PlannedExam(named=False)), **exams}
        elif name not in EXAMS:
            problems.add(f"unknown exam {name!r}: {nearest(name, [*EXAMS, ALL])}", location)
        elif name in exams and exams[name].named:
            problems.add(f"exam {name!r} is given twice", location)
        else:
            options = {} if part is None else _options(name, part, location, problems)
            exams[name] = PlannedExam(options)
    return {name: exams[name] for name in EXAMS if name in exams}


def in_place_of(
    exams: Mapping[str, PlannedExam], section: LocatedValue, problems: Problems
) -> dict[str, PlannedExam]:
    """The exams that a caller names; one that the file has too keeps the file's options."""
    return {
        name: exams[name] if name in exams and not exam.options else exam
        for name, exam in read_exams(section, problems).items()
    }


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


def _options(
    name: str, section: LocatedValue, location: Location, problems: Problems
) -> dict[str, Any]:
    """The options of an exam; what the exam itself refuses is a problem, with its lines."""
    before = len(problems)
    known = declared(EXAMS[name].options_class)
    section = _by_current_names(section, known)
    options = read_values(section, known, problems)
    message = _refusal(name, options) if len(problems) == before else None
    if message is not None:
        causes = [
            section.value[option].location
            for option in options
            if _refusal(name, {n: v for n, v in options.items() if n != option}) != message
        ]
        problems.add(message, *(causes or [location]))
    return options


def _by_current_names(section: LocatedValue, known: Collection[str]) -> LocatedValue:
    """Options by the names they have now; a warning where one was renamed."""
    parts = {}
    for name, part in section.value.items():
        now = RENAMED_OPTIONS.get(name)
        is_old = name not in known and now in known and now not in section.value
        parts[current_option(name) if is_old else name] = part
    return replace(section, value=parts)


def _refusal(name: str, options: Mapping[str, Any]) -> str | None:
    """What the exam says against its options, if anything."""
    try:
        EXAMS[name](build(EXAMS[name].options_class, options), 0, {})
    except VeraxError as error:
        return str(error)
    return None

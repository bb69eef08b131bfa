"""Every exam by name, and where each of its numbers stands."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from verax.errors import VeraxError, nearest
from verax.exams.exam import Exam
from verax.exams.judgement.limits import check_declared
from verax.exams.measures import VALUE, MeasurePlace, Table, measure_id, place_of
from verax.models.kinds import POOLED
from verax.options import names
from verax.plugins import Registry

GROUP = "verax.exams"
"""The group of entry points that name exams of other packages."""

EXAMS: Registry[type[Exam]] = Registry("exam", GROUP)
"""Name → exam, in order of registration, those of installed packages last."""


@dataclass(frozen=True)
class Stage:
    """Numbers that come from no exam, such as those of trained adversaries.

    name, title, question  as an exam's
    tables                 the tables of its summary, the most important first
    """

    name: str
    title: str
    question: str
    tables: tuple[Table, ...]


STAGES: dict[str, Stage] = {}


def register(exam: type[Exam]) -> type[Exam]:
    """The exam itself, once it is known by name; works as a decorator.

    Args:
        exam: a class derived from `verax.Exam`, with `name`, `see` and `summarise`.

    It becomes a keyword of `examine` and a flag of the command line, and takes part in summaries,
    comparisons, judgement, reports, studies and estimates.
    """
    if not (isinstance(exam, type) and issubclass(exam, Exam)):
        raise VeraxError(
            f"cannot register {exam!r}: expected a class derived from verax.Exam",
            code="plugin.invalid",
        )
    name = getattr(exam, "name", None)
    if not isinstance(name, str) or not name.isidentifier():  # it is a keyword, too
        raise VeraxError(
            f"exam {exam.__name__} is called {name!r}: name it with letters, digits and _",
            code="plugin.invalid-name",
        )
    if inspect.isabstract(exam):
        lacking = ", ".join(sorted(exam.__abstractmethods__))
        raise VeraxError(
            f"exam {name!r} lacks {lacking}: define it on {exam.__name__}", code="plugin.invalid"
        )
    for table in exam.summary_tables:
        if table.id != name and not table.id.startswith(f"{name}."):
            raise VeraxError(
                f"exam {name!r} has a table {table.id!r}: call it {name}, or {name}.{table.id}",
                code="plugin.invalid",
            )
    check_declared(exam)
    EXAMS.register(name, exam, origin=f"{exam.__module__}.{exam.__qualname__}")
    _place.cache_clear()
    return exam


def checked_summary(exam: str, summary: pd.DataFrame) -> pd.DataFrame:
    """The summary that an exam made; a number that the exam does not declare so is an error."""
    for measure, unit in zip(summary["measure"], summary["unit"], strict=True):
        place = find_place(measure)
        if place is None:
            raise VeraxError(
                f"exam {exam!r} gives a number {measure!r} that its summary_tables do not declare: "
                "add its measure",
                code="plugin.invalid",
            )
        if place.measure.unit != unit:
            raise VeraxError(
                f"exam {exam!r} gives {measure!r} in {unit}, and declares {place.measure.unit}: "
                "make the cell of that unit",
                code="plugin.invalid",
            )
    return summary


def measure_ids(*exams: str) -> pd.DataFrame:
    """Return the ids of all numbers that exams give.

    Ids are stable: a number keeps its id, and an id is never used for another number. In a table
    whose rows depend on the data or on options (importances, replacements, classes), `*` stands for
    the row.

    Args:
        exams: names of exams; without any, all registered exams.

    Returns:
        Columns `exam`, `id`, `unit`, `better` (higher, lower, or empty) and `title`.

    >>> from verax.exams import measure_ids
    >>> measure_ids("replacement")["id"].tolist()[:2]
    ['replacement.*.f1', 'replacement.*.macro_f1']
    """
    rows = [
        {
            "exam": name,
            "id": measure_id(table.id, measure.id, VALUE)
            if table.counts
            else measure_id(table.id, "*", measure.id),
            "unit": measure.unit,
            "better": measure.better,
            "title": measure.title,
        }
        for name in exams or tuple(EXAMS)
        for table in EXAMS[name].summary_tables
        for measure in table.measures
    ]
    return pd.DataFrame(rows, columns=["exam", "id", "unit", "better", "title"])


def unregister(name: str) -> None:
    """Remove an exam from the registry."""
    EXAMS.unregister(name)
    _place.cache_clear()


def register_stage(stage: Stage) -> None:
    """Declare the tables of numbers that come from no exam."""
    STAGES[stage.name] = stage
    _place.cache_clear()


def chosen_exams(exams: Iterable[str | type[Exam]]) -> list[str]:
    """The names of these exams, each once; an unknown name, or no name, is an error.

    An exam's class stands for its name, and is registered where it is not yet.
    """
    names = (exam if isinstance(exam, str) else register(exam).name for exam in exams)
    chosen = list(dict.fromkeys(names))
    if not chosen:
        raise VeraxError(f"no exam given: choose from {', '.join(EXAMS)}", code="option.missing")
    for name in chosen:
        if name not in EXAMS:
            raise VeraxError(
                f"unknown exam {name!r}: {nearest(name, EXAMS)}", code="option.unknown-value"
            )
    return chosen


def default_exams(kind: str = POOLED) -> list[str]:
    """Return the names of the exams that run by default on models of a kind.

    Args:
        kind: pooled (models trained by Verax and `from_module`), transformer or predict.
    """
    return [name for name, exam in EXAMS.items() if kind in exam.default_for]


def divide_options(
    exams: Iterable[str],
    options: Mapping[str, Any],
    also: Iterable[str] = (),
    classes: Mapping[str, type[Exam]] | None = None,
) -> dict[str, dict[str, Any]]:
    """Exam → the options given for it.

    An option belongs to an exam. It is given by its name, `permutations=10`, or, where two of the
    exams have one of that name, under its exam's: `replacement={"permutations": 10}`. What exams
    inherit from one class, such as `rankings`, is one option, and is given to all of them; under an
    exam's name it is that exam's alone. `also` are
    names that belong elsewhere, offered where a name is mistyped. `classes` are the classes that
    take the exams, where these are not the registered ones.
    """
    classes = {**EXAMS, **(classes or {})}
    divided: dict[str, dict[str, Any]] = {name: {} for name in exams}
    owners: dict[str, list[str]] = {}
    declared: dict[str, set[int]] = {}
    for exam in divided:
        for field in dataclasses.fields(classes[exam].options_class):
            owners.setdefault(field.name, []).append(exam)
            declared.setdefault(field.name, set()).add(id(field))
    for key, value in options.items():
        if isinstance(value, Mapping) and key in EXAMS:
            _whole(divided, key, value, classes)
            continue
        if key not in owners and key in divided:
            first = next(iter(names(classes[key].options_class)), None)
            example = "" if first is None else f", as in {key}={{{first!r}: …}}"
            raise VeraxError(
                f"{key}={value!r}: {key} is an exam, expected a mapping of its options{example}",
                code="option.wrong-type",
            )
        if key not in owners:
            exams_too = (
                divided if isinstance(value, Mapping) else ()
            )  # an exam, by its mistyped name
            valid = [*owners, *also, *exams_too]
            raise VeraxError(
                f"unknown option {key!r}: "
                + (nearest(key, valid) if valid else "there is nothing to set"),
                code="option.unknown",
            )
        if len(declared[key]) > 1:
            one, other, *_ = owners[key]
            raise VeraxError(
                f"option {key!r} is of exams {one} and {other}: give it under one's name, as "
                f"in {one}={{{key!r}: …}}, on the command line --{one}.{key} …",
                code="option.ambiguous",
            )
        for exam in owners[key]:
            divided[exam].setdefault(key, value)
    return divided


def _whole(
    divided: dict[str, dict[str, Any]],
    exam: str,
    options: Mapping[str, Any],
    classes: Mapping[str, type[Exam]],
) -> None:
    """Options given under their exam's name."""
    if exam not in divided:
        raise VeraxError(
            f"options of exam {exam!r}, which is not among the exams: add or drop it",
            code="option.not-applicable",
        )
    valid = names(classes[exam].options_class)
    for option, value in options.items():
        if option not in valid:
            remedy = nearest(str(option), valid) if valid else "it has none"
            raise VeraxError(
                f"unknown option {str(option)!r} of exam {exam!r}: {remedy}", code="option.unknown"
            )
        divided[exam][option] = value


def find_table(id: str) -> Table | None:
    """The declared table with this id; None where no exam has it."""
    exam = id.partition(".")[0]
    return next((table for table in tables_of(exam) if table.id == id), None)


@cache
def _place(id: str) -> MeasurePlace | None:
    exam = id.partition(".")[0]
    return place_of(id, exam, tables_of(exam))


def find_place(id: str) -> MeasurePlace | None:
    """Where the number with this id stands; None where no exam declares it."""
    return _place(id)


def tables_of(exam: str) -> tuple[Table, ...]:
    """The declared tables of an exam or a stage, the most important first."""
    if exam in EXAMS:
        return EXAMS[exam].summary_tables
    return STAGES[exam].tables if exam in STAGES else ()

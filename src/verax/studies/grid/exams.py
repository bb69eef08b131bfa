"""The exams of a study: which, and with what options."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from verax.errors import VeraxError, nearest
from verax.exams.registry import EXAMS, RENAMED_OPTIONS, current_name, current_option
from verax.options import build
from verax.studies.grid.lines import Written
from verax.studies.grid.problems import Place, Problems
from verax.studies.grid.settings import declared, one_by_one

ALL = "all"
_EXPECTED = "expected names of exams, such as [erasure, {replacement: {permutations: 10}}], or all"


@dataclass(frozen=True)
class Asked:
    """An exam by name, the options given, and where; `named` is false where `all` brought it."""

    name: str
    place: Place
    options: Mapping[str, Any]
    named: bool = True


def asked_of(written: Written, problems: Problems) -> dict[str, Asked]:
    """`all`, names, names with options, or a mapping of names to options."""
    found: dict[str, Asked] = {}
    before = len(problems)
    for item in written.value if isinstance(written.value, list) else [written]:
        if isinstance(item.value, str):
            parts = {item.value: (item.place, None)}
        elif isinstance(item.value, dict) and item.value:
            parts = {name: (item.keys[name], part) for name, part in item.value.items()}
        else:
            problems.add(f"{item.plain()!r:.60} is no exam: {_EXPECTED}", item.place)
            continue
        for name, (place, given) in parts.items():
            _add(found, current_name(name), place, given, problems)
    if not found and len(problems) == before:
        problems.add(f"no exam given: {_EXPECTED}", written.place)
    return {name: found[name] for name in EXAMS if name in found}


def overridden(asked: Mapping[str, Asked], given: Written, problems: Problems) -> dict[str, Asked]:
    """Exams asked for by hand: one that the file has too keeps the file's options."""
    return {
        name: asked[name] if name in asked and not one.options else one
        for name, one in asked_of(given, problems).items()
    }


def settled_exams(asked: Mapping[str, Asked]) -> dict[str, dict[str, Any]]:
    """Exam → every one of its options."""
    return {
        name: asdict(build(EXAMS[name].options_class, one.options)) for name, one in asked.items()
    }


def _add(
    found: dict[str, Asked], name: str, place: Place, given: Written | None, problems: Problems
) -> None:
    if name == ALL:
        if given is not None and given.value is not None:
            problems.add("options belong to one exam: name it beside 'all'", given.place)
        for exam in EXAMS:
            found.setdefault(exam, Asked(exam, place, {}, named=False))
        return
    if name not in EXAMS:
        problems.add(f"unknown exam {name!r}: {nearest(name, [*EXAMS, ALL])}", place)
        return
    if name in found and found[name].named:
        problems.add(f"exam {name!r} is there twice", place)
        return
    found[name] = Asked(name, place, {})
    if given is None or given.value is None:
        return
    if not isinstance(given.value, dict):
        problems.add(
            f"exam {name!r} is given {given.plain()!r:.60}: expected options, such as "
            "{permutations: 10}",
            given.place,
        )
        return
    before = len(problems)
    known = declared(EXAMS[name].options_class)
    given = _by_current_names(given, known)
    options = one_by_one(given, known, problems)
    found[name] = Asked(name, place, options)
    message = _refusal(name, options) if len(problems) == before else None
    if message is not None:
        guilty = [
            given.value[option].place
            for option in options
            if _refusal(name, {n: v for n, v in options.items() if n != option}) != message
        ]
        problems.add(message, *(guilty or [place]))


def _by_current_names(given: Written, known: Collection[str]) -> Written:
    """Options by the names they have now; a note where one was renamed."""
    names = {name: name for name in given.value}
    for name in given.value:
        now = RENAMED_OPTIONS.get(name)
        if name not in known and now in known and now not in names:
            names[name] = current_option(name)
    return replace(
        given,
        value={names[name]: part for name, part in given.value.items()},
        keys={names[name]: place for name, place in given.keys.items()},
    )


def _refusal(name: str, options: Mapping[str, Any]) -> str | None:
    """What the exam itself says against its options."""
    try:
        EXAMS[name](build(EXAMS[name].options_class, options), 0, {})
    except VeraxError as error:
        return str(error)
    return None

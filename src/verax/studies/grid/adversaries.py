"""The adversaries of a study: what is trained against the model of every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verax.errors import VeraxError
from verax.models.options import AUTO, ModelOptions
from verax.options import SEED, names
from verax.studies.adversaries import LAMS
from verax.studies.grid.effects import idle
from verax.studies.grid.lines import Written
from verax.studies.grid.problems import Place, Problems
from verax.studies.grid.settings import OPTIONS, Declared, checked, one_by_one
from verax.training.adversary import DEFAULTS, UNIFORM
from verax.training.options import TrainingOptions

_EXPECTED = "expected true, false, or options such as {lams: [0, 0.1, 1], retrain: [2, 3]}"
_BARE: Mapping[str, Any] = {"choices": None, "also": ()}
_LISTS = {
    "lams": Declared("lams", float, {**_BARE, "minimum": 0}, list(LAMS)),
    "seeds": Declared("seeds", int, {**_BARE, **SEED}, [1]),
    "retrain": Declared("retrain", int, {**_BARE, **SEED}, []),
}
_CONTROLS = Declared("controls", bool, _BARE, True)
NOT_ITS_OWN = ("hierarchical", "class_weight", "strengths", "min_df", "max_vocabulary", "vectors")
"""Options that no adversary may choose: they come with the base, or with the objective."""
_KNOWN = {
    **_LISTS,
    "controls": _CONTROLS,
    **{name: option for name, option in OPTIONS.items() if name not in ("lam", *NOT_ITS_OWN)},
}
_MODEL = frozenset(names(ModelOptions))


@dataclass(frozen=True)
class Wanted:
    """What a file asks for.

    own      lams, seeds, retrain and controls, each with its default where it is not given
    options  of the adversaries, as given; none where something is wrong with one
    place    of the whole; `places` has those of options, `again` of seeds to retrain with
    """

    place: Place
    own: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    places: Mapping[str, Place] = field(default_factory=dict)
    again: Mapping[int, Place] = field(default_factory=dict)

    def without(self, name: str) -> Wanted:
        return replace(self, options={n: v for n, v in self.options.items() if n != name})

    def beside(self, base: Mapping[str, Any]) -> dict[str, Any]:
        """Every option of an adversary of a base with these."""
        whole = {**base, **DEFAULTS, **self.options}
        if whole["strength"] == AUTO:  # the base's, chosen by then: a number
            whole |= {"strength": 0.0, "strengths": None}
        return whole


def wanted_of(written: Written, problems: Problems) -> Wanted | None:
    """`true` or a mapping of options; None where there are to be no adversaries."""
    if written.value is None or written.value is False:
        return None
    given = Written({}, written.place) if written.value is True else written
    if not isinstance(given.value, dict):
        problems.add(f"adversaries is {given.plain()!r:.60}: {_EXPECTED}", written.place)
        return None
    own: dict[str, Any] = {name: option.default for name, option in _LISTS.items()}
    again: dict[int, Place] = {}
    for name, option in _LISTS.items():
        if name in given.value:
            found = _several(option, given.value[name], problems)
            own[name] = sorted(found)
            again = found if name == "retrain" else again
    before = len(problems)
    rest = {name: part for name, part in given.value.items() if name not in _LISTS}
    for name in [name for name in rest if name in ("lam", *NOT_ITS_OWN)]:
        del rest[name]
        problems.add(_not_its_own(name), given.keys[name])
    options = one_by_one(Written(rest, given.place, given.keys), _KNOWN, problems)
    own["controls"] = options.pop("controls", _CONTROLS.default)
    for name, value in (("projection", UNIFORM), ("strength", AUTO)):
        if options.get(name) == value:
            problems.add(_impossible(name, value), rest[name].place)
    places = {name: rest[name].place for name in options}
    whole = len(problems) == before
    return Wanted(written.place, own, options if whole else {}, places, again)


def refuse_bases_again(wanted: Wanted, seeds: Sequence[int], problems: Problems) -> None:
    """The base with its own seed is the base: no yardstick."""
    for seed, place in wanted.again.items():
        if seed in seeds:
            problems.add(
                f"cannot retrain with seed {seed}: it is one of the study's seeds, and would give "
                "that model again; give another",
                place,
            )


def notes_on(wanted: Wanted, seeds: Sequence[int]) -> list[str]:
    """What a reader of the file might not expect."""
    shared = [str(seed) for seed in wanted.own["seeds"] if seed in seeds]
    if not shared:
        return []
    return [
        f"adversaries with seed {', '.join(shared)} begin as the model of the study with that "
        "seed: give adversaries other seeds"
    ]


def settled_adversaries(
    wanted: Wanted | None, model: Mapping[str, Any], training: Mapping[str, Any], classes: int
) -> dict[str, Any] | None:
    """The keywords of `run_adversaries` for a base of these options (see `settled`).

    All defaults are spelt out; options that the base has too, or that have no effect, are not
    there, so that equal adversaries have equal ones.
    """
    if wanted is None:
        return None
    base = {**model, **training}
    whole = wanted.beside(base)
    unused = idle(
        ModelOptions(**{n: v for n, v in whole.items() if n in _MODEL}).resolved(classes),
        TrainingOptions(**{n: v for n, v in whole.items() if n not in _MODEL}),
    )
    telling = {
        name: value
        for name, value in wanted.options.items()
        if name in DEFAULTS or (name not in unused and value != base[name])
    }
    return {**wanted.own, **DEFAULTS, **telling}


def _several(option: Declared, written: Written, problems: Problems) -> dict[Any, Place]:
    """One value or a list of them, each with its place."""
    found: dict[Any, Place] = {}
    items = written.value if isinstance(written.value, list) else [written]
    if not items and option.default:
        problems.add(f"option {option.name!r} is an empty list: give values", written.place)
    for item in items:
        try:
            value = checked(option, item.plain())
        except VeraxError as error:
            problems.add(str(error), item.place)
            continue
        if value in found:
            problems.add(f"option {option.name!r} has {value!r} twice", item.place)
        found.setdefault(value, item.place)
    return found


def _not_its_own(name: str) -> str:
    why = "no adversary may choose it, leave it out"
    if name == "lam":
        why = "what adversaries are trained with is lams, such as lams: [0, 0.1, 1]"
    return f"option {name!r} does not belong here: {why}"


def _impossible(name: str, value: str) -> str:
    why = {
        "projection": "an adversary's attention must be free to move, leave it out",
        "strength": "an adversary has its base's, leave it out or give a number",
    }
    return f"option {name!r} is {value!r}: {why[name]}"

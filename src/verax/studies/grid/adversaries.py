"""The adversaries of a study: what is trained against the model of every cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from verax.models.options import AUTO, ModelOptions
from verax.options import SEED, divide
from verax.studies.adversaries import LAMS
from verax.studies.grid.located import LocatedValue, Location, Problems
from verax.studies.grid.options import OPTIONS, Declared, read_list, read_values
from verax.training.adversary import DEFAULTS, UNIFORM
from verax.training.effects import inactive_options
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
_REFUSED = {
    **dict.fromkeys(NOT_ITS_OWN, "no adversary may choose it, leave it out"),
    "lam": "what adversaries are trained with is lams, such as lams: [0, 0.1, 1]",
}
_KNOWN = {
    **_LISTS,
    "controls": _CONTROLS,
    **{name: option for name, option in OPTIONS.items() if name not in _REFUSED},
}
_IMPOSSIBLE = {
    ("projection", UNIFORM): "an adversary's attention must be free to move, leave it out",
    ("strength", AUTO): "an adversary has its base's, leave it out or give a number",
}


@dataclass(frozen=True)
class AdversaryPlan:
    """The adversaries that a file asks for.

    location   of the whole section
    keywords   lams, seeds, retrain and controls, each with its default where it is not given
    options    of the adversaries, as given; none where something is wrong with one
    locations  of the options
    """

    location: Location
    keywords: Mapping[str, Any]
    options: Mapping[str, Any] = field(default_factory=dict)
    locations: Mapping[str, Location] = field(default_factory=dict)

    def without(self, name: str) -> AdversaryPlan:
        return replace(self, options={n: v for n, v in self.options.items() if n != name})

    def options_beside(self, base: Mapping[str, Any]) -> dict[str, Any]:
        """Every option of an adversary of a base with these."""
        options = {**base, **DEFAULTS, **self.options}
        if options["strength"] == AUTO:  # the base's, chosen by then: a number
            options |= {"strength": 0.0, "strengths": None}
        return options

    def settled(
        self, model: Mapping[str, Any], training: Mapping[str, Any], classes: int
    ) -> dict[str, Any]:
        """The keywords of `run_adversaries` for a base of these options (see `settled_options`).

        All defaults are spelt out; options that the base has too, or that have no effect, are not
        there, so that equal adversaries have equal ones.
        """
        base = {**model, **training}
        of_model, of_training = divide(self.options_beside(base), ModelOptions, TrainingOptions)
        inactive = inactive_options(
            ModelOptions(**of_model).resolved(classes), TrainingOptions(**of_training)
        )
        differing = {
            name: value
            for name, value in self.options.items()
            if name in DEFAULTS or (name not in inactive and value != base[name])
        }
        return {**self.keywords, **DEFAULTS, **differing}

    def notes(self, seeds: Sequence[int]) -> list[str]:
        """What a reader of the file might not expect; `seeds` are those of the study."""
        shared = [str(seed) for seed in self.keywords["seeds"] if seed in seeds]
        if not shared:
            return []
        return [
            f"adversaries with seed {', '.join(shared)} begin as the model of the study with that "
            "seed: give adversaries other seeds"
        ]


def read_adversaries(
    section: LocatedValue, seeds: Sequence[int], problems: Problems
) -> AdversaryPlan | None:
    """`true` or a mapping of options; None where there are to be no adversaries.

    `seeds` are those of the study: the base retrained with one of them is the base.
    """
    if section.value is None or section.value is False:
        return None
    if section.value is True:
        section = LocatedValue({}, section.location)
    if not isinstance(section.value, dict):
        problems.add(
            f"adversaries is {section.plain()!r:.60}: {_EXPECTED}",
            section.location,
            code="option.wrong-type",
        )
        return None
    lists = {
        name: read_list(option, section.value[name], problems)
        for name, option in _LISTS.items()
        if name in section.value
    }
    for seed, location in lists.get("retrain", {}).items():
        if seed in seeds:
            problems.add(
                f"cannot retrain with seed {seed}: it is one of the study's seeds, and would give "
                "that model again; give another",
                location,
                code="option.conflict",
            )
    before = len(problems)
    for name in section.value:
        if name in _REFUSED:
            message = f"option {name!r} does not belong here: {_REFUSED[name]}"
            problems.add(message, section.value[name].key, code="option.not-applicable")
    rest = section.only(n for n in section.value if n not in (*_LISTS, *_REFUSED))
    options = read_values(rest, _KNOWN, problems)
    controls = options.pop("controls", _CONTROLS.default)
    for (name, value), why in _IMPOSSIBLE.items():
        if options.get(name) == value:
            problems.add(
                f"option {name!r} is {value!r}: {why}",
                rest.value[name].location,
                code="option.conflict",
            )
    keywords = {
        **{n: sorted(lists[n]) if n in lists else _LISTS[n].default for n in _LISTS},
        "controls": controls,
    }
    locations = {name: rest.value[name].location for name in options}
    options = options if len(problems) == before else {}
    return AdversaryPlan(section.location, keywords, options, locations)

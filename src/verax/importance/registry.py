"""Every importance by name; each is registered where it is defined."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from torch import Tensor

from verax.corpora.batching import MAX_TOKENS
from verax.errors import VeraxError, nearest
from verax.importance.decision import Target, class_numbers
from verax.importance.tracing import LEVELS, check_level, traced
from verax.models.base import evaluation_mode
from verax.models.kinds import KINDS, POOLED
from verax.models.pooled import PooledClassifier
from verax.models.trace import Trace
from verax.plugins import Registry

Importance = Callable[[PooledClassifier, Trace], Tensor]
"""A function of (model, trace) that gives a score for each item, or each token."""

F = TypeVar("F", bound=Callable[..., Tensor])

TAKES = ("signed", "seed", "max_tokens", "target")
"""Keywords that an importance may take, of those that `score` has."""


@dataclass(frozen=True)
class RegisteredImportance:
    """A registered importance.

    function  of (model, trace), and `on` where it has scores on both levels
    about     what a score is, in a few words
    levels    where it has scores: on "inputs", on "items"
    takes     which of `TAKES` it takes as keywords
    kinds     kinds of model that it has scores for (`verax.models.kinds`)
    others    kind of model → the same importance for models of that kind
    places    whether its name may have a place: attention@3 is layer 3, attention@3.2 its head 2
    """

    function: Callable[..., Tensor]
    about: str
    levels: tuple[str, ...] = LEVELS
    takes: tuple[str, ...] = ()
    kinds: tuple[str, ...] = (POOLED,)
    others: dict[str, RegisteredImportance] = field(default_factory=dict)
    places: bool = False

    def for_kind(self, kind: str) -> RegisteredImportance | None:
        """This importance for models of a kind; None where there is none."""
        return self if kind in self.kinds else self.others.get(kind)


IMPORTANCES: Registry[RegisteredImportance] = Registry("importance", "verax.importances")
"""The registered importances, by name."""


def register_importance(
    name: str,
    about: str = "",
    *,
    levels: tuple[str, ...] = LEVELS,
    takes: tuple[str, ...] = (),
    kinds: tuple[str, ...] = (POOLED,),
    places: bool = False,
    **fixed: Any,
) -> Callable[[F], F]:
    """Register a function of (model, trace), so that its name can stand wherever importances do.

    The function gives (batch, tokens) on inputs, zero at SOS, EOS and PAD, or (batch, items) on
    items, zero where there is none: the higher, the more important. Where it has both levels, it is
    told which by the keyword `on`. It is called without gradients: one that needs them asks for
    them itself (`torch.enable_grad`), and leaves the model as it was.

    Args:
        name: what `model.explain(by=…)`, options of exams and flags call it.
        about: what a score is, in a few words; without it, the docstring's first line.
        levels: where it has scores, "inputs", "items" or both.
        takes: which of "signed", "seed", "max_tokens" and "target" it takes as keywords. `target`
            is None, or the class of each document to explain, (batch,) long; one that takes no
            target is the same for every class.
        kinds: kinds of model that the function is for (`verax.models.kinds`): pooled, transformer,
            predict. A name that is registered for other kinds already is the same importance for
            these, too.
        places: whether a layer, or a layer and a head, may follow the name after an @, counted from
            1: name@3, name@3.2. The function gets them by the keyword `place`, (3,) or (3, 2), and
            None without.
        fixed: keywords that are always passed, so that one function can be several importances.

    >>> import torch
    >>> @register_importance("position", "the later, the more important", levels=("items",))
    ... def position(model, trace):
    ...     return torch.arange(trace.mask.shape[1]) * trace.mask
    >>> names_of("attention,position", "items")
    ['attention', 'position']
    >>> IMPORTANCES.unregister("position")
    """

    def register(function: F) -> F:
        given = (("level", levels, LEVELS), ("keyword", takes, TAKES), ("kind", kinds, KINDS))
        for what, names, valid in given:
            if not set(names) <= set(valid) or (what != "keyword" and not names):
                raise VeraxError(
                    f"importance {name!r} has the {what}s {names!r}: give some of {valid}",
                    code="plugin.invalid",
                )
        lines = (function.__doc__ or "").strip().splitlines()
        text = about or (lines[0] if lines else name)
        called = partial(function, **fixed) if fixed else function
        origin = f"{function.__module__}.{function.__qualname__}"
        registered = RegisteredImportance(
            *(called, text, tuple(levels), tuple(takes), tuple(kinds)), places=places
        )
        known = IMPORTANCES.registered.get(name)
        if known is not None and not set(kinds) & {*known.kinds, *known.others}:
            known.others.update(dict.fromkeys(kinds, registered))
        else:
            IMPORTANCES.register(name, registered, origin)
        return function

    return register


def find_importance(name: str, kind: str | None = POOLED) -> RegisteredImportance | None:
    """The importance of a name, which may have a place, for a kind of model; None without one.

    Args:
        name: such as attention, or attention@3.2.
        kind: of the model; None: of any, the first that there is.
    """
    base, place = split_place(name)
    if base not in IMPORTANCES:
        return None
    ones = _of_kind(IMPORTANCES[base], kind)
    return next((one for one in ones if one.places or place is None), None)


def split_place(name: str) -> tuple[str, tuple[int, ...] | None]:
    """The name of an importance, and the layer, or layer and head, that follow it.

    >>> split_place("attention@3.2"), split_place("leave-one-out")
    (('attention', (3, 2)), ('leave-one-out', None))
    """
    match = re.fullmatch(r"([^@]+)@([1-9]\d*)(?:\.([1-9]\d*))?", name)
    if match is None:
        return name, None
    return match[1], tuple(int(part) for part in match.groups()[1:] if part is not None)


def known_names(on: str, kind: str | None = POOLED) -> list[str]:
    """Names of the importances with scores on a level, for a kind of model or for any (None)."""
    return [
        name
        for name, one in IMPORTANCES.registered.items()
        if any(on in each.levels for each in _of_kind(one, kind))
    ]


def _of_kind(one: RegisteredImportance, kind: str | None) -> list[RegisteredImportance]:
    every = [one, *one.others.values()]
    return [each for each in every if kind is None or kind in each.kinds]


def takes_on_inputs(name: str) -> set[str]:
    """The keywords that an importance takes on inputs, for any kind of model; empty if unknown."""
    base, _ = split_place(name)
    every = _of_kind(IMPORTANCES[base], None) if base in IMPORTANCES else []
    return {keyword for one in every if "inputs" in one.levels for keyword in one.takes}


def names_of(
    names: str | list[str] | tuple[str, ...], on: str, kind: str | None = POOLED
) -> list[str]:
    """Names as a list or written "a,b", each once; an error for one there is not on this level.

    Args:
        names: of importances; those of Transformers may have a place, as attention@3.2.
        on: inputs or items.
        kind: of the model: a name without scores for it is an error, too. None, where the model
            is not known yet: any kind will do.
    """
    check_level(on)
    parts = names.split(",") if isinstance(names, str) else list(names)
    chosen = list(dict.fromkeys(n for n in (str(name).strip() for name in parts) if n))
    for name in chosen:
        base, place = split_place(name)
        every = _of_kind(IMPORTANCES[base], None) if base in IMPORTANCES else []
        fit = [one for one in every if on in one.levels and (one.places or place is None)]
        if kind is not None and every and not any(kind in one.kinds for one in every):
            raise VeraxError(
                f"importance {name!r} has no scores for a {kind} model: choose from "
                f"{', '.join(known_names(on, kind))}",
                code="importance.not-applicable",
            )
        if not any(kind is None or kind in one.kinds for one in fit):
            valid = [*known_names(on, kind), *IMPORTANCES.to_import]
            raise VeraxError(
                f"unknown importance {name!r} on {on}: {nearest(name, valid)}",
                code="option.unknown-value",
            )
    return chosen


def score(
    name: str,
    model: Any,
    source: Any,
    on: str = "inputs",
    *,
    signed: bool = False,
    seed: int = 0,
    max_tokens: int = MAX_TOKENS,
    target: Target | None = None,
) -> Tensor:
    """The scores of the importance called `name`, (batch, tokens) or (batch, items), in float64.

    `model` is a classifier of any kind, `source` a trace of it, or a batch of a pooled one.
    `signed`, `seed`, `max_tokens` and `target` go to those that take them. `target` is a class by
    name or number, or one for each document; the class decided for, unless given.
    """
    (name,) = names_of([name], on, model.kind)
    importance = find_importance(name, model.kind)
    assert importance is not None  # names_of has looked
    trace = traced(model, source)
    y = class_numbers(model.classes, target, trace.logits)
    values = {"signed": signed, "seed": seed, "max_tokens": max_tokens, "target": y}
    more: dict[str, Any] = {key: values[key] for key in importance.takes}
    if set(importance.levels) == set(LEVELS):
        more["on"] = on
    if importance.places:
        more["place"] = split_place(name)[1]
    with evaluation_mode(model):
        scores = importance.function(model, trace, **more)
    expected = trace.tokens.shape if on == "inputs" else trace.mask.shape
    if not isinstance(scores, Tensor) or scores.shape != expected:
        shape = tuple(scores.shape) if isinstance(scores, Tensor) else type(scores).__name__
        raise VeraxError(
            f"importance {name!r} on {on} gave {shape}, expected {tuple(expected)}",
            code="importance.wrong-scores",
        )
    return scores.double()

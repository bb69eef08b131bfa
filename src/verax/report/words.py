"""The verdict in words: sentences made from numbers, by limits that have names.

An exam speaks for attention, or against it, only where all of a 95% interval is beyond a limit;
else it leaves the question open. How well a model decides is told and never counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from verax.report.numerals import interval, numeral
from verax.report.witness import Number, Witness

FOR, AGAINST, OPEN, ASIDE = "for", "against", "open", "aside"
"""What an exam says of attention; aside: it asks something else."""

MOSTLY_OPTIMAL, SELDOM_OPTIMAL = 80.0, 50.0
"""Percent of decisions of which attention names the fewest items that carry them."""
STRONG_TAU, WEAK_TAU = 0.6, 0.3
"""Kendall's τ-b of attention with leave-one-out."""
NOTICED, UNNOTICED = 80.0, 95.0
"""Percent of decisions that survive uniform attention: fewer, and it had a say; more, and not."""
SURE, UNSURE = 0.25, 0.1
"""Above chance: the confidence of a model that is sure, and of a token that says little."""
HELD_FAST, HELD_LOOSE = 0.2, 0.05
"""Nats by which keeping the output holds attention back from the farthest there is."""
CLOSE = ("ε = 0.05", "ε = 0.01", "ε = 0.1")
"""Changes of the output that leave it as it was, the first that was asked for."""


@dataclass(frozen=True)
class Statement:
    """What one exam says.

    label     what the number is, for a card
    compared  what to hold it against
    sentence  both as a sentence
    """

    exam: str
    leaning: str
    label: str
    number: Number
    compared: str
    sentence: str


def statements(witness: Witness) -> list[Statement]:
    """What each exam that was taken says, those that judge attention first."""
    return [said for say in _SAYING if (said := say(witness)) is not None]


def _erasure(witness: Witness) -> Statement | None:
    found = witness.number("excess", "attention", "optimal")
    if found is None:
        return None
    others = {
        "in random order": _first(witness, "excess", _random(witness), "optimal"),
        "by gradient": witness.number("excess", "gradient", "optimal"),
    }
    return Statement(
        "erasure",
        _lean(found, above=MOSTLY_OPTIMAL, below=SELDOM_OPTIMAL),
        f"decisions where attention points at the fewest {witness.item}s that carry them",
        found,
        _list(others),
        f"Erasing {witness.item}s from the most attended down changes the decision as soon as any "
        f"order can in {_told(found)} of the documents that can be changed"
        f"{_beside(others)}.",
    )


def _agreement(witness: Witness) -> Statement | None:
    for on in ("inputs", "items"):
        found = witness.number("agreement", f"{on}: attention : leave-one-out", "τ-b")
        if found is not None:
            break
    else:
        return None
    others = {
        "with gradients": witness.number("agreement", f"{on}: attention : gradient", "τ-b"),
        "gradients with leave-one-out": witness.number(
            "agreement", f"{on}: gradient : leave-one-out", "τ-b"
        ),
    }
    what = witness.item if on == "items" else "word"
    return Statement(
        "agreement",
        _lean(found, above=STRONG_TAU, below=WEAK_TAU),
        f"rank agreement (τ) of attention with what deleting a {what} does",
        found,
        _list(others),
        f"Attention ranks {what}s as leaving each one out does with τ = {_told(found)}, where 1 is "
        f"the same order and 0 none{_beside(others)}.",
    )


def _fragility(witness: Witness) -> Statement | None:
    found = witness.number("fragility", "uniform", "decisions that survive")
    if found is None:
        return None
    permuted = [row for row in witness.rows("fragility") if row.startswith("permuted")]
    others = {
        "with attention permuted": _first(witness, "fragility", permuted, "decisions that survive")
    }
    return Statement(
        "fragility",
        _lean(found, above=UNNOTICED, below=NOTICED, high_is_good=False),
        "decisions that stay the same when attention is made uniform",
        found,
        _list(others),
        f"With attention made uniform {_told(found)} of the decisions stay as they were"
        f"{_beside(others)}: the more do, the less attention had to say.",
    )


def _leakage(witness: Witness) -> Statement | None:
    for row in ("correct decisions", "all decisions"):
        found = witness.number("leakage", row, "a token alone")
        confidence = witness.number("leakage", row, "confidence")
        if found is not None and confidence is not None:
            break
    else:
        return None
    leaning, chance = OPEN, witness.chance
    if not math.isnan(chance) and confidence.is_above(chance + SURE):
        nearest = found.high if found.has_interval else found.value
        if nearest >= (confidence.low if confidence.has_interval else confidence.value):
            leaning = AGAINST
        elif found.is_below(chance + UNSURE):
            leaning = FOR
    others = {"all together": confidence}
    if not math.isnan(chance):
        others["undecided"] = Number(chance)
    item = witness.item
    return Statement(
        "leakage",
        leaning,
        f"probability of the decision, had attention been on one {item} alone",
        found,
        _list(others),
        f"One {item} alone, whichever it is, gives {row} a probability of {_told(found)}"
        f"{_beside(others)}: where any {item} says it all, attention need not find the right one.",
    )


def _adversary(witness: Witness) -> Statement | None:
    for row in CLOSE:
        found = witness.number("adversary", row, "JSD")
        held = witness.number("adversary", row, "held back")
        if found is not None and held is not None:
            break
    else:
        return None
    others = {"were the output let go, farther by": held}
    return Statement(
        "adversary",
        _lean(held, above=HELD_FAST, below=HELD_LOOSE),
        f"how far another attention can be that moves the output by {row[4:]} at most (JSD)",
        found,
        _list(others),
        f"Another attention, {_told(found)} nats away on average (0.693 is the most there is), "
        f"moves the probability of the decision by {row[4:]} at most; keeping the output holds it "
        f"back by {_told(held)}.",
    )


def _dispersion(witness: Witness) -> Statement | None:
    found = witness.number("entropy", "attention, over items", "mean")
    if found is None:
        return None
    others = {"gradients": witness.number("entropy", "gradient, of inputs on the output", "mean")}
    return Statement(
        "dispersion",
        ASIDE,
        "entropy of attention, 1 where it is uniform",
        found,
        _list(others),
        f"Attention has a normalised entropy of {_told(found)}, where 1 is uniform"
        f"{_beside(others)}; that says how widely it is spread, not whether it is true.",
    )


def _information(witness: Witness) -> Statement | None:
    rows = witness.rows("information")
    found = _first(witness, "information", rows, "kept")
    if found is None:
        return None
    return Statement(
        "information",
        ASIDE,
        "of what a state could tell of its word is kept",
        found,
        "",
        f"States keep {_told(found)} of what they could tell of the word they stand for; where "
        "little is left, weight on a state is not weight on its word.",
    )


def _accuracy(witness: Witness) -> Statement | None:
    places = [("documents", "accuracy", "value"), ("fragility", "trained", "accuracy")]
    places += [(f"{exam}_documents", "accuracy", "value") for exam in witness.exams]
    found = next((n for place in places if (n := witness.number(*place)) is not None), None)
    if found is None:
        return None
    return Statement(
        "decisions",
        ASIDE,
        "accuracy of the decisions",
        found,
        "says how well it decides, not why",
        f"Decisions are right in {_told(found)} of the documents, which says how well the model "
        "decides and nothing of why.",
    )


_SAYING: tuple[Callable[[Witness], Statement | None], ...] = (
    *(_erasure, _agreement, _fragility, _leakage, _adversary),
    *(_accuracy, _dispersion, _information),
)


def _lean(number: Number, above: float, below: float, high_is_good: bool = True) -> str:
    if number.is_above(above):
        return FOR if high_is_good else AGAINST
    if number.is_below(below):
        return AGAINST if high_is_good else FOR
    return OPEN


def _random(witness: Witness) -> list[str]:
    rows = [row for row in witness.rows("excess") if row.startswith("random")]
    return rows[::-1]  # all draws before the first


def _first(witness: Witness, table: str, rows: Sequence[str], column: str) -> Number | None:
    numbers = (witness.number(table, row, column) for row in rows)
    return next((number for number in numbers if number is not None), None)


def _told(number: Number) -> str:
    within = interval(number)
    return numeral(number) + (f" ({within})" if within else "")


def _list(others: Mapping[str, Number | None]) -> str:
    return "; ".join(f"{name} {numeral(n)}" for name, n in others.items() if n is not None)


def _beside(others: Mapping[str, Number | None]) -> str:
    told = _list(others)
    return f" ({told})" if told else ""

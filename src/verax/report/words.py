"""The verdict in words: sentences made from numbers, by limits that have names.

An exam speaks for attention, or against it, only where all of a 95% interval is beyond a limit;
else it leaves the question open. How well a model decides is told and never counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from verax.exams.erasure.summary import MORE, PART
from verax.report.numerals import interval, numeral
from verax.report.witness import SEEDS, Number, Witness

FOR, AGAINST, OPEN, ASIDE = "for", "against", "open", "aside"
"""What an exam says of attention; aside: it asks something else, or cannot be judged."""

MOSTLY_OPTIMAL, SELDOM_OPTIMAL = 80.0, 50.0
"""Percent of the decisions a part can change that attention changes as soon as anything can."""
ENOUGH = 20
"""Such decisions, below which nothing is said of them."""
STRONG_TAU, WEAK_TAU = 0.6, 0.3
"""Kendall's τ-b of attention with leave-one-out."""
NOTICED, UNNOTICED = 80.0, 95.0
"""Percent of decisions that survive uniform attention: fewer, and it had a say; more, and not."""
SURE, UNSURE = 0.25, 0.1
"""Above chance: the confidence of a model that is sure, and of a token that says little."""
HELD_FAST, HELD_LOOSE = 0.2, 0.05
"""Nats by which keeping the output holds attention back from the farthest there is."""
KEPT = 90.0
"""Percent of decisions that must be kept, too, for another attention to say the same."""
CLOSE = ("ε = 0.05", "ε = 0.01", "ε = 0.1")
"""Changes of the output that leave it as it was, the first that was asked for."""
ALL_WEIGHT = "flips only when all weight is erased"
NEVER = ("no erasure flips it", "no erasure was found to flip it")
"""Rows of the erasure exam's `documents`."""
_ARITHMETIC = "where nothing is shorter than attention, by arithmetic"


@dataclass(frozen=True)
class Statement:
    """What one exam says.

    label     what the number is, for a card
    number    what is judged
    compared  what to hold it against
    sentence  both as a sentence
    of        of how many documents
    limits    by which limits the number is judged; empty where it is not
    """

    exam: str
    leaning: str
    label: str
    number: Number
    compared: str
    sentence: str
    of: str = ""
    limits: str = ""


def statements(witness: Witness) -> list[Statement]:
    """What each exam that was taken says, those that judge attention first.

    Nothing speaks for an attention that is uniform by construction: it points at nothing.
    """
    said = [said for say in _SAYING if (said := say(witness)) is not None]
    if witness.is_uniform:
        said = [replace(one, leaning=OPEN) if one.leaning == FOR else one for one in said]
    return said


def accuracy(witness: Witness) -> Number | None:
    """How many of the decisions are right, by the first exam that says so."""
    places = [("documents", "accuracy", "value"), ("replacement", "trained", "accuracy")]
    places += [(f"{exam}_documents", "accuracy", "value") for exam in witness.exams]
    return next((n for place in places if (n := witness.number(*place)) is not None), None)


def _erasure(witness: Witness) -> Statement | None:
    found = witness.cell("excess", "attention", PART)
    if found is None:
        return _erasure_of_all(witness)
    more = witness.number("excess", "attention", MORE)
    leaning = OPEN
    if found.n >= ENOUGH:
        leaning = _lean(found, above=MOSTLY_OPTIMAL, below=SELDOM_OPTIMAL)
        if leaning == FOR and (more is None or not more.is_above(0)):
            leaning = OPEN
        if more is not None and more.is_below(0):
            leaning = AGAINST
    others = _other_orders(witness, PART)
    item, whole = witness.item, _count(witness, "examined")
    beyond = f", {_told(more)} points from random order" if more is not None else ""
    rest = _count(witness, ALL_WEIGHT)
    only = f" {rest:,} more change only when all is erased, {_ARITHMETIC}." if rest else ""
    told = (
        f"Erasing a part of the {item}s is enough to change the decision in {found.n:,}"
        f"{f' of {whole:,}' if whole else ''} documents"
    )
    if found.n:
        told += (
            f". Erasing from the most attended {item} down changes it as soon as any order can in "
            f"{_told(found)} of these{_beside(others)}{beyond}"
        )
    return Statement(
        "erasure",
        leaning,
        f"decisions that erasing the most attended {item}s changes as soon as any order can",
        found,
        _list(others),
        f"{told}{'' if found.n >= ENOUGH else ': too few to judge'}.{only}",
        _of_erased(witness, found.n),
        f"for it above {MOSTLY_OPTIMAL:g}% and random order, against it below {SELDOM_OPTIMAL:g}% "
        f"or random order; judged from {ENOUGH} documents on",
    )


def _erasure_of_all(witness: Witness) -> Statement | None:
    """Of tables that do not tell apart what changes only when all is erased: never for."""
    found = witness.number("excess", "attention", "optimal")
    if found is None:
        return None
    others, item = _other_orders(witness, "optimal"), witness.item
    whole = _count(witness, ALL_WEIGHT)
    only = f" ({whole:,})" if whole else ""
    return Statement(
        "erasure",
        AGAINST if found.is_below(SELDOM_OPTIMAL) else OPEN,
        f"decisions that erasing the most attended {item}s changes as soon as any order can, "
        "with those that change only when all is erased",
        found,
        _list(others),
        f"Erasing {item}s from the most attended down changes the decision as soon as any order "
        f"can in {_told(found)} of the documents that can be changed{_beside(others)}. That is "
        f"with those{only} that change only when all is erased, {_ARITHMETIC}: these results were "
        "made without telling them apart, and cannot speak for attention.",
        f"of {_documents(found, witness)} that can be changed",
        f"against it below {SELDOM_OPTIMAL:g}%; never for, as the others are not told apart",
    )


def _other_orders(witness: Witness, column: str) -> dict[str, Number | None]:
    return {
        "in random order": _first(witness, "excess", _random(witness), column),
        "by gradient": witness.number("excess", "gradient", column),
    }


def _of_erased(witness: Witness, part: int) -> str:
    only = _count(witness, ALL_WEIGHT)
    never = next((n for row in NEVER if (n := _count(witness, row)) is not None), None)
    each = " a seed" if witness.over == SEEDS else ""
    told = f"of {part:,} documents{each} that change before all is erased"
    others = [f"{only:,} change only then"] if only else []
    others += [f"{never:,} never"] if never else []
    return f"{told}; {', '.join(others)}" if others else told


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
        _all(found, witness),
        f"for it above {STRONG_TAU:g}, against it below {WEAK_TAU:g}",
    )


def _replacement(witness: Witness) -> Statement | None:
    found = witness.number("replacement", "uniform", "decisions that survive")
    if found is None:
        return None
    permuted = [row for row in witness.rows("replacement") if row.startswith("permuted")]
    others = {
        "with attention permuted": _first(
            witness, "replacement", permuted, "decisions that survive"
        )
    }
    return Statement(
        "replacement",
        _lean(found, above=UNNOTICED, below=NOTICED, high_is_good=False),
        "decisions that stay the same when attention is made uniform",
        found,
        _list(others),
        f"With attention made uniform {_told(found)} of the decisions stay as they were"
        f"{_beside(others)}: the more do, the less attention had to say.",
        _all(found, witness),
        f"for it below {NOTICED:g}%, against it above {UNNOTICED:g}%",
    )


def _single_token(witness: Witness) -> Statement | None:
    for row in ("correct decisions", "all decisions"):
        found = witness.number("single_token", row, "a token alone")
        confidence = witness.number("single_token", row, "confidence")
        if found is not None and confidence is not None:
            break
    else:
        return None
    others, chance, item = {"all together": confidence}, witness.chance, witness.item
    if math.isnan(chance):
        leaning, limits = ASIDE, ""
        compared = f"{_list(others)}; not judged: the number of classes is not known"
    else:
        leaning = OPEN
        if confidence.is_above(chance + SURE):
            nearest = found.high if found.has_interval else found.value
            if nearest >= (confidence.low if confidence.has_interval else confidence.value):
                leaning = AGAINST
            elif found.is_below(chance + UNSURE):
                leaning = FOR
        others["undecided"] = Number(chance)
        compared = _list(others)
        limits = (
            f"for it below {chance + UNSURE:.3g}, against it where its interval reaches that of "
            f"all together; judged where all together give more than {chance + SURE:.3g}"
        )
    ends = [witness.number("single_token", row, column) for column in ("least", "most")]
    least, most = (numeral(end) if end is not None else "" for end in ends)
    between = f", from {least} by the least to {most} by the most" if least and most else ""
    return Statement(
        "single_token",
        leaning,
        f"probability of the decision, had attention been on one {item} alone; a mean",
        found,
        compared,
        f"One {item} alone gives {row} a probability of {_told(found)} on average{between}"
        f"{_beside(others)}: the nearer that comes to what all give together, the less it matters "
        f"which {item} attention finds.",
        f"{_all(found, witness)}{', decided right' if row == 'correct decisions' else ''}",
        limits,
    )


def _adversary(witness: Witness) -> Statement | None:
    for row in CLOSE:
        found = witness.number("adversary", row, "JSD")
        held = witness.number("adversary", row, "held back")
        if found is not None and held is not None:
            break
    else:
        return None
    kept = witness.number("adversary", row, "decisions kept")
    leaning = _lean(held, above=HELD_FAST, below=HELD_LOOSE)
    why = ""
    if kept is not None and not kept.is_above(KEPT):
        leaning, why = OPEN, ". Too few decisions are kept for it to say the same"
    elif _is_unsure(witness):
        leaning, why = OPEN, ". The model is too unsure for that to say much"
    others = {"still apart by (JSD)": found, "decisions kept": kept}
    also = f", with {_told(kept)} of the decisions kept" if kept is not None else ""
    return Statement(
        "adversary",
        leaning,
        f"nats by which keeping the decision's probability within {row} holds another attention "
        "back",
        held,
        _list(others),
        f"Another attention, {_told(found)} nats away on average (0.693 is the most there is), "
        f"keeps the probability of the decision within {row}{also}; having to keep it holds it "
        f"back by {_told(held)}{why}.",
        _all(held, witness),
        f"for it above {HELD_FAST:g}, against it below {HELD_LOOSE:g}; judged where more than "
        f"{KEPT:g}% of decisions are kept and the model is sure",
    )


def _is_unsure(witness: Witness) -> bool:
    """Whether confidence, where the single_token exam tells it, is not far above chance."""
    confidence = witness.number("single_token", "all decisions", "confidence")
    if confidence is None or math.isnan(witness.chance):
        return False
    return not confidence.is_above(witness.chance + SURE)


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
    found = accuracy(witness)
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
    *(_erasure, _agreement, _replacement, _single_token, _adversary),
    *(_accuracy, _dispersion, _information),
)


def _lean(number: Number, above: float, below: float, high_is_good: bool = True) -> str:
    if number.is_above(above):
        return FOR if high_is_good else AGAINST
    if number.is_below(below):
        return AGAINST if high_is_good else FOR
    return OPEN


def _count(witness: Witness, row: str) -> int | None:
    found = witness.number("documents", row, "value")
    return None if found is None else round(found.value)


def _documents(number: Number, witness: Witness) -> str:
    return f"{number.n:,} documents{' a seed' if witness.over == SEEDS else ''}"


def _all(number: Number, witness: Witness) -> str:
    return f"of {_documents(number, witness)}" if number.n else ""


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

"""All exams together: whether this attention can be trusted, and what the numbers do not say."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verax.report.numerals import interval, numeral
from verax.report.witness import DOCUMENTS, SEEDS, Number, Witness
from verax.report.words import AGAINST, FOR, OPEN, Statement, accuracy

FEW = 5
"""Seeds below which Student's interval is more than three standard errors to either side."""


def headline(said: Sequence[Statement]) -> str:
    """Whether this attention can be trusted, in one sentence."""
    counts = dict.fromkeys((FOR, AGAINST, OPEN), 0)
    for one in said:
        if one.leaning in counts:
            counts[one.leaning] += 1
    total = sum(counts.values())
    if total == 0:
        return "The exams taken here do not ask whether this attention can be trusted."
    if counts[AGAINST] and counts[FOR]:
        return (
            f"This attention tells part of the truth: of {_exams(total)}, {counts[FOR]} "
            f"{_speak(counts[FOR])} for it and {counts[AGAINST]} against."
        )
    if counts[AGAINST]:
        return (
            "Do not take this attention for the reason of a decision: "
            f"{_of(counts[AGAINST], total)} against it."
        )
    if counts[FOR]:
        return (
            f"Nothing found here speaks against this attention: {_of(counts[FOR], total)} for it."
        )
    leave = "leaves" if total == 1 else "leave"
    return f"The {_exams(total)} taken here {leave} open whether this attention can be trusted."


def short(said: Sequence[Statement]) -> str:
    """The headline for a cell of a table."""
    leanings = [one.leaning for one in said]
    parts = [f"{leanings.count(lean)} {lean}" for lean in (FOR, AGAINST, OPEN) if lean in leanings]
    return ", ".join(parts) or "not asked"


def caveats(witness: Witness) -> list[str]:
    """What these numbers do not say."""
    found = []
    if witness.over == DOCUMENTS:
        found.append(
            "Intervals are over documents of one trained model: another seed may give another "
            "attention."
        )
    seeds = witness.manifest.get("seeds", 0)
    if witness.over == SEEDS and seeds:
        found.append(
            f"Intervals are over {seeds} seeds (Student's t)"
            + (f": {seeds} are few, and intervals wide" if seeds < FEW else "")
            + ("; they are cut where a number cannot go." if witness.manifest.get("cut") else ".")
        )
    documents, whole = (witness.manifest.get(name) for name in ("documents", "sampled_from"))
    if documents and whole and documents < whole:
        found.append(f"{documents:,} of {whole:,} documents were examined.")
    if told := _unlearned(witness):
        found.append(told)
    if witness.is_uniform:
        found.append("This attention is uniform by construction: nothing can speak for it.")
    found.append(
        "An exam that speaks for attention has failed to find fault with it; that is no proof. "
        "How accurate a model is says nothing of whether its attention explains it."
    )
    return found


def _unlearned(witness: Witness) -> str:
    """Of a model that may decide no better than by naming one class always."""
    right, share, by = accuracy(witness), witness.majority, "always naming the largest class"
    if math.isnan(share):
        share, by = witness.chance, "naming a class at random"
    if right is None or math.isnan(share) or right.is_above(100 * share):
        return ""
    within = interval(right)
    return (
        f"The model may have learned nothing, and then there is nothing to explain: it decides "
        f"right in {numeral(right)}{f' ({within})' if within else ''} of the documents, {by} in "
        f"{numeral(Number(100 * share, unit='percent'))}."
    )


def _exams(number: int) -> str:
    return "one exam" if number == 1 else f"{number} exams"


def _of(some: int, total: int) -> str:
    if some == total:
        return f"the {_exams(total)} taken here {'all ' * (total > 1)}{_speak(some)}"
    return f"{some} of {_exams(total)} {_speak(some)}"


def _speak(number: int) -> str:
    return "speaks" if number == 1 else "speak"

"""All exams together: whether this attention can be trusted, and what the numbers do not say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from verax.corpora.describing import MANY_UNKNOWN
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import DOCUMENTS, SEEDS, Number
from verax.exams.judgement.phrasing import interval, numeral
from verax.exams.judgement.row import AGAINST, FOR, OPEN, Judged
from verax.exams.judgement.subjects import (
    MIXED,
    are_several,
    doubted,
    is_derived,
    subjects_of,
    verdict_on,
)
from verax.exams.measures import VALUE

FEW = 5
"""Seeds below which Student's interval is more than three standard errors to either side."""

_SAID = {
    FOR: "for",
    AGAINST: "exams speak against",
    MIXED: "they are divided on",
    OPEN: "it cannot be told of",
}
"""What is said of scores, as the headline words it."""
_ALONE = {AGAINST: "exams speak against it", MIXED: "exams are divided on it"}


def headline(rows: Sequence[Judged], unlearned: str = "") -> str:
    """Whether this attention can be trusted, in one sentence; after it, if so, that it need not be.

    Args:
        rows: what each exam says.
        unlearned: what is said first of a model that may have learnt nothing.

    Where scores are judged, each a subject of its own, the sentence says which may be shown.
    """
    answer = of_scores(rows) if are_several(rows) else _headline(rows)
    return f"{unlearned} {answer}" if unlearned else answer


def of_scores(rows: Sequence[Judged]) -> str:
    """Which of several scores may be shown to people as what decided, in one sentence."""
    names = subjects_of(rows)
    said = {verdict: [n for n in names if verdict_on(n, rows) == verdict] for verdict in _SAID}
    rest = [f"{words} {_and(said[verdict])}" for verdict, words in _SAID.items() if said[verdict]]
    if said[FOR]:
        are_one = len(said[FOR]) == 1
        passed = f"{'passes' if are_one else 'pass'} the exams taken here"
        if any(row.decides for row in rows):
            passed = f"{'finds' if are_one else 'find'} words that matter better than chance"
        but = [name for name in said[FOR] if doubted(name, rows)]
        rest[1:1] = [f"other exams speak against {_and(but)}"] if but else []
        return (
            f"{_among(names)}{_and(said[FOR])} {passed}, and may be shown for this "
            f"model{''.join(f'; {part}' for part in rest[1:])}."
        )
    one = names[0] if len(names) == 1 else "any"
    if len(said[OPEN]) == len(names):
        it = f"{_among(names)}it" if len(names) > 1 else "It"
        return f"{it} cannot be told whether {one} may be shown for this model."
    if len(names) == 1:
        return f"{one} may not be shown for this model: {_ALONE[verdict_on(one, rows)]}."
    if said[OPEN]:
        none = "none is known to be fit to be shown for this model"
        return f"{_among(names)}{none}: {'; '.join(rest)}."
    return f"{_among(names)}none may be shown for this model: {'; '.join(rest)}."


def _among(names: Sequence[str]) -> str:
    """How many scores there are, to begin a sentence with; nothing of a single one."""
    if len(names) == 1:
        return ""
    what = "derived from attention" if all(map(is_derived, names)) else "examined here"
    return f"Of {_number(len(names))} scores {what}, "


def _number(number: int) -> str:
    small = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return small[number] if number < len(small) else str(number)


def _and(names: Sequence[str]) -> str:
    """Names in a line.

    >>> _and(["rollout", "chefer", "attention"])
    'rollout, chefer and attention'
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def _headline(rows: Sequence[Judged]) -> str:
    votes = [row.verdict for row in rows]
    for_it, against, left = (votes.count(vote) for vote in (FOR, AGAINST, OPEN))
    total = for_it + against + left
    if total == 0:
        return "The exams taken here do not ask whether this attention can be trusted."
    rest = f", and {_exams(left)} {'leaves' if left == 1 else 'leave'} it open" if left else ""
    if against and for_it:
        return (
            f"This attention tells part of the truth: of {_exams(total)}, {for_it} "
            f"{_speak(for_it)} for it and {against} against{rest}."
        )
    if against == total:
        return (
            "Do not take this attention for the reason of a decision: "
            f"{_all(total)} {_speak(total)} against it."
        )
    if against > total / 2:
        return (
            f"Do not rely on this attention: {against} of {_exams(total)} {_speak(against)} "
            "against it, and none for it."
        )
    if against:
        return (
            f"Doubt this attention: {against} of {_exams(total)} {_speak(against)} against it, and "
            "none for it."
        )
    if for_it == total:
        return f"Nothing speaks against this attention: {_all(total)} {_speak(total)} for it."
    if for_it:
        return (
            f"Nothing speaks against this attention: {for_it} of {_exams(total)} "
            f"{_speak(for_it)} for it{rest}."
        )
    leave = "leaves" if total == 1 else "leave"
    return f"The {_exams(total)} taken here {leave} open whether this attention can be trusted."


def short(rows: Sequence[Judged]) -> str:
    """The headline for a cell of a table: how many exams, or scores, have each verdict."""
    votes = [row.verdict for row in rows]
    if are_several(rows):
        votes = [verdict_on(name, rows) for name in subjects_of(rows)]
    order = (FOR, AGAINST, MIXED, OPEN)
    parts = [f"{votes.count(vote)} {vote}" for vote in order if vote in votes]
    return ", ".join(parts) or "not asked"


def accuracy(model: ModelSummary) -> Number | None:
    """How many of the decisions are right, by the first exam that says so."""
    places = [(f"{exam}.documents", "accuracy", VALUE) for exam in model.exams]
    places.append(("replacement", "trained", "accuracy"))
    return next((n for place in places if (n := model.number(*place)) is not None), None)


def unlearned(model: ModelSummary) -> str:
    """That a model decides no better than by naming one class always; empty if it does better.

    Without an interval only an accuracy that is no higher says so, and says that it may be. So it
    is over seeds: of few, Student's interval is too wide to doubt a model by.
    """
    right, share, by = accuracy(model), model.majority, "always naming the largest class"
    if math.isnan(share):
        share, by = model.chance, "naming a class at random"
    if right is None or math.isnan(share):
        return ""
    better = right.value > 100 * share
    doubted = right.has_interval and right.over == DOCUMENTS and not right.is_above(100 * share)
    if better and not doubted:
        return ""
    within = interval(right)
    shown = f"{numeral(right)}{f' ({within})' if within else ''}"
    other = numeral(Number(100 * share, unit="percent"))
    if right.has_interval and right.high <= 100 * share:
        return (
            f"This model has learnt nothing that attention could explain: it decides right in "
            f"{shown} of the documents, {by} in {other}."
        )
    return (
        f"This model may have learnt nothing: it decides right in {shown} of the documents, {by} "
        f"in {other}."
    )


def caveats(model: ModelSummary) -> list[str]:
    """What these numbers do not say."""
    lines = []
    if model.over == DOCUMENTS:
        lines.append(
            "Intervals are over documents of one trained model: another seed may give another "
            "attention."
        )
    seeds = model.manifest.get("seeds", 0)
    if model.over == SEEDS and seeds:
        lines.append(
            f"Intervals are over {seeds} seeds (Student's t)"
            + (f": {seeds} are few, and intervals wide" if seeds < FEW else "")
            + ("; they are cut where a number cannot go." if model.manifest.get("cut") else ".")
        )
    documents, whole = (model.manifest.get(name) for name in ("documents", "sampled_from"))
    if documents and whole and documents < whole:
        lines.append(f"{documents:,} of {whole:,} documents were examined.")
    if "without_labels" in model.manifest:
        lines.append("The documents have no labels: how accurate the model is here is not known.")
        for name in model.manifest["without_labels"].get("exams_left_out", ()):
            lines.append(f"Exam {name!r} was not taken: it needs labels.")
    for name in (model.manifest.get("without_rationales") or {}).get("exams_left_out", ()):
        lines.append(f"Exam {name!r} was not taken: it needs people's marks, and there are none.")
    lines += time_lines(model.manifest)
    unknown = model.manifest.get("unknown_words") or 0.0
    if unknown > MANY_UNKNOWN:
        lines.append(
            f"{unknown:.0%} of the words are not in the model's vocabulary: it reads them all as "
            "one word, and attention on them says little."
        )
    if cut := model.manifest.get("cut_texts"):
        lines.append(
            f"{cut:,} of the documents were read up to {model.manifest['cut_at']:,} pieces, and "
            "the rest of them was not."
        )
    if model.is_uniform:
        lines.append("This attention is uniform by construction: nothing can speak for it.")
    lines.append(
        "An exam that speaks for attention has failed to find fault with it; that is no proof. "
        "How accurate a model is says nothing of whether its attention explains it."
    )
    return lines


def time_lines(manifest: Mapping[str, Any]) -> list[str]:
    """What there was no time for: a sentence for each exam that leaves documents out."""
    whole, seconds = manifest.get("documents", 0), manifest.get("max_seconds")
    lines = []
    for name, left in (manifest.get("out_of_time") or {}).items():
        count, words = left["documents"], (left["words_of_shortest"], left["words_of_longest"])
        what = "The gallery" if name == "gallery" else f"Exam {name!r}"
        size = f"{words[0]:,}" if words[0] == words[1] else f"{words[0]:,} to {words[1]:,}"
        if count == whole:
            lines.append(f"{what} was left out: {seconds:g} seconds were not enough for it.")
            continue
        lines.append(
            f"{what} leaves out {count:,} of {whole:,} documents, of {size} words: there was no "
            f"time for them in {seconds:g} seconds."
        )
    return lines


def _exams(number: int) -> str:
    return "one exam" if number == 1 else f"{number} exams"


def _all(number: int) -> str:
    return "the one exam taken here" if number == 1 else f"all {number} exams taken here"


def _speak(number: int) -> str:
    return "speaks" if number == 1 else "speak"

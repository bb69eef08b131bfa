"""All exams together: the headline, when it is withheld, and what the numbers do not say."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from verax.corpora.describing import MANY_UNKNOWN
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import DOCUMENTS, SEEDS, Number
from verax.exams.judgement.phrasing import interval, numeral
from verax.exams.judgement.row import AGAINST, FOR, OPEN, WITHHELD, Judged
from verax.exams.judgement.subjects import (
    MIXED,
    are_several,
    exams_with,
    is_derived,
    subjects_of,
    verdict_on,
)
from verax.exams.measures import VALUE
from verax.statistics.intervals import proportion

LEAST_DOCUMENTS = 80
"""Documents below which there is no verdict."""
NEARLY_ALL, NEARLY_CHANCE = 0.95, 0.05
"""Without labels a model may have learnt nothing if it gives one class to this share of the
documents, or if its mean confidence is no more than this above chance."""
FEW = 5
"""Seeds below which Student's interval is more than three standard errors to either side."""


def headline(rows: Sequence[Judged], withheld: str = "") -> str:
    """Return whether this attention can be trusted, or why there is no verdict, in one sentence.

    Args:
        rows: what each exam says.
        withheld: why there is no verdict; empty where there is one.

    Where scores are judged, each a subject of its own, the sentence says which may be shown.
    """
    if not any(row.counts for row in rows):
        nothing = "The exams run here do not judge whether this attention can be trusted."
        return withheld or nothing
    return withheld or (of_scores(rows) if are_several(rows) else _headline(rows))


def of_scores(rows: Sequence[Judged]) -> str:
    """Return which of several scores may be shown to people as what decided, in one sentence."""
    names = subjects_of(rows)
    by = {v: [n for n in names if verdict_on(n, rows) == v] for v in (FOR, AGAINST, MIXED, OPEN)}
    rest = _mixed(by[MIXED], rows)
    if by[AGAINST]:
        rest.append(f"exams contradict {_and(by[AGAINST])}")
    if by[OPEN]:
        rest.append(f"inconclusive for {_and(by[OPEN])}")
    if by[FOR]:
        them = "it" if len(by[FOR]) == 1 else "them"
        why = f"exams support {them} and none contradicts {them}"
        return f"{_among(names)}{'; '.join([f'{_and(by[FOR])} may be shown ({why})', *rest])}."
    if len(by[OPEN]) == len(names):
        what = names[0] if len(names) == 1 else f"any of the {_scores(names)}"
        return f"Inconclusive: the exams neither support nor contradict {what}."
    if len(names) == 1:
        return f"{names[0]} may not be shown: {rest[0]}."
    return f"{_among(names)}none may be shown: {'; '.join(rest)}."


def _mixed(names: Sequence[str], rows: Sequence[Judged]) -> list[str]:
    """Return which scores are mixed, with the exams on either side; scores alike together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for name in names:
        sides = tuple(_and(exams_with(verdict, name, rows)) for verdict in (FOR, AGAINST))
        alike.setdefault((sides[0], sides[1]), []).append(name)
    return [
        f"mixed for {_and(some)} (supported by {good}, contradicted by {bad})"
        for (good, bad), some in alike.items()
    ]


def _among(names: Sequence[str]) -> str:
    """Return how many scores there are, to begin a sentence with; nothing for a single one."""
    return "" if len(names) == 1 else f"Of {_scores(names)}, "


def _scores(names: Sequence[str]) -> str:
    what = "derived from attention" if all(map(is_derived, names)) else "examined here"
    return f"{_number(len(names))} scores {what}"


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
    of_all = _exams(total)
    rest = f"; {left} {_are(left)} inconclusive" if left else ""
    if against and for_it:
        return (
            f"The exams disagree about this attention: of {of_all}, {for_it} {_support(for_it)} it "
            f"({_names(FOR, rows)}) and {against} {_contradict(against)} it "
            f"({_names(AGAINST, rows)}){rest}."
        )
    if against == total:
        return (
            "Do not take this attention for the reason of a decision: "
            f"{_all(total)} {_contradict(total)} it."
        )
    if against:
        begin = "Do not rely on" if against > total / 2 else "Doubt"
        return (
            f"{begin} this attention: {against} of {of_all} {_contradict(against)} it, and none "
            "supports it."
        )
    if for_it == total:
        return f"No exam contradicts this attention: {_all(total)} {_support(total)} it."
    if for_it:
        return (
            f"No exam contradicts this attention: {for_it} of {of_all} {_support(for_it)} it{rest}."
        )
    if total == 1:
        return (
            "Inconclusive: the one exam run here neither supports nor contradicts this attention."
        )
    return (
        f"Inconclusive: none of the {total} exams run here supports or contradicts this attention."
    )


def short(rows: Sequence[Judged]) -> str:
    """Return the headline for a cell of a table: how many exams, or scores, have each verdict."""
    votes = [row.verdict for row in rows]
    if WITHHELD in votes:
        return "no verdict"
    if are_several(rows):
        votes = [verdict_on(name, rows) for name in subjects_of(rows)]
    order = (FOR, AGAINST, MIXED, OPEN)
    parts = [f"{votes.count(vote)} {vote}" for vote in order if vote in votes]
    return ", ".join(parts) or "not asked"


def accuracy(model: ModelSummary) -> Number | None:
    """Return how many of the decisions are right: by the first exam that has it, or as counted."""
    places = [(f"{exam}.documents", "accuracy", VALUE) for exam in model.exams]
    places.append(("replacement", "trained", "accuracy"))
    found = next((n for place in places if (n := model.number(*place)) is not None), None)
    return found or _accuracy_by_counts(model)


def _accuracy_by_counts(model: ModelSummary) -> Number | None:
    """Return the accuracy by the manifest, or by what `single_token` has under right decisions."""
    counted = model.manifest.get("decided")
    if counted and counted["documents"]:
        value, low, high = proportion(counted["right"], counted["documents"])
        return Number(100 * value, 100 * low, 100 * high, counted["documents"], "percent")
    right, every = (model.number("single_token", row, "documents") for row in ("correct", "all"))
    if right is None or every is None or not every.value:
        return None
    if model.over == SEEDS:
        return Number(100 * right.value / every.value, unit="percent", over=SEEDS)
    share = proportion(round(right.value), round(every.value))
    value, low, high = (100 * part for part in share)
    return Number(value, low, high, every.n, "percent")


def examined(model: ModelSummary) -> int:
    """Return how many documents were examined, of each seed."""
    known = model.manifest.get("documents")
    return (
        int(model.summary["n"].max()) if known is None and len(model.summary) else int(known or 0)
    )


def examined_by(exam: str, model: ModelSummary) -> int | None:
    """Return how many documents an exam had time for; None where time did not limit it."""
    left = (model.manifest.get("out_of_time") or {}).get(exam)
    return None if left is None else examined(model) - int(left["documents"])


def why_withheld(model: ModelSummary, rows: Sequence[Judged]) -> str:
    """Return why there is no verdict, in one sentence; empty where there is one."""
    seen = [examined_by(row.exam, model) for row in rows if row.counts]
    documents = examined(model)
    if seen and None not in seen:  # time was short for every exam that judges
        documents = max(filter(None, seen), default=0)
    if documents < LEAST_DOCUMENTS:
        were = "1 document was" if documents == 1 else f"{documents} documents were"
        return f"No verdict: {were} examined, and a verdict needs at least {LEAST_DOCUMENTS}."
    nothing = unlearned(model)
    return f"No verdict: {nothing[:1].lower()}{nothing[1:]}" if nothing else ""


def unlearned(model: ModelSummary) -> str:
    """Return why a model may have learnt nothing, in one sentence; empty where it has.

    With labels, it must decide better than by always naming one class. Without an interval only an
    accuracy that is no higher counts against it, and so it is over seeds: with few seeds Student's
    interval is too wide to doubt a model by. Without labels, it must give different classes to
    different documents, and be surer of them than a guess.
    """
    right, share, by = accuracy(model), model.majority, "always naming the largest class"
    if math.isnan(share):
        share, by = model.chance, "naming a class at random"
    if right is None or math.isnan(share):
        return _unlearned_without_labels(model)
    better = right.value > 100 * share
    doubted = right.has_interval and right.over == DOCUMENTS and not right.is_above(100 * share)
    if better and not doubted:
        return ""
    within = interval(right)
    shown = f"{numeral(right)}{f' ({within})' if within else ''}"
    other = numeral(Number(100 * share, unit="percent"))
    surely = right.has_interval and right.high <= 100 * share
    return (
        f"This model {'has' if surely else 'may have'} learnt nothing: its accuracy is {shown}, "
        f"that of {by} {other}."
    )


def _unlearned_without_labels(model: ModelSummary) -> str:
    known = model.manifest.get("without_labels") or {}
    counts = [int(count) for count in (known.get("decisions") or {}).values()]
    begin = "This model may have learnt nothing, and there are no labels to tell:"
    if sum(counts) and max(counts) >= NEARLY_ALL * sum(counts):
        return f"{begin} it gives {max(counts):,} of {sum(counts):,} documents the same class."
    sure = known.get("confidence")
    if sure is not None and sure <= model.chance + NEARLY_CHANCE:
        chance = f"{100 * model.chance:.1f}%"
        return f"{begin} its mean confidence is {100 * sure:.1f}%, that of a guess {chance}."
    return ""


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
        lines.append(
            "The documents have no labels: the accuracy is unknown, and a model that has learnt "
            "nothing may go unnoticed."
        )
        for name in model.manifest["without_labels"].get("exams_left_out", ()):
            lines.append(f"Exam {name!r} was not run: it needs labels.")
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
        lines.append("This attention is uniform by construction: no exam can support it.")
    lines.append(
        "An exam that supports an attention found no fault with it, which is no proof. The "
        "accuracy of a model does not tell whether its attention explains it."
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


def _names(verdict: str, rows: Sequence[Judged]) -> str:
    return _and(list(dict.fromkeys(row.exam for row in rows if row.verdict == verdict)))


def _exams(number: int) -> str:
    return "one exam" if number == 1 else f"{number} exams"


def _all(number: int) -> str:
    return "the one exam run here" if number == 1 else f"all {number} exams run here"


def _support(number: int) -> str:
    return "supports" if number == 1 else "support"


def _contradict(number: int) -> str:
    return "contradicts" if number == 1 else "contradict"


def _are(number: int) -> str:
    return "is" if number == 1 else "are"

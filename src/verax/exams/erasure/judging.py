"""What erasure says of attention."""

from __future__ import annotations

import math

from verax.exams.erasure.measures import (
    ALL_DRAWS,
    DELTA_JS,
    DOCUMENT_COUNTS,
    EXCESS,
    FRACTION,
    NAME,
    RANDOM,
)
from verax.exams.exam import Pair, no_direction
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import SEEDS, Number
from verax.exams.judgement.phrasing import beside, first, listed, with_interval
from verax.exams.judgement.row import AGAINST, ATTENTION, FOR, OPEN, Judged, lean
from verax.exams.measures import AT_LEAST_ZERO, PERCENT_RANGE, VALUE, Classes, MeasurePlace
from verax.models.kinds import TRANSFORMER

_ARITHMETIC = "where nothing is shorter than attention, by arithmetic"
PART, ALL = "optimal_in_part", "optimal"
BY_GAIN = "gain_for_above"
"""A limit that, where there is one, has the exam judge by how far attention goes from random order
to the smallest sets."""
LIMIT_RANGES = {
    BY_GAIN: (-math.inf, 100.0),
    "gain_against_below": (-math.inf, 100.0),
    "for_above": PERCENT_RANGE,
    "against_below": PERCENT_RANGE,
    "least_documents": AT_LEAST_ZERO,
}
"""Limit → the least and the most it can be."""


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge by how often erasing by attention changes a decision with the fewest items possible."""
    number = model.cell(EXCESS.id, ATTENTION, PART)
    if number is None:
        return _judge_of_all(model, limits)
    gain = gain_of(model)
    if BY_GAIN in limits and gain is not None:
        return [_judge_gain(model, limits, gain, number)]
    above, below, least = (
        limits[name] for name in ("for_above", "against_below", "least_documents")
    )
    beyond = model.number(EXCESS.id, ATTENTION, "beyond_random")
    verdict = OPEN
    if number.n >= least:
        verdict = lean(number, above=above, below=below)
        if verdict == FOR and (beyond is None or not beyond.is_above(0)):
            verdict = OPEN
        if beyond is not None and beyond.is_below(0):
            verdict = AGAINST
    others = _other_orders(model, PART)
    item, whole = model.item, _count(model, "examined")
    known = "that any search found" if model.manifest.get("kind") == TRANSFORMER else "possible"
    more = f", {with_interval(beyond)} points from random order" if beyond is not None else ""
    rest = _count(model, "all_weight_needed")
    only = f" {rest:,} more change only when all is erased, {_ARITHMETIC}." if rest else ""
    sentence = (
        f"Erasing a part of the {item}s is enough to change the decision in {number.n:,}"
        f"{f' of {whole:,}' if whole else ''} documents"
    )
    if number.n:
        sentence += (
            f". Erasing from the most attended {item} down takes the fewest {item}s {known} in "
            f"{with_interval(number)} of these{beside(others)}{more}"
        )
    return [
        Judged(
            NAME,
            EXCESS.id_of(ATTENTION, PART),
            verdict,
            number,
            f"decisions that change with the fewest {item}s erased, most attended {item}s first",
            listed(others),
            f"{sentence}{'' if number.n >= least else ': too few to judge'}.{only}",
            _of_erased(model, number.n),
            f"for it above {above:g}% and random order, against it below {below:g}% or random "
            f"order; judged from {least:g} documents on",
            reason="" if number.n >= least else f"{number.n:,} documents, {least:g} needed",
        )
    ]


def optimal_of(model: ModelSummary) -> Number | None:
    """How often attention changes a decision with the fewest items, where part is enough."""
    return model.number(EXCESS.id, ATTENTION, PART)


def gain_of(model: ModelSummary) -> Number | None:
    """How much of the way from random order to the smallest sets attention goes."""
    return model.number(EXCESS.id, ATTENTION, "gain")


def _judge_gain(model: ModelSummary, limits: Limits, gain: Number, optimal: Number) -> Judged:
    """Judge by how far attention goes from random order to the smallest sets of items."""
    above, below, least = (
        limits[name] for name in (BY_GAIN, "gain_against_below", "least_documents")
    )
    item, enough = model.item, gain.n >= least
    others = {
        "by gradient": model.number(EXCESS.id, "gradient", "gain"),
        "with the fewest possible": optimal,
    }
    return Judged(
        NAME,
        EXCESS.id_of(ATTENTION, "gain"),
        lean(gain, above=above, below=below) if enough else OPEN,
        gain,
        f"of the way from random order to the smallest sets of {item}s that change decisions, most "
        f"attended {item}s first",
        listed(others),
        f"Erasing from the most attended {item} down goes {with_interval(gain)} of the way from "
        f"random order to the smallest sets that change decisions{beside(others)}"
        f"{'' if enough else ': too few documents to judge'}.",
        _of_erased(model, gain.n),
        f"for it above {above:.4g}%, against it below {below:.4g}%; judged from {least:g} "
        "documents on",
        reason="" if enough else f"{gain.n:,} documents, {least:g} needed",
    )


def _judge_of_all(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge older tables, which count decisions that change only when all is erased: never for."""
    number = model.number(EXCESS.id, ATTENTION, ALL)
    if number is None:
        return []
    below = limits["against_below"]
    others, item = _other_orders(model, ALL), model.item
    whole = _count(model, "all_weight_needed")
    only = f" ({whole:,})" if whole else ""
    return [
        Judged(
            NAME,
            EXCESS.id_of(ATTENTION, ALL),
            AGAINST if number.is_below(below) else OPEN,
            number,
            f"decisions that change with the fewest {item}s erased, most attended {item}s first, "
            "with those that change only when all is erased",
            listed(others),
            f"Erasing {item}s from the most attended down changes the decision as soon as any "
            f"order can in {with_interval(number)} of the documents that can be changed"
            f"{beside(others)}. That is with those{only} that change only when all is erased, "
            f"{_ARITHMETIC}: these results were made without telling them apart, and cannot speak "
            "for attention.",
            f"of {model.documents(number)} that can be changed",
            f"against it below {below:g}%; never for, as the others are not told apart",
        )
    ]


def _other_orders(model: ModelSummary, column: str) -> dict[str, Number | None]:
    return {
        "in random order": first(model, EXCESS.id, (ALL_DRAWS, RANDOM), column),
        "by gradient": model.number(EXCESS.id, "gradient", column),
    }


def _of_erased(model: ModelSummary, part: int) -> str:
    only, never = _count(model, "all_weight_needed"), _count(model, "no_erasure_flips")
    each = " a seed" if model.over == SEEDS else ""
    text = f"of {part:,} documents{each} that change before all is erased"
    others = [f"{only:,} change only when all is erased"] if only else []
    others += [f"{never:,} never"] if never else []
    return f"{text}; {', '.join(others)}" if others else text


def _count(model: ModelSummary, row: str) -> int | None:
    number = model.number(DOCUMENT_COUNTS.id, row, VALUE)
    return None if number is None else round(number.value)


FEWER = "items without weight need not go, by arithmetic: see optimal"
ANY_ORDER = "where all weight must go any order is, by arithmetic: see where part is enough"


def direction(place: MeasurePlace, pair: Pair) -> tuple[str, str]:
    """Which way attention's numbers are better, and why neither, where its support decides them."""
    if place.row != ATTENTION:
        return no_direction("")
    if place.table is EXCESS and place.column == "optimal":
        return no_direction(ANY_ORDER)
    if place.table in (FRACTION, EXCESS) and place.column == "mean" and not pair.dense:
        return no_direction(FEWER)
    return place.measure.better, ""


_MEANS = {
    FRACTION.id: "share of items erased",
    EXCESS.id: "items beyond the smallest set",
    DELTA_JS.id: "ΔJS",
}
"""Table → what its mean is called among the exam's other numbers."""


def label(place: MeasurePlace, classes: Classes = ()) -> str:
    """A few words for a number: what is measured, then the ranking."""
    row = place.table.title_of_row(place.row, classes)
    if place.table.counts:
        return row
    what = place.table.title_of_column(place.column)
    if place.column == "mean":
        what = _MEANS.get(place.table.id, what)
    return f"{what}, {row}"

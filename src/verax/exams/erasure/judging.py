"""What erasure says of attention."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

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
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import SEEDS, Number
from verax.exams.judgement.phrasing import beside, first, listed, with_interval
from verax.exams.judgement.row import AGAINST, ATTENTION, FOR, OPEN, Judged, lean
from verax.exams.measures import (
    AT_LEAST_ZERO,
    PERCENT_RANGE,
    UNIT_INTERVAL,
    VALUE,
    Classes,
    MeasurePlace,
)
from verax.models.kinds import TRANSFORMER
from verax.models.projections import DENSE
from verax.statistics import proportion

_ARITHMETIC = "where nothing is shorter than attention, by arithmetic"
PART, ALL = "optimal_in_part", "optimal"
LIMIT_RANGES = {
    "gain_for_above": (-math.inf, 100.0),
    "gain_against_below": (-math.inf, 100.0),
    "part_for_above": PERCENT_RANGE,
    "part_against_below": PERCENT_RANGE,
    "fraction_for_below": UNIT_INTERVAL,
    "fraction_against_above": UNIT_INTERVAL,
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
    for way in WAYS:
        found = way.by.value(model)
        if way.by.limits[0] in limits and found is not None:
            return [_judge_by(way, model, limits, found, number)]
    above, below, least = (
        limits[name] for name in ("for_above", "against_below", "least_documents")
    )
    beyond = model.number(EXCESS.id, ATTENTION, "beyond_random")
    verdict = OPEN
    if number.n >= least:
        verdict = lean(number, above=above, below=below)
        if verdict == FOR and (beyond is None or not beyond.is_above(0)):
            verdict = OPEN
        if _is_below_random(model):
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
            _over_changed_by_a_part(model, number),
            f"for it above {above:g}% and random order, against it below {below:g}% or random "
            f"order; judged from {least:g} documents on",
            reason="" if number.n >= least else f"{number.n:,} documents, {least:g} needed",
            below_random=_is_below_random(model),
        )
    ]


def optimal_of(model: ModelSummary) -> Number | None:
    """How often attention changes a decision with the fewest items, where part is enough."""
    return model.number(EXCESS.id, ATTENTION, PART)


def gain_of(model: ModelSummary) -> Number | None:
    """How much of the way from random order to the smallest sets attention goes."""
    return model.number(EXCESS.id, ATTENTION, "gain")


def part_of(model: ModelSummary) -> Number | None:
    """How many decisions change before everything is erased, by whatever order."""
    whole, only, never = (
        _count(model, row) for row in ("examined", "all_weight_needed", "no_erasure_flips")
    )
    if not whole or model.over == SEEDS:
        return None
    value, low, high = (100 * end for end in proportion(whole - (only or 0) - (never or 0), whole))
    return Number(value, low, high, whole, "percent")


def fraction_of(model: ModelSummary) -> Number | None:
    """The share of the items that is erased, by attention, when the decision first changes.

    Where attention gives items no weight they need not go, whatever it explains: None there.
    """
    options = (model.manifest.get("model") or {}).get("options") or {}
    projection = options.get("projection")
    if projection is not None and projection not in DENSE:
        return None
    return model.number(FRACTION.id, ATTENTION, "mean")


def _is_below_random(model: ModelSummary) -> bool:
    beyond = model.number(EXCESS.id, ATTENTION, "beyond_random")
    return beyond is not None and beyond.is_below(0)


def _over_changed_by_a_part(model: ModelSummary, number: Number) -> str:
    """Name the documents of a number over those whose decision a part of the items changes."""
    only, never = (_count(model, row) or 0 for row in ("all_weight_needed", "no_erasure_flips"))
    others = {"change only when all is erased": only, "never": never}
    return _documents(model, number, "that change before all is erased", others)


def _over_changed_by_attention(model: ModelSummary, number: Number) -> str:
    """Name the documents of a number over those whose decision attention's order changes.

    These include the documents that change only when all is erased.
    """
    examined, only, never = (
        _count(model, row) or 0 for row in ("examined", "all_weight_needed", "no_erasure_flips")
    )
    which = "that change in this order"
    if only:
        part = number.n - only
        which += f" ({part:,} can change before all is erased, {only:,} cannot)"
    elsewhere = max(examined - number.n - never, 0)
    return _documents(
        model, number, which, {"change only in another order": elsewhere, "never": never}
    )


def _over_examined(model: ModelSummary, number: Number) -> str:
    """Name the documents of a number over all that were examined."""
    only, never = (_count(model, row) or 0 for row in ("all_weight_needed", "no_erasure_flips"))
    part = number.n - only - never
    changes = [f"{part:,} change before all is erased"]
    changes += [f"{only:,} only when all is erased"] if only else []
    changes += [f"{never:,} never"] if never else []
    return _documents(model, number, f"({', '.join(changes)})", {})


def _documents(model: ModelSummary, number: Number, which: str, others: Mapping[str, int]) -> str:
    """Name the documents of a number, then count each of the others once."""
    one_item = _count(model, "one_item") or 0
    others = {**others, f"{'has' if one_item == 1 else 'have'} one {model.item}": one_item}
    rest = ", ".join(f"{count:,} {what}" for what, count in others.items() if count)
    return f"of {model.documents(number)} {which}{f'; {rest}' if rest else ''}"


CANDIDATES = (
    CandidateMeasure(
        "optimal_in_part",
        EXCESS.id_of(ATTENTION, PART),
        "decisions that change with the fewest words erased, by attention (%)",
        optimal_of,
    ),
    CandidateMeasure(
        "gain",
        EXCESS.id_of(ATTENTION, "gain"),
        "of the way from random order to the smallest sets of words, by attention (%)",
        gain_of,
        ("gain_for_above", "gain_against_below"),
    ),
    CandidateMeasure(
        "part",
        "erasure.documents.part",
        "decisions that change before everything is erased, in any order (%)",
        part_of,
        ("part_for_above", "part_against_below"),
    ),
    CandidateMeasure(
        "fraction",
        FRACTION.id_of(ATTENTION, "mean"),
        "share of the words erased, by attention, when decisions change (dense attention)",
        fraction_of,
        ("fraction_for_below", "fraction_against_above"),
    ),
)


@dataclass(frozen=True)
class Way:
    """How a judgement by one of the candidates reads.

    Attributes:
        by: the number.
        label: what it is, in a line.
        told: the same with its number, as a sentence.
        over: names the documents that the number is over.
        unit: follows its limits.
    """

    by: CandidateMeasure
    label: str
    told: str
    over: Callable[[ModelSummary, Number], str]
    unit: str = "%"


_CANDIDATES = {candidate.name: candidate for candidate in CANDIDATES}
WAYS = (
    Way(
        _CANDIDATES["gain"],
        "of the way from random order to the smallest sets of {item}s that change decisions, most "
        "attended {item}s first",
        "Erasing from the most attended {item} down goes {number} of the way from random order to "
        "the smallest sets that change decisions",
        _over_changed_by_a_part,
    ),
    Way(
        _CANDIDATES["fraction"],
        "share of the {item}s that is erased when the decision changes, most attended {item}s "
        "first",
        "Erasing from the most attended {item} down changes the decision after {number} of the "
        "{item}s, a mean share over the documents that change in this order",
        _over_changed_by_attention,
        "",
    ),
    Way(
        _CANDIDATES["part"],
        "decisions that change before every {item} is erased, in any order",
        "Erasing a part of the {item}s changes {number} of the decisions",
        _over_examined,
    ),
)
"""In order of precedence."""


def _judge_by(way: Way, model: ModelSummary, limits: Limits, found: Number, best: Number) -> Judged:
    """Judge by another number, of which limits were measured."""
    good, bad = (limits[name] for name in way.by.limits)
    least = limits["least_documents"]
    item, enough = model.item, found.n >= least
    above, below = (good, bad) if way.by.high_is_good else (bad, good)
    verdict = lean(found, above=above, below=below, high_is_good=way.by.high_is_good)
    if _is_below_random(model):
        verdict = AGAINST
    others = {
        "of the way to the smallest sets": gain_of(model) if way.by.value is not gain_of else None,
        "with the fewest possible": None if math.isnan(best.value) else best,
    }
    compared = listed(others)
    if compared and way.by.value is not gain_of:
        compared += ", where a part is enough"
    sides = ("above", "below") if way.by.high_is_good else ("below", "above")
    return Judged(
        NAME,
        way.by.id,
        verdict if enough else OPEN,
        found,
        way.label.format(item=item),
        compared,
        f"{way.told.format(item=item, number=with_interval(found))}"
        f"{f' ({compared})' if compared else ''}"
        f"{'' if enough else ': too few documents to judge'}.",
        way.over(model, found),
        f"for it {sides[0]} {good:.4g}{way.unit}, against it {sides[1]} {bad:.4g}{way.unit}; "
        f"judged from {least:g} documents on",
        reason="" if enough else f"{found.n:,} documents, {least:g} needed",
        below_random=_is_below_random(model),
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

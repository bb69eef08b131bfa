"""What agreement with other importances says of attention."""

from __future__ import annotations

from verax.exams.agreement.measures import AGREEMENT, ITSELF, NAME, ON_SUPPORT, pair_of
from verax.exams.agreement.measures import pair as row_of
from verax.exams.exam import Pair, no_direction
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.phrasing import beside, listed, of_all, with_interval
from verax.exams.judgement.row import ATTENTION, Judged, lean
from verax.exams.judgement.subjects import is_derived
from verax.exams.measures import UNIT_INTERVAL, Classes, MeasurePlace
from verax.models.encoders import ENCODERS
from verax.models.kinds import PREDICT, TRANSFORMER

_DELETING, _GRADIENT = "leave-one-out", "gradient"
LIMIT_RANGES = {"for_above": UNIT_INTERVAL, "against_below": UNIT_INTERVAL}
"""Limit → the least and the most it can be: not below random order, whose τ is 0."""


def judge(model: ModelSummary, limits: Limits) -> list[Judged]:
    """Judge by how far attention, or each score, ranks words as deleting each one does."""
    if model.manifest.get("kind") in (TRANSFORMER, PREDICT):
        own = [str(name) for name in model.manifest.get("importances") or ()]
        firsts = dict.fromkeys(pair_of(row)[1] for row in model.rows(AGREEMENT.id))
        scores = [name for name in firsts if is_derived(name) or name in own]
        return [row for name in scores for row in _judge_score(model, limits, name)]
    found = _tau(model)
    if found is None:
        return []
    on, row, number = found
    others = {
        "with gradients": model.number(AGREEMENT.id, row_of(on, ATTENTION, _GRADIENT), "tau"),
        "gradients with leave-one-out": model.number(
            AGREEMENT.id, row_of(on, _GRADIENT, _DELETING), "tau"
        ),
    }
    what = model.item if on == "items" else "word"
    above, below = limits["for_above"], limits["against_below"]
    return [
        Judged(
            NAME,
            AGREEMENT.id_of(row, "tau"),
            lean(number, above=above, below=below),
            number,
            f"rank agreement (τ) of attention with what deleting a {what} does",
            listed(others),
            f"Attention ranks {what}s as leaving each one out does with τ = "
            f"{with_interval(number)}, where 1 is the same order and 0 none{beside(others)}.",
            of_all(number, model),
            f"for it above {above:.3g}, against it below {below:.3g}",
            below_random=number.is_below(0),
        )
    ]


def _tau(model: ModelSummary) -> tuple[str, str, Number] | None:
    """What attention is compared on, the row, and its agreement with leave-one-out there."""
    for on in ("inputs", "items"):
        row = row_of(on, ATTENTION, _DELETING)
        number = model.number(AGREEMENT.id, row, "tau")
        if number is not None:
            return on, row, number
    return None


def tau_of(model: ModelSummary) -> Number | None:
    """Agreement of attention with leave-one-out."""
    found = _tau(model)
    return None if found is None else found[2]


CANDIDATES = (
    CandidateMeasure(
        "tau",
        AGREEMENT.id_of(row_of("inputs", ATTENTION, _DELETING), "tau"),
        "rank agreement with leave-one-out (τ)",
        tau_of,
    ),
)


def _judge_score(model: ModelSummary, limits: Limits, name: str) -> list[Judged]:
    row = row_of("inputs", name, _DELETING)
    number = model.number(AGREEMENT.id, row, "tau")
    if number is None:
        return []
    others = {
        f"with {other}": model.number(AGREEMENT.id, row_of("inputs", name, other), "tau")
        for other in (_GRADIENT, "integrated-gradients")
    }
    above, below = limits["for_above"], limits["against_below"]
    return [
        Judged(
            NAME,
            AGREEMENT.id_of(row, "tau"),
            lean(number, above=above, below=below),
            number,
            f"rank agreement (τ) of {name} with what deleting a word does",
            listed(others),
            f"{name} ranks words as leaving each one out does with τ = {with_interval(number)}, "
            f"where 1 is the same order and 0 none{beside(others)}.",
            of_all(number, model),
            f"for it above {above:.3g}, against it below {below:.3g}",
            subject=name,
            below_random=number.is_below(0),
        )
    ]


ATTENTION_ITSELF = "attention itself, by arithmetic"
ZEROS = "items without weight tie by arithmetic: see on support"
SAME = "judged over all items"
_DETACHED = (ITSELF, row_of("inputs", "attention", "gradient-detached"))


def direction(place: MeasurePlace, pair: Pair) -> tuple[str, str]:
    """Which way agreement is better, and why neither, where arithmetic decides it.

    Where an item has no weight, rankings of items agree at zeros by arithmetic: only those on the
    support are judged. Without an encoder a word is its item, so that goes for inputs too. With
    attention detached the gradient of an item is its weight times what all share.
    """
    on, first, _ = pair_of(place.row)
    encoders = [ENCODERS[name] for name in pair.encoders if name in ENCODERS]
    itself = on == "items" or any(encoder.is_identity for encoder in encoders)
    # an item that is made of its own word alone has no part in another's either
    same = itself or any(encoder.reach == 0 for encoder in encoders)
    if first != "attention":
        return no_direction("")
    if place.row in _DETACHED and itself:
        return no_direction(ATTENTION_ITSELF)
    if place.table is not ON_SUPPORT and same and not pair.dense:
        return no_direction(ZEROS)
    if place.table is ON_SUPPORT and (pair.dense or not same):
        return no_direction(SAME)
    return place.measure.better, ""


def is_compared(place: MeasurePlace, note: str) -> bool:
    """Whether a comparison shows a number: agreement of attention that no other row repeats."""
    _, first, _ = pair_of(place.row)
    return first == "attention" and note not in (SAME, ATTENTION_ITSELF)


def label(place: MeasurePlace, classes: Classes = ()) -> str:
    """A few words for a number: inputs or items, and the importance beside attention."""
    if place.table.counts:
        return place.table.title_of_row(place.row, classes)
    on, first, second = pair_of(place.row)
    shown = second if first == "attention" else f"{first} : {second}"
    return f"{on}: {shown}{', on support' if place.table is ON_SUPPORT else ''}"

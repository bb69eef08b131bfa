"""Numbers that an exam could be judged by, and others that were tried."""

from __future__ import annotations

from collections.abc import Callable

from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.registry import EXAMS


def candidates() -> list[CandidateMeasure]:
    """Return the numbers by which any registered exam may be judged."""
    return [candidate for exam in EXAMS.values() for candidate in exam.candidates]


def _cell(table: str, row: str, column: str) -> Callable[[ModelSummary], Number | None]:
    return lambda model: model.number(f"erasure.{table}", row, column)


def _against_random(model: ModelSummary) -> Number | None:
    own, chance = (
        model.number("erasure.excess", row, "mean") for row in ("attention", "random@all")
    )
    if own is None or chance is None or not chance.value:
        return None
    return Number(1 - own.value / chance.value)


def _against_gradient(model: ModelSummary) -> Number | None:
    own, other = (model.number("erasure.excess", row, "gain") for row in ("attention", "gradient"))
    return None if own is None or other is None else Number(own.value - other.value)


def _tried(
    measure: str,
    title: str,
    value: Callable[[ModelSummary], Number | None],
    high: bool,
    exam: str = "erasure",
) -> CandidateMeasure:
    ends = ("for_above", "against_below") if high else ("for_below", "against_above")
    return CandidateMeasure(measure, f"{exam}.{measure}", title, value, ends)


def _of_ranking(column: str) -> Callable[[ModelSummary], Number | None]:
    return lambda model: model.number("sufficiency", "attention", column)


TRIED = (
    _tried(
        "against_random",
        "words beyond the smallest set, by attention, as a share of random order's",
        _against_random,
        True,
    ),
    _tried(
        "against_gradient",
        "of the way to the smallest sets: attention's less the gradient's (%)",
        _against_gradient,
        True,
    ),
    _tried(
        "above_half",
        "decisions that change only after half of the words (%)",
        _cell("fraction", "attention", "above_half"),
        False,
    ),
    _tried(
        "smallest_fraction",
        "share of the words in the smallest sets",
        _cell("fraction", "optimum", "mean"),
        False,
    ),
    _tried(
        "mass",
        "attention erased when decisions change, by attention",
        _cell("mass", "attention", "mean"),
        False,
    ),
    _tried(
        "smallest_mass",
        "attention in the smallest sets",
        _cell("mass", "optimum", "mean"),
        False,
    ),
    _tried(
        "delta_js",
        "ΔJS of the most attended word over a random one",
        _cell("delta_js", "attention", "mean"),
        True,
    ),
    _tried(
        "top_only",
        "decisions that the most attended word changes and a random one does not (%)",
        _cell("contingency", "attention", "top_only"),
        True,
    ),
    _tried(
        "comprehensiveness_gain",
        "of the way from random order to the best sets found, words taken out (%)",
        _of_ranking("comprehensiveness_gain"),
        True,
        "sufficiency",
    ),
    _tried(
        "sufficiency_gain",
        "of that way, words left alone (%)",
        _of_ranking("sufficiency_gain"),
        True,
        "sufficiency",
    ),
)
"""Numbers that were tried too; no judgement goes by them."""

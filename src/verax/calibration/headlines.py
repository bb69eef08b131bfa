"""Numbers that an exam could be judged by, and where they stand in a summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from verax.exams.adversary.judging import cost_of
from verax.exams.agreement.judging import tau_of
from verax.exams.deletion.judging import gain_of as deletion_of
from verax.exams.erasure.judging import fraction_of, gain_of, optimal_of, part_of
from verax.exams.judgement.calibrated import LESSER, SHARE
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.replacement.judging import survival_of
from verax.exams.single_token.judging import share_of
from verax.exams.sufficiency.judging import gain_of as sufficiency_of
from verax.exams.sufficiency.judging import lesser_of


@dataclass(frozen=True)
class Headline:
    """A number that an exam could be judged by.

    exam       its name
    measure    a name for the number
    id         of the number, as judgements have it
    title      what it is, in a line
    value      takes it from a summary; None where it is not there
    high_is_good
    prefix     of the limits that judge by it
    """

    exam: str
    measure: str
    id: str
    title: str
    value: Callable[[ModelSummary], Number | None]
    high_is_good: bool
    prefix: str = ""

    @property
    def limits(self) -> tuple[str, str]:
        """Names of the limits: of what speaks for attention, and of what speaks against it."""
        ends = (
            ("for_above", "against_below") if self.high_is_good else ("for_below", "against_above")
        )
        return f"{self.prefix}{ends[0]}", f"{self.prefix}{ends[1]}"


HEADLINES = (
    Headline(
        "erasure",
        "optimal_in_part",
        "erasure.excess.attention.optimal_in_part",
        "decisions that change with the fewest words erased, by attention (%)",
        optimal_of,
        True,
    ),
    Headline(
        "erasure",
        "gain",
        "erasure.excess.attention.gain",
        "of the way from random order to the smallest sets of words, by attention (%)",
        gain_of,
        True,
        "gain_",
    ),
    Headline(
        "erasure",
        "part",
        "erasure.documents.part",
        "decisions that change before everything is erased, in any order (%)",
        part_of,
        True,
        "part_",
    ),
    Headline(
        "erasure",
        "fraction",
        "erasure.fraction.attention.mean",
        "share of the words erased, by attention, when decisions change (dense attention)",
        fraction_of,
        False,
        "fraction_",
    ),
    Headline(
        "agreement",
        "tau",
        "agreement.inputs:attention:leave-one-out.tau",
        "rank agreement with leave-one-out (τ)",
        tau_of,
        True,
    ),
    Headline(
        "replacement",
        "uniform_survival",
        "replacement.uniform.survival",
        "decisions that stay under uniform attention (%)",
        lambda model: survival_of(model, "uniform"),
        False,
    ),
    Headline(
        "replacement",
        "permuted_survival",
        "replacement.permuted.survival",
        "decisions that stay under permuted attention (%)",
        lambda model: survival_of(model, "permuted"),
        False,
        "permuted_",
    ),
    Headline(
        "single_token",
        "share",
        SHARE,
        "of the way from chance to the model's confidence that one word goes alone",
        share_of,
        False,
        "share_",
    ),
    Headline(
        "adversary",
        "cost",
        "adversary.epsilon=0.05.constraint_cost",
        "nats that keeping the decision costs",
        cost_of,
        True,
    ),
    Headline(
        "deletion",
        "gain",
        "deletion.attention.gain",
        "of the way from random order to the smallest sets of words taken out (%)",
        deletion_of,
        True,
    ),
    Headline(
        "sufficiency",
        "lesser_gain",
        LESSER,
        "of the way from random order to the best sets found, taken out or left alone (%)",
        lesser_of,
        True,
    ),
)
"""The first of each exam is what it was judged by before any calibration, or stands for it."""


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
) -> Headline:
    return Headline(exam, measure, "", title, value, high)


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
        lambda model: sufficiency_of(model, "comprehensiveness"),
        True,
        "sufficiency",
    ),
    _tried(
        "sufficiency_gain",
        "of that way, words left alone (%)",
        lambda model: sufficiency_of(model, "sufficiency"),
        True,
        "sufficiency",
    ),
)
"""Numbers that were tried too; no judgement goes by them."""

"""Numbers that an exam could be judged by, and where they stand in a summary."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from verax.exams.adversary.judging import cost_of
from verax.exams.agreement.judging import tau_of
from verax.exams.erasure.judging import gain_of, optimal_of
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.replacement.judging import survival_of
from verax.exams.single_token.judging import share_of


@dataclass(frozen=True)
class Headline:
    """A number that an exam could be judged by.

    exam       its name
    measure    a name for the number
    title      what it is, in a line
    value      takes it from a summary; None where it is not there
    high_is_good
    prefix     of the limits that judge by it
    """

    exam: str
    measure: str
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
        "decisions that change with the fewest words erased, by attention (%)",
        optimal_of,
        True,
    ),
    Headline(
        "erasure",
        "gain",
        "of the way from random order to the smallest sets of words, by attention (%)",
        gain_of,
        True,
        "gain_",
    ),
    Headline("agreement", "tau", "rank agreement with leave-one-out (τ)", tau_of, True),
    Headline(
        "replacement",
        "uniform_survival",
        "decisions that stay under uniform attention (%)",
        lambda model: survival_of(model, "uniform"),
        False,
    ),
    Headline(
        "replacement",
        "permuted_survival",
        "decisions that stay under permuted attention (%)",
        lambda model: survival_of(model, "permuted"),
        False,
        "permuted_",
    ),
    Headline(
        "single_token",
        "share",
        "of the way from chance to the model's confidence that one word goes alone",
        share_of,
        False,
        "share_",
    ),
    Headline("adversary", "cost", "nats that keeping the decision costs", cost_of, True),
)
"""The first of each exam is what it was judged by before any calibration."""

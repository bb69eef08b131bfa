"""The numbers by which an exam may be judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number


@dataclass(frozen=True)
class CandidateMeasure:
    """A number by which an exam may be judged.

    An exam lists its candidates in `Exam.candidates`. A calibration measures thresholds of the one
    that separates honest from deceptive attention best.

    Attributes:
        name: its name among the candidates of the exam.
        id: the id of the number in judgements.
        title: what it is, in a line.
        value: extracts it from a summary; returns None where the summary does not have it.
        limits: the names of two limits: beyond the first the number supports the attention, beyond
            the second it contradicts it. They end in `for_above` and `against_below`, or, where
            lower is better, in `for_below` and `against_above`.
    """

    name: str
    id: str
    title: str
    value: Callable[[ModelSummary], Number | None]
    limits: tuple[str, str] = ("for_above", "against_below")

    @property
    def exam(self) -> str:
        """The name of the exam."""
        return self.id.partition(".")[0]

    @property
    def high_is_good(self) -> bool:
        """Whether a high number supports the attention."""
        return self.limits[0].endswith("above")

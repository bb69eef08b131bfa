"""Values of single documents of a verdict, of every exam it has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.exams.cells import ACCURACY, SUPPORT, SUPPORT_SHARE
from verax.exams.dispersion.measures import DOCUMENT_COUNTS
from verax.exams.measures import HIGHER, PERCENT, SCALE, VALUE, Measure, Table
from verax.exams.registry import EXAMS, Stage, find_place, register_stage
from verax.exams.values import ESTIMATE, column, joined, part
from verax.exams.verdict import Verdict

DECISIONS = Table(
    "decisions",
    "decisions",
    (
        Measure("accuracy", "accuracy", PERCENT, HIGHER),
        Measure("f1", "F1", PERCENT, HIGHER),
        Measure("macro_f1", "macro F1", PERCENT, HIGHER),
    ),
    counts=True,
)
"""Numbers of decisions, whichever exam they come from."""
_ROUNDING = 1e-6
register_stage(Stage(DECISIONS.id, "Decisions", "How often is the decision right?", (DECISIONS,)))


def document_values(verdict: Verdict) -> pd.DataFrame:
    """id, measure, value, reason: accuracy and support, and what each exam gives."""
    taken = [EXAMS[name] for name in verdict.manifest.get("exams", EXAMS) if name in EXAMS]
    parts = [*_decisions(verdict)]
    for exam in EXAMS.values():
        if exam in taken and all(name in verdict.tables for name in _needed(exam.name, verdict)):
            parts += (_checked(exam.name, p) for p in exam.document_values(verdict.tables))
    return joined(parts)


def _checked(exam: str, values: pd.DataFrame) -> pd.DataFrame:
    """The values that an exam gave; one outside its measure's bounds is an error."""
    if ESTIMATE in values.attrs:  # an influence may reach beyond
        return values
    measures, numbers = values["measure"].unique(), values["value"].to_numpy(dtype=np.float64)
    for measure in measures:
        place = find_place(str(measure))
        if place is None:
            continue
        scale = SCALE[place.measure.unit]
        least, most = (end / scale for end in place.measure.range)
        own = numbers if len(measures) == 1 else numbers[values["measure"] == measure]
        outside = own[(own < least - _ROUNDING) | (own > most + _ROUNDING)]
        if len(outside):
            shares = ", shares of 1 for a number in percent" if scale != 1 else ""
            raise VeraxError(
                f"exam {exam!r} gives a document {outside[0]:g} for {measure!r}: expected "
                f"from {least:g} to {most:.3g}{shares}; mend its document_values",
                code="plugin.invalid",
            )
    return values


def split_values(verdict: Verdict) -> dict[str, float]:
    """Numbers by id to which documents do not add up."""
    numbers: dict[str, float] = {}
    for name in verdict.manifest.get("exams", EXAMS):
        if name in EXAMS and all(table in verdict.tables for table in _needed(name, verdict)):
            numbers |= EXAMS[name].split_values(verdict.tables)
    return numbers


def _needed(exam: str, verdict: Verdict) -> list[str]:
    """The first of an exam's tidy tables, without which it was not taken, or packed without."""
    return list(EXAMS[exam].tidy_tables[:1])


def _decisions(verdict: Verdict) -> Iterator[pd.DataFrame]:
    """Accuracy, of decisions in the model's own precision if any exam has them; and support."""
    exams = sorted(EXAMS.values(), key=lambda exam: exam.decides_again)
    tables = [str(exam.decisions_table) for exam in exams if exam.decisions_table is not None]
    names = [name for name in tables if name in verdict.tables]
    if names:
        correct = column(verdict.tables[names[0]], "correct")
        if correct.notna().any():
            id = DECISIONS.id_of(ACCURACY.id, VALUE)
            yield part(pd.Series(correct.index), id, correct)
    for measure in (SUPPORT, SUPPORT_SHARE):
        for name in names:
            values = column(verdict.tables[name], measure.id)
            if len(values):
                id = DOCUMENT_COUNTS.id_of(measure.id, VALUE)
                yield part(pd.Series(values.index), id, values)
                break

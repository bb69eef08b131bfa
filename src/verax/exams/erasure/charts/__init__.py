"""Charts of the erasure exam: one item erased, then many, each beside what is best."""

from __future__ import annotations

from collections.abc import Iterator

from verax.drawing.chart import Chart
from verax.drawing.series import Models
from verax.exams.erasure.charts import contingency, many, single


def charts(models: Models) -> Iterator[Chart]:
    """Every chart that the models' tables and summaries have numbers for."""
    for part in (single, contingency, many):
        yield from part.charts(models)

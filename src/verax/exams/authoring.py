"""All that an exam of one's own needs, in one place.

See "Adding an exam" in docs/exams.md for an exam in forty lines.
"""

from verax.exams.cells import count_cell, number_cell, percent_cell, points_cell, row_cells
from verax.exams.exam import Exam, Pair
from verax.exams.judgement.candidate import CandidateMeasure
from verax.exams.judgement.limits import Limits
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.row import AGAINST, FOR, NOT_APPLICABLE, OPEN, Judged, lean
from verax.exams.measures import (
    COUNT,
    HIGHER,
    LOWER,
    NUMBER,
    PERCENT,
    POINTS,
    UNIT_INTERVAL,
    Measure,
    Table,
    counts,
    measure_id,
    titles,
)
from verax.exams.registry import register, unregister
from verax.exams.tables import measured, wide
from verax.exams.values import column, part
from verax.exams.verdict import summary_frame
from verax.options import option
from verax.statistics import mean, mean_share, proportion, quantile

__all__ = [
    "AGAINST",
    "COUNT",
    "FOR",
    "HIGHER",
    "LOWER",
    "NOT_APPLICABLE",
    "NUMBER",
    "OPEN",
    "PERCENT",
    "POINTS",
    "UNIT_INTERVAL",
    "CandidateMeasure",
    "Exam",
    "Judged",
    "Limits",
    "Measure",
    "ModelSummary",
    "Number",
    "Pair",
    "Table",
    "column",
    "count_cell",
    "counts",
    "lean",
    "mean",
    "mean_share",
    "measure_id",
    "measured",
    "number_cell",
    "option",
    "part",
    "percent_cell",
    "points_cell",
    "proportion",
    "quantile",
    "register",
    "row_cells",
    "summary_frame",
    "titles",
    "unregister",
    "wide",
]

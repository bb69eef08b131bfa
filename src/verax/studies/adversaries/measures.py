"""What the numbers of adversaries are, in the tables of a cell's summary."""

from __future__ import annotations

from verax.exams.cells import ACCURACY
from verax.exams.measures import (
    JSD,
    PERCENT,
    UNIT_INTERVAL,
    Classes,
    Measure,
    Table,
    titles,
)
from verax.studies.adversaries.measuring import BASE
from verax.studies.adversaries.recipes import (
    BY_ADVERSARY,
    BY_BASE,
    MLP_OWN,
    MLP_UNIFORM,
    UNIFORM,
)
from verax.studies.adversaries.rows import MEAN, lambda_of, seed_row

NAME = "adversaries"
VALIDATION = "validation_"
CONTROLS = {
    BASE: "base",
    UNIFORM: "uniform",
    MLP_UNIFORM: "mlp-uniform",
    MLP_OWN: "mlp-own",
    BY_BASE: "mlp-guided-by-base",
    BY_ADVERSARY: "mlp-guided-by-adversary",
}
"""Name of a control → its row."""
_SCORES = (ACCURACY, Measure("f1", "F1", PERCENT), Measure("macro_f1", "macro F1", PERCENT))
_BESIDE = (
    Measure("jsd", "JSD", bounds=JSD),
    Measure("tvd", "TVD", bounds=UNIT_INTERVAL),
    Measure("same", "same", PERCENT),
    *_SCORES,
)
_ON_VALIDATION = tuple(
    Measure(f"{VALIDATION}{one.id}", f"validation {one.title}", one.unit, bounds=one.bounds)
    for one in _BESIDE
)


def _lambda(row: str, classes: Classes) -> str:
    return f"λ = {lambda_of(row):g}"


def _seed(row: str, classes: Classes) -> str:
    return row if row == MEAN else f"seed {row.removeprefix(seed_row(''))}"


CURVE = Table(
    NAME,
    "models trained to attend elsewhere and to say the same, by the weight on attending elsewhere",
    (*_BESIDE, *_ON_VALIDATION),
    _lambda,
)
CHOSEN = Table(
    f"{NAME}.chosen",
    "the adversary picked on validation, and whether it decides as well as the base",
    (Measure("lambda", "λ"), Measure("within", "within", bounds=UNIT_INTERVAL)),
)
SEEDS = Table(f"{NAME}.seeds", "models that differ from the base by seed alone", _BESIDE, _seed)
CONTROL_SCORES = Table(
    f"{NAME}.controls",
    "what attention is worth: the base, and models with other attention or none",
    _SCORES,
    titles({row: name for name, row in CONTROLS.items()}),
)
TABLES = (CURVE, CHOSEN, SEEDS, CONTROL_SCORES)

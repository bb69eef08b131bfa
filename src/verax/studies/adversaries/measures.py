"""What the numbers of trained adversaries are."""

from __future__ import annotations

from dataclasses import replace

from verax.exams.measures import (
    AT_LEAST_ZERO,
    JSD,
    PERCENT,
    UNIT_INTERVAL,
    Classes,
    Measure,
    Table,
    titles,
)
from verax.exams.registry import Stage, register_stage
from verax.studies.adversaries.recipes import CONTROL_TITLES

NAME = "adversaries"
MEAN, CHOSEN_ROW = "mean", "chosen"
_LAMBDA, _SEED, _VALIDATION = "lambda=", "seed=", "validation_"


def lambda_row(lam: float) -> str:
    """The row of a λ.

    >>> lambda_row(0.1)
    'lambda=0.1'
    """
    return f"{_LAMBDA}{lam:g}"


def lambda_of(row: str) -> float:
    """The λ of a row that `lambda_row` made."""
    return float(row.removeprefix(_LAMBDA))


def seed_row(seed: int) -> str:
    """The row of a model that differs from the base only by seed.

    >>> seed_row(3), seed_of("seed=3"), seed_of("mean")
    ('seed=3', 3, None)
    """
    return f"{_SEED}{seed}"


def seed_of(row: str) -> int | None:
    """The seed of a row that `seed_row` made; None of other rows."""
    return int(row.removeprefix(_SEED)) if row.startswith(_SEED) else None


def score_column(measure: str, classes: int) -> str:
    """The column of a measure; F1 of more than two classes is a macro F1."""
    return "macro_f1" if measure == "f1" and classes != 2 else measure


def on_validation(column: str) -> str:
    """The column of the same measure on validation."""
    return f"{_VALIDATION}{column}"


def _lambda(row: str, classes: Classes) -> str:
    return f"λ = {row.removeprefix(_LAMBDA)}"


def _seed(row: str, classes: Classes) -> str:
    seed = seed_of(row)
    return row if seed is None else f"seed {seed}"


_SCORES = (
    Measure("jsd", "JSD", bounds=JSD),
    Measure("tvd", "TVD", bounds=UNIT_INTERVAL),
    Measure("same", "same", PERCENT),
    Measure("accuracy", "accuracy", PERCENT),
    Measure("f1", "F1", PERCENT),
    Measure("macro_f1", "macro F1", PERCENT),
)
CURVE = Table(
    NAME,
    "adversaries, one a λ: how far from the base, and how well they decide",
    (
        *_SCORES,
        *(
            replace(one, id=on_validation(one.id), title=f"validation {one.title}")
            for one in _SCORES
        ),
    ),
    _lambda,
)
CHOSEN = Table(
    f"{NAME}.chosen",
    "the λ chosen on validation; within: 1 if it decides as well as the base",
    (
        Measure("lambda", "λ", bounds=AT_LEAST_ZERO),
        Measure("within", "within", bounds=UNIT_INTERVAL),
    ),
)
SEEDS = Table(
    f"{NAME}.seeds",
    "the yardstick: models that differ from the base only by seed",
    _SCORES,
    _seed,
)
CONTROLS = Table(
    f"{NAME}.controls",
    "controls: uniform attention, models that see each word by itself",
    _SCORES,
    titles(CONTROL_TITLES),
)
TABLES = (CURVE, CHOSEN, SEEDS, CONTROLS)
QUESTION = "Can a model be trained that says the same and attends elsewhere?"
register_stage(Stage(NAME, "Adversaries", QUESTION, TABLES))

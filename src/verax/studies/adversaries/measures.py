"""What the numbers of trained adversaries are, and these as rows of a summary."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from verax.exams.cells import Cell, number_cell, percent_cell
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
from verax.exams.verdict import summary_frame
from verax.statistics import Interval
from verax.studies.adversaries.adversaries import Adversaries
from verax.studies.adversaries.making import CONTROL_TITLES
from verax.studies.adversaries.scores import MEASURES

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


EXAM = NAME


def summarise(adversaries: Adversaries) -> pd.DataFrame:
    """Every number that was asked for, as `verax.exams.Verdict.summary` has those of exams.

    adversaries           λ by jsd, tvd, same, accuracy, f1, and these on validation
    adversaries.chosen    the λ picked on validation, and whether it is within (1) or not (0)
    adversaries.seeds     the same measures of each model of the yardstick, and their mean
    adversaries.controls  accuracy and F1 of each control, without a value of one left out

    Shares are in percent. n is documents, for JSD those of several items; with two or more seeds
    intervals are over these.
    """
    rows = [*_curve(adversaries), *_chosen(adversaries)]
    if adversaries.has_yardstick:
        rows += _yardstick(adversaries)
    if adversaries.manifest.get("controls"):
        for row in _rows(adversaries.controls()):
            rows += _cells(adversaries, CONTROLS.id, row["name"], row, ("accuracy", "f1"))
    return summary_frame(EXAM, rows)


def _curve(adversaries: Adversaries) -> Iterator[Cell]:
    n, several = _documents(adversaries, "validation")
    for row in _rows(adversaries.points()):
        name = lambda_row(row["lam"])
        yield from _cells(adversaries, CURVE.id, name, row, MEASURES)
        beside = {measure: row[f"validation_{measure}"] for measure in MEASURES}
        beside |= {"n": n, "jsd_n": several}
        yield from _cells(adversaries, CURVE.id, name, beside, MEASURES, validation=True)


def _chosen(adversaries: Adversaries) -> Iterator[Cell]:
    chosen, n = adversaries.chosen(), _documents(adversaries, "validation")[0]
    yield number_cell(CHOSEN.id, CHOSEN_ROW, "lambda", _alone(chosen.lam), n)
    yield number_cell(CHOSEN.id, CHOSEN_ROW, "within", _alone(float(chosen.within)), n)


def _yardstick(adversaries: Adversaries) -> Iterator[Cell]:
    for row in _rows(adversaries.other_seeds()):
        yield from _cells(adversaries, SEEDS.id, seed_row(row["seed"]), row, MEASURES)
    mean: dict[str, Any] = {}
    for row in _rows(adversaries.yardstick()):
        name = row["measure"]
        mean |= {name: row["mean"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
        mean["jsd_n" if name == "jsd" else "n"] = row["n"]
    yield from _cells(adversaries, SEEDS.id, MEAN, mean, MEASURES)


def _cells(
    adversaries: Adversaries,
    table: str,
    name: str,
    row: Mapping[str, Any],
    measures: Iterable[str],
    validation: bool = False,
) -> Iterator[Cell]:
    for measure in measures:
        column = score_column(measure, len(adversaries.manifest["classes"]))
        column = on_validation(column) if validation else column
        ends = tuple(row.get(f"{measure}_{end}", np.nan) for end in ("low", "high"))
        cell = number_cell if measure in ("jsd", "tvd") else percent_cell
        n = row["jsd_n" if measure == "jsd" else "n"]
        yield cell(table, name, column, (row[measure], *ends), n)


def _rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    return ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))


def _documents(adversaries: Adversaries, split: str) -> tuple[int, int]:
    """Documents of a split, and those of several items."""
    rows = adversaries.instances
    items = rows.loc[(rows["split"] == split) & (rows["measure"] == "items"), "value"]
    return len(items), int((items > 1).sum())


def _alone(value: float) -> Interval:
    return value, np.nan, np.nan

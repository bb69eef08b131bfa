"""What the numbers of trained adversaries are, and these as rows of a summary."""

from __future__ import annotations

from collections.abc import Mapping
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
            replace(one, id=f"{_VALIDATION}{one.id}", title=f"validation {one.title}")
            for one in _SCORES
        ),
    ),
    lambda row, classes: f"λ = {row.removeprefix(_LAMBDA)}",
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
    classes = len(adversaries.manifest["classes"])
    cells: list[Cell] = []

    def add(table: Table, row: str, numbers: Mapping[Any, Any], before: str = "") -> None:
        for measure in ("accuracy", "f1") if table is CONTROLS else MEASURES:
            # F1 of more than two classes is a macro F1
            column = "macro_f1" if measure == "f1" and classes != 2 else measure
            ends = (numbers.get(f"{before}{measure}_{end}", np.nan) for end in ("low", "high"))
            interval = (numbers[f"{before}{measure}"], *ends)
            cell = number_cell if measure in ("jsd", "tvd") else percent_cell
            n = numbers["jsd_n" if measure == "jsd" else "n"]
            cells.append(cell(table.id, row, f"{before}{column}", interval, n))

    rows = adversaries.instances
    items = rows.loc[(rows["split"] == "validation") & (rows["measure"] == "items"), "value"]
    of_validation = {"n": len(items), "jsd_n": int((items > 1).sum())}
    for point in adversaries.points().to_dict("records"):
        add(CURVE, lambda_row(point["lam"]), point)
        add(CURVE, lambda_row(point["lam"]), {**point, **of_validation}, _VALIDATION)
    chosen = adversaries.chosen()
    for column, value in (("lambda", chosen.lam), ("within", float(chosen.within))):
        interval = (value, np.nan, np.nan)
        cells.append(number_cell(CHOSEN.id, CHOSEN_ROW, column, interval, len(items)))
    if adversaries.has_yardstick:
        for model in adversaries.other_seeds().to_dict("records"):
            add(SEEDS, seed_row(model["seed"]), model)
        mean: dict[str, Any] = {}
        for row in adversaries.yardstick().to_dict("records"):
            name = row["measure"]
            mean |= {name: row["mean"], f"{name}_low": row["low"], f"{name}_high": row["high"]}
            mean["jsd_n" if name == "jsd" else "n"] = row["n"]
        add(SEEDS, MEAN, mean)
    if adversaries.manifest.get("controls"):
        for control in adversaries.controls().to_dict("records"):
            add(CONTROLS, control["name"], control)
    return summary_frame(EXAM, cells)

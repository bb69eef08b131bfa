"""Adversaries as rows of a summary, beside those of exams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from verax.exams.cells import Cell, number_cell, percent_cell
from verax.exams.verdict import summary_frame
from verax.statistics import Interval
from verax.studies.adversaries.adversaries import Adversaries
from verax.studies.adversaries.measures import (
    CHOSEN,
    CHOSEN_ROW,
    CONTROLS,
    CURVE,
    MEAN,
    NAME,
    SEEDS,
    lambda_row,
    on_validation,
    score_column,
    seed_row,
)
from verax.studies.adversaries.scores import MEASURES

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

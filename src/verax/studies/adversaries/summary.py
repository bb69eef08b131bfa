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


def summarise(found: Adversaries) -> pd.DataFrame:
    """Every number that was asked for, as `verax.exams.Verdict.summary` has those of exams.

    adversaries           λ by jsd, tvd, same, accuracy, f1, and these on validation
    adversaries.chosen    the λ picked on validation, and whether it is within (1) or not (0)
    adversaries.seeds     the same measures of each model of the yardstick, and their mean
    adversaries.controls  accuracy and F1 of each control, without a value of one left out

    Shares are in percent. n is documents, for JSD those of several items; with two or more seeds
    intervals are over these.
    """
    rows = [*_curve(found), *_chosen(found)]
    if found.has_yardstick:
        rows += _yardstick(found)
    if found.manifest.get("controls"):
        for row in _rows(found.controls()):
            rows += _cells(found, CONTROLS.id, row["name"], row, ("accuracy", "f1"))
    return summary_frame(EXAM, rows)


def _curve(found: Adversaries) -> Iterator[Cell]:
    n, several = _documents(found, "validation")
    for row in _rows(found.points()):
        name = lambda_row(row["lam"])
        yield from _cells(found, CURVE.id, name, row, MEASURES)
        beside = {measure: row[f"validation_{measure}"] for measure in MEASURES}
        beside |= {"n": n, "jsd_n": several}
        yield from _cells(found, CURVE.id, name, beside, MEASURES, validation=True)


def _chosen(found: Adversaries) -> Iterator[Cell]:
    chosen, n = found.chosen(), _documents(found, "validation")[0]
    yield number_cell(CHOSEN.id, CHOSEN_ROW, "lambda", _alone(chosen.lam), n)
    yield number_cell(CHOSEN.id, CHOSEN_ROW, "within", _alone(float(chosen.within)), n)


def _yardstick(found: Adversaries) -> Iterator[Cell]:
    for row in _rows(found.other_seeds()):
        yield from _cells(found, SEEDS.id, seed_row(row["seed"]), row, MEASURES)
    mean: dict[str, Any] = {}
    for told in _rows(found.yardstick()):
        name = told["measure"]
        mean |= {name: told["mean"], f"{name}_low": told["low"], f"{name}_high": told["high"]}
        mean["jsd_n" if name == "jsd" else "n"] = told["n"]
    yield from _cells(found, SEEDS.id, MEAN, mean, MEASURES)


def _cells(
    found: Adversaries,
    table: str,
    name: str,
    row: Mapping[str, Any],
    measures: Iterable[str],
    validation: bool = False,
) -> Iterator[Cell]:
    for measure in measures:
        column = score_column(measure, len(found.manifest["classes"]))
        column = on_validation(column) if validation else column
        ends = tuple(row.get(f"{measure}_{end}", np.nan) for end in ("low", "high"))
        cell = number_cell if measure in ("jsd", "tvd") else percent_cell
        n = row["jsd_n" if measure == "jsd" else "n"]
        yield cell(table, name, column, (row[measure], *ends), n)


def _rows(table: pd.DataFrame) -> Iterator[dict[str, Any]]:
    return ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))


def _documents(found: Adversaries, split: str) -> tuple[int, int]:
    """Documents of a split, and those of several items."""
    rows = found.instances
    items = rows.loc[(rows["split"] == split) & (rows["measure"] == "items"), "value"]
    return len(items), int((items > 1).sum())


def _alone(value: float) -> Interval:
    return value, np.nan, np.nan

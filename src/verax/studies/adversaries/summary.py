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
from verax.studies.adversaries.scores import MEASURES

EXAM = "adversaries"
_LAMBDA, _SEED = "lambda=", "seed="
CHOSEN, SEEDS, CONTROLS = (f"{EXAM}_{name}" for name in ("chosen", "seeds", "controls"))


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
    """The row of a model of the yardstick.

    >>> seed_row(3), seed_of("seed=3"), seed_of("mean")
    ('seed=3', 3, None)
    """
    return f"{_SEED}{seed}"


def seed_of(row: str) -> int | None:
    """The seed of a row that `seed_row` made; None of other rows."""
    return int(row.removeprefix(_SEED)) if row.startswith(_SEED) else None


def summarise(found: Adversaries) -> pd.DataFrame:
    """Every number that was asked for, as `verax.exams.Verdict.summary` has those of exams.

    adversaries           λ by JSD, TVD, same, accuracy, F1, and these on validation
    adversaries_chosen    the λ picked on validation, and whether it is within (1) or not (0)
    adversaries_seeds     the same measures of each model of the yardstick, and their mean
    adversaries_controls  accuracy and F1 of each control, without a value of one left out

    Shares are in percent. n is documents, for JSD those of several items; with two or more seeds
    intervals are over these.
    """
    rows = [*_curve(found), *_chosen(found)]
    if found.has_yardstick:
        rows += _yardstick(found)
    if found.manifest.get("controls"):
        for row in _rows(found.controls()):
            rows += _cells(found, CONTROLS, row["name"], row, ("accuracy", "f1"))
    return summary_frame(EXAM, rows)


def _curve(found: Adversaries) -> Iterator[Cell]:
    n, several = _documents(found, "validation")
    for row in _rows(found.points()):
        name = f"λ = {row['lam']:g}"
        yield from _cells(found, EXAM, name, row, MEASURES)
        beside = {measure: row[f"validation_{measure}"] for measure in MEASURES}
        beside |= {"n": n, "jsd_n": several}
        yield from _cells(found, EXAM, name, beside, MEASURES, "validation ")


def _chosen(found: Adversaries) -> Iterator[Cell]:
    chosen, n = found.chosen(), _documents(found, "validation")[0]
    yield number_cell(CHOSEN, "chosen", "λ", _alone(chosen.lam), n)
    yield number_cell(CHOSEN, "chosen", "within", _alone(float(chosen.within)), n)


def _yardstick(found: Adversaries) -> Iterator[Cell]:
    for row in _rows(found.other_seeds()):
        yield from _cells(found, SEEDS, f"seed {row['seed']}", row, MEASURES)
    mean: dict[str, Any] = {}
    for told in _rows(found.yardstick()):
        name = told["measure"]
        mean |= {name: told["mean"], f"{name}_low": told["low"], f"{name}_high": told["high"]}
        mean["jsd_n" if name == "jsd" else "n"] = told["n"]
    yield from _cells(found, SEEDS, "mean", mean, MEASURES)


def _cells(
    found: Adversaries,
    table: str,
    name: str,
    row: Mapping[str, Any],
    measures: Iterable[str],
    start: str = "",
) -> Iterator[Cell]:
    score = "F1" if len(found.manifest["classes"]) == 2 else "macro F1"
    for measure in measures:
        column = start + {"jsd": "JSD", "tvd": "TVD", "f1": score}.get(measure, measure)
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

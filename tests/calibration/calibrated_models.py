"""Calibrated models with made-up numbers: as many and as far apart as a test asks for."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from verax.calibration import CHOOSING, HELD_OUT, CalibratedModels, measured_limits
from verax.exams import LimitSet

PLACES = (
    ("agreement", "agreement", "inputs:attention:leave-one-out", "tau", 0.8, 0.0),
    ("erasure", "erasure.excess", "attention", "optimal_in_part", 50.0, 49.0),
    ("erasure", "erasure.excess", "attention", "gain", 85.0, 60.0),
    ("replacement", "replacement", "uniform", "survival", 85.0, 90.0),
    ("replacement", "replacement", "permuted", "survival", 50.0, 90.0),
    ("single_token", "single_token", "correct", "mean_probability", 0.6, 0.9),
    ("single_token", "single_token", "correct", "confidence", 0.98, 0.98),
    ("adversary", "adversary", "epsilon=0.05", "constraint_cost", 0.2, 0.01),
    ("adversary", "adversary", "epsilon=0.05", "jsd", 0.4, 0.4),
    ("adversary", "adversary", "epsilon=0.05", "decisions_kept", 99.0, 99.0),
    ("adversary", "adversary.documents", "confidence", "value", 0.98, 0.98),
    ("deletion", "deletion", "attention", "gain", 80.0, 5.0),
    ("sufficiency", "sufficiency", "attention", "comprehensiveness_gain", 60.0, 10.0),
    ("sufficiency", "sufficiency", "attention", "sufficiency_gain", 70.0, 20.0),
)
"""Exam, table, row, column, and where honest and deceptive models are on average."""
SURE = tuple(
    (exam, exam, row, column, 0.001, 0.001)
    for exam, column in (
        ("deletion", "p"),
        ("sufficiency", "comprehensiveness_p"),
        ("sufficiency", "sufficiency_p"),
    )
    for row in ("attention", "chefer")
)
"""Values of p, the same of all models."""
OF_BERTS = (
    *(place for place in PLACES if place[0] != "single_token"),
    ("agreement", "agreement", "inputs:chefer:leave-one-out", "tau", 0.5, 0.5),
    ("deletion", "deletion", "chefer", "gain", 50.0, 50.0),
)
"""What BERTs have: no single tokens, and another score that finds what matters in either side."""
SPREAD = {"percent": 2.0, "number": 0.01}


def numbers(
    side: str,
    random: np.random.Generator,
    slope: float,
    words: float,
    places: tuple[tuple[str, str, str, str, float, float], ...] = PLACES,
) -> list[dict[str, Any]]:
    """Rows of a summary as `examine` gives it; tau of both sides sinks with the length."""
    rows = [_row(*place[:4], place[4], np.nan, "number") for place in SURE]
    for exam, table, row, column, honest, deceptive in places:
        unit = "percent" if honest > 1 else "number"
        value = (honest if side == "honest" else deceptive) + SPREAD[unit] * random.normal()
        if column == "tau":
            value -= slope * np.log(words / 24)
        rows.append(_row(exam, table, row, column, value, 1e-3, unit))
    return rows


def _row(
    exam: str, table: str, row: str, column: str, value: float, half: float, unit: str
) -> dict[str, Any]:
    place = {"exam": exam, "table": table, "row": row, "column": column}
    ends = {"value": value, "low": value - half, "high": value + half}
    return {**place, "measure": f"{table}.{row}.{column}", **ends, "n": 100, "unit": unit}


POOLED_KINDS = (
    ("none", "honest", CHOOSING),
    ("bilstm-penalty", "deceptive", CHOOSING),
    ("mlp", "honest", HELD_OUT),
    ("bigru-penalty", "deceptive", HELD_OUT),
)
BERT_KINDS = (
    ("bert2-evidence", "honest", CHOOSING),
    ("bert2-penalty", "deceptive", CHOOSING),
    ("bert1-evidence", "honest", HELD_OUT),
    ("bert2-others", "deceptive", HELD_OUT),
)


def both_families(seeds: int = 5) -> dict[str, CalibratedModels]:
    """Pooled models and BERTs."""
    return {"pooled": made_up(seeds), "transformer": made_up(seeds, kinds=BERT_KINDS)}


def limits_of(families: dict[str, CalibratedModels]) -> LimitSet:
    """Thresholds of pooled models, and of BERTs by kind."""
    found = {
        name: measured_limits(data, "made-up", "for a test") for name, data in families.items()
    }
    return replace(found.pop("pooled"), by_kind=found)


def made_up(
    seeds: int = 10,
    slope: float = 0.0,
    overlap: bool = False,
    kinds: tuple[tuple[str, str, str], ...] = POOLED_KINDS,
) -> CalibratedModels:
    """A calibration of two kinds a side, over two lengths and two numbers of classes."""
    random = np.random.default_rng(0)
    models, tables = [], []
    family = "transformer" if kinds is BERT_KINDS else "pooled"
    places = OF_BERTS if kinds is BERT_KINDS else PLACES
    for (kind, side, part), length, classes, seed in itertools.product(
        kinds, (10, 100), (2, 4), range(seeds)
    ):
        name = f"{kind}.{length}.{classes}.{seed}"
        as_if = ("honest", "deceptive")[seed % 2] if overlap else side
        rows = numbers(as_if, random, slope, length, places)
        tables += [{"name": name, **row} for row in rows]
        models.append(
            {
                "name": name,
                "kind": kind,
                "side": side,
                "part": part,
                "family": family,
                "layers": int(kind[4]) if family == "transformer" else 0,
                "encoder": "bert" if family == "transformer" else kind.partition("-")[0],
                "projection": "softmax",
                "texts": "planted",
                "length": length,
                "classes": classes,
                "seed": seed,
                "failed": "",
                "words": float(length),
                "labels": json.dumps({str(c): 10 for c in range(classes)}),
                "seconds": 1.0,
            }
        )
    return CalibratedModels(pd.DataFrame(models), pd.DataFrame(tables))

"""Schemas of what a calibration writes: a file for each model, and all of them packed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pandas as pd

from verax.calibration.examining import IMPORTANCES
from verax.calibration.kinds import BETWEEN, DECEPTIVE, HONEST, UNIFORM
from verax.exams.described import columns_of
from verax.schema import (
    COUNT,
    TEXT,
    Columns,
    SchemaError,
    checked_json,
    listed,
    mapping,
    maybe,
    number,
    plain,
    record,
    text,
    whole,
)

FINISHED = record(
    {
        "name": text,
        "kind": text,
        "side": text,
        "encoder": text,
        "projection": text,
        "part": text,
        "seed": whole(0),
        "gates": mapping(plain),
        "failed": listed(text),
        "seconds": number(0),
    },
    {
        "numbers": listed(listed(plain)),
        "columns": listed(text, once=True),
        "manifest": mapping(plain),
        "precision": mapping(maybe(number())),
        "why": text,
    },
)
"""The schema of a finished model's file."""
ABOUT = record(
    {"models": COUNT}, {"verax": text, "effort": mapping(plain), "core_seconds": number(0)}
)
"""The schema of `calibration.json`."""
OF_MODELS = Columns.of(
    text="name kind side encoder projection part texts failed labels",
    sure="classes length seed",
    number=" ".join(["words", *(f"precision_{name}" for name in IMPORTANCES)]),
    key=("name",),
    least=1,
)
_LABELS = mapping(COUNT)
SIDES = (HONEST, DECEPTIVE, BETWEEN, UNIFORM)


def check_packed(models: pd.DataFrame, numbers: pd.DataFrame, about: Mapping[str, Any]) -> None:
    """Raise `SchemaError` where the tables of a calibration do not fit one another."""
    OF_MODELS.check(models, "models.parquet")
    summary = columns_of("summary")
    key = ("name", *summary.key)
    replace(summary, required={"name": TEXT, **summary.required}, key=key).check(
        numbers, "numbers.parquet"
    )
    if len(models) != about["models"]:
        raise SchemaError(f"models.parquet has {len(models):,} models, not {about['models']:,}")
    if not set(models["side"]) <= set(SIDES):
        raise SchemaError(f"models.parquet has a side that is none of {', '.join(SIDES)}")
    if models["classes"].min() < 1 or models["length"].min() < 1:
        raise SchemaError("models.parquet has a model without classes or words")
    passed = models[models["failed"] == ""]
    if passed["words"].isna().any() or (passed["words"] <= 0).any():
        raise SchemaError("models.parquet has a model without words a document")
    if set(passed["name"]) - set(numbers["name"]):
        raise SchemaError("numbers.parquet lacks a model of models.parquet")
    if set(numbers["name"]) - set(models["name"]):
        raise SchemaError("numbers.parquet has a model that models.parquet has not")
    for labels in models["labels"].unique():
        checked_json(labels, _LABELS, "models.parquet, labels")

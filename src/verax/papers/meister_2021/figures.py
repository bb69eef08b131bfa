"""Figures 1 to 4 as chart data. They are images in the paper: nothing is published beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.meister_2021.agreement import (
    ALL,
    GRADIENT,
    INPUTS,
    ITEMS,
    LEAVE_ONE_OUT,
    ON_SUPPORT,
    TAU,
)
from verax.papers.meister_2021.along import SUPPORT
from verax.papers.meister_2021.entropy import MEAN, ON_OUTPUT, TABLE
from verax.papers.meister_2021.models import FAMILY, Model, models
from verax.papers.results import PaperResults

AMONG = {ALL: "all items", ON_SUPPORT: "items with weight"}
SIDES = {INPUTS: "inputs", ITEMS: "items"}
PRINTED_TAU = "τ-b"
MEASURES = {PRINTED_TAU: TAU, "sd": "sd", "median": "median", "p ≤ 0.05": "significant"}
"""Measure → column of both tables of agreement."""
Compared = Sequence[tuple[str, str]]
"""Side and importance."""
GRADIENTS: Compared = (
    (INPUTS, GRADIENT),
    (ITEMS, GRADIENT),
    (INPUTS, "gradient-detached"),
    (INPUTS, "gradient-input-detached"),
)
LEAVE_OUTS: Compared = (
    (INPUTS, LEAVE_ONE_OUT),
    (ITEMS, LEAVE_ONE_OUT),
    (ITEMS, "leave-one-out-renormalised"),
)


def figure1(results: PaperResults) -> pd.DataFrame:
    return frame([row for model in models(results) for row in _agreement(results, model)])


def figure2(results: PaperResults) -> pd.DataFrame:
    rows = []
    for model in models(results):
        for importance, row in ON_OUTPUT.items():
            labels = {**model.labels, **model.along, "importance": importance}
            for measure in (MEAN, "sd", "median"):
                rows.append(entry(labels, measure, model.find(results, TABLE, row, measure)))
    return frame(rows)


def figure3(results: PaperResults) -> pd.DataFrame:
    """Of every corpus; with the support and accuracy, by which a fall is to be read."""
    rows = []
    for model in models(results, FAMILY):
        for table, among in AMONG.items():
            for importance in (GRADIENT, LEAVE_ONE_OUT):
                labels = {**model.labels, **model.along, "importance": importance, "among": among}
                number = model.find(results, table, INPUTS.format(importance), TAU)
                rows.append(entry(labels, PRINTED_TAU, number))
        labels = {**model.labels, **model.along, "importance": "", "among": ""}
        rows.append(entry(labels, "share in the support", model.find(results, *SUPPORT)))
        right = model.find(results, "dispersion.documents", "accuracy", "value")
        rows.append(entry(labels, "accuracy", right))
    return frame(rows)


def figure4(results: PaperResults) -> pd.DataFrame:
    rows = [_agreement(results, model, LEAVE_OUTS) for model in models(results)]
    return frame([row for own in rows for row in own])


def _agreement(
    results: PaperResults, model: Model, compared: Compared = GRADIENTS
) -> Iterator[dict[str, Any]]:
    for table, among in AMONG.items():
        for side, importance in compared:
            labels = {**model.labels, **model.along, "of": SIDES[side]}
            labels |= {"importance": importance, "among": among}
            for measure, column in MEASURES.items():
                number = model.find(results, table, side.format(importance), column)
                yield entry(labels, measure, number)


_AXIS = "symlog is λ from 0 on, and −log10(1 − λ) below; sparsemax is λ = 0, softmax has none."
EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "figure1",
        "Attention against gradients, of inputs and of items: τ-b",
        figure1,
        f"The gradient goes through attention; gradient-detached holds attention fixed, and "
        "gradient-input-detached is Jain & Wallace's. Items with weight alone: without the ties "
        f"of zeros, which lift τ-b of items. {_AXIS}",
    ),
    Exhibit(
        "figure2",
        "Entropy of inputs' influence on the output, by gradients and by leave-one-out",
        figure2,
        _AXIS,
    ),
    Exhibit(
        "figure3",
        "Attention's agreement with importances of inputs along λ, an axis that is log-scaled "
        "below 0 (symlog)",
        figure3,
        f"IMDb in the paper, every corpus here. {_AXIS}",
    ),
    Exhibit(
        "figure4",
        "Attention against leave-one-out, of inputs and of items: τ-b",
        figure4,
        "An item is left out by projecting the scores of the others again; renormalised keeps "
        f"their weights in proportion. {_AXIS}",
    ),
)

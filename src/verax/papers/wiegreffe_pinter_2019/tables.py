"""The paper's tables, made again; no published number of them is at hand."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.results import PaperResults
from verax.papers.wiegreffe_pinter_2019.models import (
    BASE,
    BY_ADVERSARY,
    BY_BASE,
    CONTROLS,
    MLP_OWN,
    MLP_UNIFORM,
    UNIFORM,
    corpora,
    find,
)

ATTENTIONS = {BASE: "trained", UNIFORM: "uniform"}
WEIGHTS = {
    MLP_UNIFORM: "uniform",
    MLP_OWN: "its own",
    BY_BASE: "of the base",
    BY_ADVERSARY: "of an adversary",
}
"""Control → where a model without context has its weights from."""


def uniform_baseline(results: PaperResults) -> pd.DataFrame:
    return _scores(results, "attention", ATTENTIONS)


def guided(results: PaperResults) -> pd.DataFrame:
    return _scores(results, "weights", WEIGHTS)


def _scores(results: PaperResults, label: str, controls: Mapping[str, str]) -> pd.DataFrame:
    """F1 and accuracy of controls, in percent."""
    rows = []
    for corpus in corpora(results):
        for control, name in controls.items():
            for measure, column in (("F1", "f1"), ("accuracy", "accuracy")):
                found = find(results, CONTROLS, control, column, corpus)
                rows.append(entry({"corpus": corpus, label: name}, measure, found))
    return frame(rows)


EXHIBITS = (
    Exhibit(
        "table2",
        "A model with trained attention, and one trained with uniform attention",
        uniform_baseline,
        "in percent",
    ),
    Exhibit(
        "table3",
        "A model without context, by where its weights come from",
        guided,
        "in percent; the adversary is that of the λ chosen on validation",
    ),
)

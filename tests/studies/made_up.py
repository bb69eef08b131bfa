"""Verdicts whose every number was chosen."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

import verax
from support.internals import AGREEMENT_REASONS as NO_RANKS
from support.internals import DISPERSION_REASONS as NO_SPREAD


def tidy(
    ids: np.ndarray,
    values: np.ndarray,
    measures: Sequence[str],
    labels: Sequence[Mapping[str, str]] = ({},),
) -> pd.DataFrame:
    """A row per label, document and measure, of (labels, documents, measures) values."""
    rows = [
        {"id": i, **label, "measure": measure, "value": value}
        for label, documents in zip(labels, values, strict=True)
        for i, numbers in zip(ids, documents, strict=True)
        for measure, value in zip(measures, numbers, strict=True)
    ]
    return pd.DataFrame(rows)


def verdict_of(
    entropies: Sequence[float],
    taus: Sequence[float],
    *,
    support: Sequence[float] | None = None,
    correct: Sequence[float] | None = None,
    influence: Sequence[float] | None = None,
) -> verax.Verdict:
    """A verdict of agreement and dispersion over documents 0, 1, … of ten items each.

    entropies  of the gradient; those of attention are half as large. NaN is "all zero"
    taus       of attention with the gradient of inputs, on the support the negative of it; NaN is
               "second constant"
    influence  entropies of influence on items, no such table where not given
    """
    n = len(entropies)
    ids, ones = np.arange(n), np.ones(n)
    weighted = np.array(support if support is not None else 5 * ones)
    right = np.array(correct if correct is not None else ones)
    instances = np.stack([10 * ones, 10 * ones, weighted, weighted / 10, right], axis=-1)
    names = ["words", "items", "support", "support_share", "correct"]
    spread = np.array([[0.5 * e for e in entropies], entropies])
    zero = np.where(np.isnan(spread), NO_SPREAD.index("all zero"), 0)
    ranks = np.array([taus, [-t for t in taus]])
    constant = np.where(np.isnan(ranks), NO_RANKS.index("second constant"), 0)
    pair = {"on": "inputs", "first": "attention", "second": "gradient"}
    tables = {
        "agreement": tidy(
            ids,
            np.stack([ranks, constant], axis=-1),
            ["kendall", "reason"],
            [{**pair, "over": "all"}, {**pair, "over": "support"}],
        ),
        "agreement_instances": tidy(ids, instances[None], names),
        "dispersion_instances": tidy(ids, instances[None], names),
        "dispersion": tidy(
            ids,
            np.stack([spread, zero, np.full((2, n), math.nan)], axis=-1),
            ["entropy", "reason", "boundaries"],
            [{"of": "attention"}, {"of": "gradient"}],
        ),
    }
    if influence is not None:
        given = np.array(influence, dtype=float)
        there = np.where(np.isnan(given), 0, 10.0)
        why = np.where(np.isnan(given), 2.0, 0.0)
        values = np.stack([given, why, given**2, there, 10 - there, 0 * there], axis=-1)
        tables["dispersion_influence"] = tidy(
            ids,
            values[None],
            ["entropy", "reason", "entropy_square", "positions", "zero", "nan"],
            [{"kind": "norm"}],
        )
    return verax.Verdict(tables, {"exams": ["agreement", "dispersion"]})

"""Limits of one place: chosen on all its models, tested on seeds that are left out in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from verax.calibration.analysis import (
    Calibrated,
    error_rates,
    limits_of_family,
    overall,
    reading_of,
    readings,
    verdicts,
)
from verax.calibration.plan import CHOOSING, HELD_OUT
from verax.exams.judgement.limits import LimitSet

FOLDS = 3
"""Parts of the seeds, each left out once."""


def crossed_limits(data: Calibrated, version: str, provenance: str) -> LimitSet:
    """Limits chosen on all models, with error rates of seeds that they were not chosen on.

    Args:
        data: models of one family and one place; kinds are not held out, only seeds.
        version: what to call the limits by.
        provenance: where they come from.
    """
    seeds = np.array(sorted(set(data.models["seed"])))
    votes, told = [], []
    for fold in np.array_split(seeds, min(FOLDS, len(seeds))):
        part = _parted(data, fold)
        limits = limits_of_family(part, version, provenance)
        known = limits.calibration
        assert known is not None
        found = verdicts(part, limits)
        left_out = found[found["part"] == HELD_OUT]
        read = readings(left_out, known.accuse, known.clear)
        votes.append(left_out.assign(read=read))
        told.append(overall(part, HELD_OUT))
    every = _parted(data, np.array([], dtype=seeds.dtype))
    whole = limits_of_family(every, version, provenance)
    known = whole.calibration
    assert known is not None
    means = pd.concat(told, axis=1).mean(axis=1)
    exams = {
        exam: {**one, "auroc": round(float(means.get((exam, one["headline"]), np.nan)), 4)}
        for exam, one in known.exams.items()
    }
    errors = error_rates(_as_votes(pd.concat(votes)), 1, 1)
    return replace(whole, calibration=replace(known, exams=exams, errors=errors))


def _parted(data: Calibrated, left_out: Any) -> Calibrated:
    """The same models, some seeds of which are held out."""
    parts = np.where(data.models["seed"].isin(list(left_out)), HELD_OUT, CHOOSING)
    return Calibrated(data.models.assign(part=parts), data.numbers, data.about)


def _as_votes(votes: pd.DataFrame) -> pd.DataFrame:
    """One vote a model, the reading that its fold gave it: folds may need other numbers of exams.

    >>> read = pd.DataFrame({"side": ["honest"], "read": ["deceptive"]})
    >>> _as_votes(read)[["for", "against"]].values.tolist()
    [[0, 1]]
    """
    honest, deceptive = (reading_of(*pair, 1, 1) for pair in ((1, 0), (0, 1)))
    named = {"for": votes["read"] == honest, "against": votes["read"] == deceptive}
    return votes.assign(**{name: is_it.astype(int) for name, is_it in named.items()})

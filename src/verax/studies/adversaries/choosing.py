"""Choosing λ: the adversary that attends furthest away among those that decide as well."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verax.errors import VeraxError
from verax.training.strength import TOLERANCE

_TIE = 1e-12


@dataclass(frozen=True)
class Chosen:
    """The λ picked on validation.

    within                  whether its F1 and its accuracy are both within a point of the base's;
                            else it is the one that comes closest
    jsd, f1, accuracy       its own on validation, means over seeds
    same                    share of validation decisions that are the base's
    base_f1, base_accuracy  the base's
    """

    lam: float
    within: bool
    jsd: float
    f1: float
    accuracy: float
    same: float
    base_f1: float
    base_accuracy: float


def choose(curve: Sequence[Mapping[str, float]], base_f1: float, base_accuracy: float) -> Chosen:
    """The largest JSD among those whose F1 and accuracy are the base's less a point at least.

    curve  lam, jsd, f1, accuracy and same on validation, of each λ

    Both, for a model that says `positive` whatever it reads has an F1 of two thirds. Where there is
    none, the one whose worse shortfall of the two is smallest. λ = 0 asks for no other attention:
    it is taken only where there is no other. Of equals, but for rounding, the smallest λ is taken.

    >>> near = {"lam": 0.1, "jsd": 0.2, "f1": 0.8, "accuracy": 0.8, "same": 0.9}
    >>> far = {"lam": 1.0, "jsd": 0.5, "f1": 0.8, "accuracy": 0.5, "same": 0.5}
    >>> choose([near, far], 0.8, 0.8).lam, choose([near, far], 0.8, 0.5).lam
    (0.1, 1.0)
    >>> choose([near, far], 0.9, 0.9).within
    False
    """
    if not curve:
        raise VeraxError("no adversary to choose from: give at least one λ")
    rising = sorted(curve, key=lambda row: row["lam"])
    rising = [row for row in rising if row["lam"] > 0] or rising

    def short(row: Mapping[str, float]) -> float:
        return min(_or_least(row["f1"] - base_f1), _or_least(row["accuracy"] - base_accuracy))

    within = [row for row in rising if short(row) >= -TOLERANCE - _TIE]
    listed = within or rising
    scores = [_or_least(row["jsd"]) if within else short(row) for row in listed]
    picked = listed[next(n for n, score in enumerate(scores) if score >= max(scores) - _TIE)]
    values = {name: picked[name] for name in ("lam", "jsd", "f1", "accuracy", "same")}
    return Chosen(within=bool(within), base_f1=base_f1, base_accuracy=base_accuracy, **values)


def _or_least(value: float) -> float:
    """The value, or −∞ where it is NaN."""
    return -math.inf if math.isnan(value) else value

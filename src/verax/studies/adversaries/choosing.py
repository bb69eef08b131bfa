"""Choosing λ: the adversary that attends furthest away among those that decide as well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from verax.errors import VeraxError
from verax.training.strength import TOLERANCE

_TIE = 1e-12


@dataclass(frozen=True)
class Chosen:
    """The λ picked on validation.

    within       whether its F1 is within a point of the base's; else it is the best F1 there is
    jsd, f1      its own on validation, means over seeds
    base_f1      the base's
    """

    lam: float
    within: bool
    jsd: float
    f1: float
    base_f1: float


def choose(curve: Sequence[Mapping[str, float]], base_f1: float) -> Chosen:
    """The largest JSD among those whose F1 is at least the base's less a point.

    curve  lam, jsd and f1 on validation, of each λ

    Where there is none, the best F1. Of equals, but for rounding, the smallest λ is taken.

    >>> rows = [{"lam": 0.1, "jsd": 0.2, "f1": 0.8}, {"lam": 1.0, "jsd": 0.5, "f1": 0.7}]
    >>> choose(rows, base_f1=0.805).lam, choose(rows, base_f1=0.705).lam, choose(rows, 0.9).within
    (0.1, 1.0, False)
    """
    if not curve:
        raise VeraxError("no adversary to choose from: give at least one λ")
    rising = sorted(curve, key=lambda row: row["lam"])
    within = [row for row in rising if row["f1"] >= base_f1 - TOLERANCE - _TIE]
    key = "jsd" if within else "f1"
    best = max(row[key] for row in within or rising)
    picked = next(row for row in within or rising if row[key] >= best - _TIE)
    return Chosen(picked["lam"], bool(within), picked["jsd"], picked["f1"], base_f1)

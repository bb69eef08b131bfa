"""Ids of rows of an adversaries' summary."""

from __future__ import annotations

_LAMBDA, _SEED = "lambda=", "seed="
MEAN = "mean"
"""The row of all models of the yardstick together."""


def lambda_row(lam: float) -> str:
    """The row of an adversary, by the weight on attending elsewhere that it was trained with.

    >>> lambda_row(0.1)
    'lambda=0.1'
    """
    return f"{_LAMBDA}{lam:g}"


def lambda_of(row: str) -> float:
    """The λ of a row that `lambda_row` made.

    >>> lambda_of("lambda=0.1")
    0.1
    """
    return float(row.removeprefix(_LAMBDA))


def seed_row(seed: int | str | None) -> str:
    """The row of one model of the yardstick.

    >>> seed_row(3)
    'seed=3'
    """
    return f"{_SEED}{seed}"

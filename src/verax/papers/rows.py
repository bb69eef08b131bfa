"""Rows of summaries, in the words that pages print."""

from __future__ import annotations

from verax.exams.adversary.measures import ANY_OUTPUT, epsilon_of, group_of
from verax.studies.adversaries.measures import seed_of


def epsilon_words(row: str) -> str:
    """What a row of the adversary exam is: how far the output may move.

    >>> epsilon_words("epsilon=0.05"), epsilon_words("any_output")
    ('ε = 0.05', 'any output')
    """
    return "any output" if row == ANY_OUTPUT else f"ε = {epsilon_of(row):g}"


def lambda_words(lam: float) -> str:
    """A λ of trained adversaries.

    >>> lambda_words(0.03)
    'λ = 0.03'
    """
    return f"λ = {lam:g}"


def seed_words(row: str) -> str:
    """A model of another seed than the base's, or all of them together.

    >>> seed_words("seed=3"), seed_words("mean")
    ('3', 'mean')
    """
    seed = seed_of(row)
    return row if seed is None else str(seed)


def weight_words(weights: tuple[float, float]) -> str:
    """A bin of largest weights.

    >>> weight_words((0.75, 1.0))
    '0.75–1'
    """
    return f"{weights[0]:g}–{weights[1]:g}"


def group_words(row: str) -> str:
    """A group of documents, by the class decided for and by the largest weight.

    >>> group_words("class=1,max_weight=0.5-0.75"), group_words("all")
    ('class 1, max α 0.5–0.75', 'all')
    """
    decided, weights = group_of(row)
    parts = [] if decided is None else [f"class {decided}"]
    if weights is not None:
        parts.append(f"max α {weight_words(weights)}")
    return ", ".join(parts) or "all"

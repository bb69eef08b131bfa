"""Words for numbers, ranges and rows, in findings and in tables."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

ANY_OUTPUT = "any_output"
"""The row of the attention that need not keep the output."""


def value_of(row: str) -> float:
    """The number of a row such as `lambda=0.1`, `epsilon=0.05` or `seed=3`.

    >>> value_of("lambda=0.1"), value_of(ANY_OUTPUT)
    (0.1, 1.0)
    """
    return 1.0 if row == ANY_OUTPUT else float(row.partition("=")[2])


def span(values: Iterable[float], form: str = ".2f") -> str:
    """The range of values, from the least to the greatest, with typographic minus signs.

    >>> span([0.5, 0.25]), span([0.012, -0.3], "+.2f"), span([0.1]), span([])
    ('0.25–0.50', '−0.30 to +0.01', '0.10', 'nothing')
    """
    known = list(values)
    if not known:
        return "nothing"
    low, high = (f"{end:{form}}".replace("-", "−") for end in (min(known), max(known)))
    signed = any(end[0] in "+−" for end in (low, high))
    return low if low == high else f"{low} to {high}" if signed else f"{low}–{high}"


def listed(names: Sequence[str]) -> str:
    """Names joined by commas and *and*.

    >>> listed(["imdb"]), listed(["20news", "imdb", "yelp"])
    ('imdb', '20news, imdb and yelp')
    """
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def epsilon_words(row: str) -> str:
    """A row of the adversary exam in words: how far the output may move.

    >>> epsilon_words("epsilon=0.05"), epsilon_words("any_output")
    ('ε = 0.05', 'any output')
    """
    return "any output" if row == ANY_OUTPUT else f"ε = {value_of(row):g}"


def lambda_words(row: str) -> str:
    """A row of trained adversaries in words: their λ.

    >>> lambda_words("lambda=0.03")
    'λ = 0.03'
    """
    return f"λ = {value_of(row):g}"


def seed_words(row: str) -> str:
    """The seed of a row of other seeds, or the row itself if it is of several.

    >>> seed_words("seed=3"), seed_words("mean")
    ('3', 'mean')
    """
    return row.removeprefix("seed=")


def as_json(values: Any, digits: int = 17) -> str:
    """JSON with numbers of so many digits, and null for NaN and infinities."""

    def plain(value: Any) -> Any:
        if isinstance(value, float):
            return float(f"{value:.{digits}g}") if math.isfinite(value) else None
        if isinstance(value, Mapping):
            return {name: plain(one) for name, one in value.items()}
        return [plain(one) for one in value] if isinstance(value, list | tuple) else value

    return json.dumps(plain(values), indent=1, ensure_ascii=False, allow_nan=False) + "\n"

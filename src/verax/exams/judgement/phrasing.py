"""Numbers in words: a number, its interval, and the numbers beside it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number

SMALL = 0.1
"""Below it a number is given by two digits where three decimals do not show them."""
LARGE = 10
"""From it on one decimal is enough."""


NOTHING = 1e-9
"""What is smaller is rounding."""
DECIMALS, MOST_DECIMALS = 3, 6
"""Of a number below 10; more where it is small, and powers of ten where that needs too many."""


def numeral(number: Number) -> str:
    """A number in its unit.

    >>> [numeral(n) for n in (Number(84.23, unit="percent"), Number(0.4837), Number(1234))]
    ['84.2%', '0.484', '1,234']
    """
    return _numeral(number.value, number)


def interval(number: Number) -> str:
    """Both ends of its interval, with as many decimals; empty where there is none.

    >>> interval(Number(0.4837, 0.45, 0.5139))
    '0.450 to 0.514'
    """
    if math.isnan(number.value) or not number.has_interval:
        return ""
    return f"{_numeral(number.low, number)} to {_numeral(number.high, number)}"


def _numeral(value: float, like: Number) -> str:
    if math.isnan(value):
        return "–"
    text = f"{value if abs(value) > NOTHING else 0.0:{_form(like)}}"
    if not any(digit in text for digit in "123456789"):
        text = text.replace("-", "")  # nothing is left of it but its sign
    return f"{text}{'%' * (like.unit == 'percent')}".replace("-", "−")


def _form(like: Number) -> str:
    """Two digits of a small number, or of its interval where that is the wider."""
    if like.unit in _FORMS:
        return _FORMS[like.unit]
    size = abs(like.value)
    if size >= LARGE:
        return ",.1f" if size < 1000 else ",.0f"
    if like.has_interval:
        size = max(size, (like.high - like.low) / 2)
    if not NOTHING < size < SMALL:
        return f".{DECIMALS}f"
    decimals = 1 - math.floor(math.log10(size))
    return f".{max(decimals, DECIMALS)}f" if decimals <= MOST_DECIMALS else ".1e"


_FORMS = {"count": ",.0f", "percent": ".1f", "points": "+.1f"}


def with_interval(number: Number) -> str:
    """A number and, where it has one, its interval in brackets."""
    within = interval(number)
    return numeral(number) + (f" ({within})" if within else "")


def listed(others: Mapping[str, Number | None]) -> str:
    """Numbers by name in a line; those that are None are left out."""
    return "; ".join(f"{name} {numeral(n)}" for name, n in others.items() if n is not None)


def beside(others: Mapping[str, Number | None]) -> str:
    """Numbers by name in brackets, to stand after another number; empty without any."""
    text = listed(others)
    return f" ({text})" if text else ""


def of_all(number: Number, model: ModelSummary) -> str:
    """Of how many documents a number is; empty where that is not known."""
    return f"of {model.documents(number)}" if number.n else ""


def first(model: ModelSummary, table: str, rows: Sequence[str], column: str) -> Number | None:
    """The number of the first row that has one."""
    numbers = (model.number(table, row, column) for row in rows)
    return next((number for number in numbers if number is not None), None)

"""Numbers as people read them."""

from __future__ import annotations

import math

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
    told = f"{value if abs(value) > NOTHING else 0.0:{_form(like)}}"
    if not any(digit in told for digit in "123456789"):
        told = told.replace("-", "")  # nothing is left of it but its sign
    return f"{told}{'%' * (like.unit == 'percent')}".replace("-", "−")


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

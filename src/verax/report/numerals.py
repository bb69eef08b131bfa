"""Numbers as people read them."""

from __future__ import annotations

import math

from verax.report.witness import Number

SMALL = 0.1
"""Below it a number is given by two digits and not by three decimals."""
LARGE = 10
"""From it on one decimal is enough."""


def numeral(number: Number) -> str:
    """A number in its unit.

    >>> [numeral(n) for n in (Number(84.23, unit="percent"), Number(0.4837), Number(1234))]
    ['84.2%', '0.484', '1,234']
    """
    return _numeral(number.value, number)


def interval(number: Number) -> str:
    """Both ends of its interval, with as many digits; empty where there is none.

    >>> interval(Number(0.4837, 0.45, 0.5139))
    '0.450 to 0.514'
    """
    if math.isnan(number.value) or not number.has_interval:
        return ""
    return f"{_numeral(number.low, number)} to {_numeral(number.high, number)}"


def _numeral(value: float, like: Number) -> str:
    if math.isnan(value):
        return "–"
    return f"{value:{_form(value, like)}}{'%' * (like.unit == 'percent')}".replace("-", "−")


def _form(value: float, like: Number) -> str:
    if like.unit in _FORMS:
        return _FORMS[like.unit]
    size = abs(like.value)
    if size >= LARGE:
        return ",.1f" if size < 1000 else ",.0f"
    return ".2g" if size < SMALL and 0 < abs(value) < SMALL else ".3f"


_FORMS = {"count": ",.0f", "percent": ".1f", "points": "+.1f"}

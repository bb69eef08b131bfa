"""Phrases that judgements share: a number with its interval, and what stands beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import Number
from verax.exams.judgement.numerals import interval, numeral


def with_interval(number: Number) -> str:
    """A number and, where it has one, its interval in brackets."""
    within = interval(number)
    return numeral(number) + (f" ({within})" if within else "")


def listed(others: Mapping[str, Number | None]) -> str:
    """Numbers by name, those there are."""
    return "; ".join(f"{name} {numeral(n)}" for name, n in others.items() if n is not None)


def beside(others: Mapping[str, Number | None]) -> str:
    """The same in brackets, after a number."""
    text = listed(others)
    return f" ({text})" if text else ""


def of_all(number: Number, model: ModelSummary) -> str:
    """Of how many documents a number is; empty where that is not known."""
    return f"of {model.documents(number)}" if number.n else ""


def first(model: ModelSummary, table: str, rows: Sequence[str], column: str) -> Number | None:
    """The number of the first row that has one."""
    numbers = (model.number(table, row, column) for row in rows)
    return next((number for number in numbers if number is not None), None)

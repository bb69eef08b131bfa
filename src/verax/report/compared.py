"""The words of a comparison: what its measures are called, and what was left out of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from verax.studies import Comparison
from verax.studies.comparison.differences import BETTER, DOCUMENTS, UNCLEAR, WORSE
from verax.studies.comparison.directions import (
    ATTENTION_ITSELF,
    DECISIONS,
    HIGHER,
    LOWER,
    NATS,
    SAME,
)

TITLES = {
    DECISIONS: "decisions",
    "erasure": "erasure: what goes before a decision flips, by attention and at least (optimum)",
    "agreement": "agreement: Kendall's τ-b of attention with other importances",
    "dispersion": "dispersion: how spread attention and influence are, 1 where all have the same",
    "replacement": "replacement: decisions when attention is replaced and all else stays",
    "information": "information: what is left of a word in its state",
    "single_token": "single token: the decision by one token alone; of correct decisions",
    "adversary": "adversary: how far another attention can be that keeps the probability",
}
CURVES = "curves"
"""Stands for an exam where a part or a chart is of one text."""
ARROWS = {HIGHER: "↑ ", LOWER: "↓ ", "": "  "}
"""Which way is better."""
_MARKS = {BETTER: "✓", WORSE: "✗", UNCLEAR: "·", "": ""}


def shown_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of measures that some group shows: all but what says the same as another."""
    shown = {row.measure for row in table.itertuples() if _is_shown(row)}
    return table[table["measure"].isin(shown)]


def called(measure: str, unit: str = "") -> str:
    """The measure without its exam's name.

    >>> called("tau on support: items attention : leave-one-out")
    'items: leave-one-out, on support'
    """
    return _called(measure) + (" (nats)" if unit == NATS else "")


def direction(rows: Any) -> str:
    """Which way is better: between two groups it may be judged, between two others not."""
    return ARROWS[next((row.better for row in rows if row.better), "")]


def mark(row: Any) -> str:
    """By Holm's p; in brackets where only the measure's own interval says so."""
    if row.judged != UNCLEAR or math.isnan(row.low) or row.low <= 0 <= row.high:
        return _MARKS[row.judged]
    return f"({_MARKS[BETTER if (row.difference > 0) == (row.better == HIGHER) else WORSE]})"


def is_of_common_documents(row: Any) -> bool:
    """Whether the difference is of fewer documents than one of the values."""
    return row.over == DOCUMENTS and 0 < row.pairs < max(row.n_reference, row.n)


def left_out(
    found: Comparison, measures: Collection[str], names: Mapping[str, str]
) -> Iterator[str]:
    """A line per reason, for the measures that have the same numbers left out."""
    missing = found.excluded()
    missing = missing[missing["measure"].isin(measures)]
    values = found.values()
    whole = (
        (values["n"] + values["excluded"])
        .groupby([values["group"], values["measure"]], observed=True)
        .sum()
    )
    totals = whole.to_dict()
    said: dict[str, list[str]] = {}
    for (measure, reason), part in missing.groupby(
        ["measure", "reason"], sort=False, observed=True
    ):
        counts = part.groupby("group", sort=False, observed=True)["documents"].sum()
        each = ", ".join(
            f"{names[str(group)]} {count:,} of {totals[group, measure]:,}"
            for group, count in counts.items()
        )
        said.setdefault(f"{reason} ({each})", []).append(called(str(measure)))
    for reason, labels in said.items():
        yield f"left out of {'; '.join(labels)}: {reason}"


def _is_shown(row: Any) -> bool:
    """All but what says the same as another, or nothing, or is not of attention."""
    if row.exam != "agreement":
        return True
    return " attention : " in row.measure and row.note not in (SAME, ATTENTION_ITSELF)


def _called(measure: str) -> str:
    if measure.startswith("tau"):
        over, _, pair = measure.partition(": ")
        on, _, _, second = pair.split(" ")
        return f"{on}: {second}{', on support' if over == 'tau on support' else ''}"
    if measure.startswith("entropy"):
        return measure
    return measure.rpartition(": ")[2].removesuffix(" (correct decisions)")

"""The words of a comparison: what its measures are called, and what was left out of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pandas as pd

from verax.exams.measures import HIGHER, LOWER, NEITHER
from verax.exams.titles import measure_title
from verax.studies import Comparison
from verax.studies.comparison.differences import BETTER, DOCUMENTS, SEEDS, UNCLEAR, WORSE

COMMON = "difference is of the documents that have a value on both sides"
"""What † says."""
CURVES = "curves"
"""Stands for an exam where a part or a chart is of one text."""
ARROWS = {HIGHER: "↑ ", LOWER: "↓ ", NEITHER: "  "}
"""Which way is better."""
_MARKS = {BETTER: "✓", WORSE: "✗", UNCLEAR: "·", "": ""}


def shown_rows(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of measures that some group shows: all but what says the same as another."""
    return table[table["measure"].isin(set(table.loc[table["shown"], "measure"]))]


def direction(rows: Any) -> str:
    """The arrow of a measure: the first way that some row calls better."""
    return ARROWS[next((row.better for row in rows if row.better), "")]


def mark(row: Any) -> str:
    """The mark of a row by Holm's p; in brackets where only the measure's own interval says so."""
    if row.judged != UNCLEAR or math.isnan(row.low) or row.low <= 0 <= row.high:
        return _MARKS[row.judged]
    return f"({_MARKS[BETTER if (row.difference > 0) == (row.better == HIGHER) else WORSE]})"


def marks_words(correction: str = "") -> str:
    """What arrows and marks say; `correction` adds to what is said of Holm's."""
    return (
        "↑ ↓ which way attention is more truthful, or decisions more accurate: ✓ better, ✗ worse, "
        f"· unclear, after Holm's correction{correction}; (✓) (✗) by its own interval alone"
    )


def interval_words(table: pd.DataFrame, says: str = "they say") -> dict[str, str]:
    """What intervals of differences are over → that in words, of all that a table has."""
    words = {
        SEEDS: "over seeds (Welch's)",
        DOCUMENTS: f"over documents, paired: {says} nothing of what other seeds would give",
    }
    return {over: text for over, text in words.items() if (table["over"] == over).any()}


def is_of_common_documents(row: Any) -> bool:
    """Whether the difference is of fewer documents than one of the values."""
    return row.over == DOCUMENTS and 0 < row.pairs < max(row.n_reference, row.n)


def left_out(
    comparison: Comparison, measures: Collection[str], names: Mapping[str, str]
) -> Iterator[str]:
    """A line per reason, for the measures that have the same numbers left out."""
    missing = comparison.excluded()
    missing = missing[missing["measure"].isin(measures)]
    values = comparison.values()
    whole = (
        (values["n"] + values["excluded"])
        .groupby([values["group"], values["measure"]], observed=True)
        .sum()
    )
    totals = whole.to_dict()
    measures_of: dict[str, list[str]] = {}
    for (measure, reason), part in missing.groupby(
        ["measure", "reason"], sort=False, observed=True
    ):
        counts = part.groupby("group", sort=False, observed=True)["documents"].sum()
        each = ", ".join(
            f"{names[str(group)]} {count:,} of {totals[group, measure]:,}"
            for group, count in counts.items()
        )
        measures_of.setdefault(f"{reason} ({each})", []).append(measure_title(str(measure)))
    for reason, labels in measures_of.items():
        yield f"left out of {'; '.join(labels)}: {reason}"

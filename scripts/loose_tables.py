"""Tables of results that are of no packed study: those of benchmarks, and of comparisons."""

from __future__ import annotations

import re
from collections.abc import Callable

import pandas as pd

from old_names import (
    EXAMS,
    TABLES,
    document_measure_id,
    exam_id,
    is_measure_id,
    measure_id,
    number_id,
)
from old_tables import UnknownLabelError

_OWN = re.compile(
    r"(train|test) (frequent|sampled) \w+|(base )?(validation|test) .+|decile \d+: .+"
    r"|another seed: .+|seconds( \w+)?|evidence mass|farther than certified|epochs"
    r"|accuracy|F1|f1|macro_f1|roc_auc|loss"
)
"""Numbers that benchmarks measure themselves; no exam has them."""
_MORE = {
    "entropy: gradient, double precision": "dispersion.entropy.gradient.mean@double",
    "entropy: influence (norm), double precision": "dispersion.entropy.influence@norm.mean@double",
    "gradient at SOS and EOS": "dispersion.entropy.gradient.boundaries",
}
"""What the benchmark of Meister et al. measures beside the exams' own."""


def migrated_table(name: str, table: pd.DataFrame) -> pd.DataFrame | None:
    """The table of this name with ids; None where nothing in it is to be changed."""
    if {"exam", "table", "row", "column"} <= set(table):
        return _summary(table)
    if name in _MEASURES and "measure" in table:
        return _measures(table, _MEASURES[name])
    renamed = {column: _renamed(column) for column in table}
    return None if all(a == b for a, b in renamed.items()) else table.rename(columns=renamed)


def _summary(table: pd.DataFrame) -> pd.DataFrame | None:
    if "measure" in table:
        return None
    names = ["table", "row", "column"]
    numbers = [number_id(*labels) for labels in table[names].itertuples(index=False)]
    made = table.assign(exam=[exam_id(label) for label in table["exam"]])
    for place, name in enumerate(names):
        made[name] = [number[place] for number in numbers]
    measures = [measure_id(*number) for number in numbers]
    made.insert(list(made).index("column") + 1, "measure", measures)
    return made


def _measures(table: pd.DataFrame, rule: Callable[[str], str]) -> pd.DataFrame | None:
    ids = {label: label if is_measure_id(label) else rule(label) for label in set(table["measure"])}
    if all(label == new for label, new in ids.items()):
        return None
    made = table.assign(measure=[ids[label] for label in table["measure"]])
    if "exam" in made:
        made["exam"] = [exam_id(label) for label in made["exam"]]
    return made


def _of_documents(label: str) -> str:
    return _MORE.get(label) or document_measure_id(label)


def _of_summaries(label: str) -> str:
    """`table: row: column`, as benchmarks wrote the numbers of a summary; or one of their own."""
    table, _, rest = label.partition(": ")
    if table in TABLES:
        row, _, column = rest.rpartition(": ")
        return measure_id(*number_id(table, row, column))
    if _OWN.fullmatch(label):
        return _renamed(label)
    raise UnknownLabelError(f"unknown measure {label!r}")


def _renamed(label: str) -> str:
    for old, new in EXAMS.items():
        label = re.sub(rf"\b{old}\b", new, label)
    return label


_MEASURES = {
    "values": _of_documents,
    "differences": _of_documents,
    "meister_sst": _of_documents,
    "meister_sst_correlations": _of_documents,
    "grounding": _of_summaries,
    "adversaries": _of_summaries,
}
"""Name of a table → what its measures were called by."""

"""Each configuration of a study as one model: its numbers over seeds, and their judgement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from verax.errors import VeraxError
from verax.exams.bounds import cut
from verax.exams.described import columns_of
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import DOCUMENTS, SEEDS
from verax.exams.judgement.phrasing import NOTHING
from verax.exams.verdict import COLUMNS
from verax.schema import TEXT, SchemaError
from verax.statistics.seeds import over_seeds
from verax.studies.naming import configuration_names

if TYPE_CHECKING:
    from verax.studies.store.results import StudyResults

LABEL = "configuration"
_KEY = [name for name in COLUMNS if name not in ("value", "low", "high", "n")]
COLUMNS_OF_ALL = replace(
    columns_of("summary"),
    required={"cell": TEXT, **columns_of("summary").required},
    key=("cell", "table", "row", "column"),
)
"""The schema of all cells' summaries."""
_KEPT = ("classes", "labels", "words", "attended", "model", "documents", "without_labels")
"""What a configuration's manifest has of its first cell's."""


def model_summaries(results: StudyResults) -> list[ModelSummary]:
    """A summary for each configuration, in the study's order: its numbers over seeds.

    Its manifest says how many `seeds` there are, and whether an interval was `cut` at the range of
    its number.
    """
    summary = labelled(results)
    numbers = numbers_over_seeds(summary, LABEL)
    models = []
    for label, rows in numbers.groupby(LABEL, sort=False, observed=True):
        seeds = int(rows["seeds"].max())
        manifest: dict[str, Any] = {"seeds": seeds, "cut": bool(rows["cut"].any())}
        manifest |= _manifest(results, summary, label)
        frame = rows[[*COLUMNS, "over"]].reset_index(drop=True)
        over = SEEDS if (rows["seeds"] > 1).any() else DOCUMENTS
        models.append(ModelSummary(str(label), frame, manifest, over))
    return models


def numbers_over_seeds(summary: pd.DataFrame, by: str) -> pd.DataFrame:
    """Numbers of several models, some of them seeds of one, over these seeds.

    Args:
        summary: rows of summaries with a column `seed` and a column that names the configuration.
        by: that column.

    Returns:
        A row a configuration and measure: the mean over seeds with Student's interval over them,
        inside what the number can be (`cut` says where it was not). An interval over seeds needs
        two seeds with values that differ by more than rounding: one alone, and seeds that agree,
        say nothing of chance. There the interval is over documents, from the lowest end of any
        seed's to the highest, if the seeds have one. `over` says which it is; `n` is documents, a
        seed.
    """
    key = [by, *_KEY]
    numbers = over_seeds(summary, by=key).rename(columns={"mean": "value"})
    valued = summary[summary["value"].notna()].groupby(key, sort=False, observed=True)
    ranges = valued.agg(
        lowest_end=("low", "min"),
        highest_end=("high", "max"),
        least=("value", "min"),
        most=("value", "max"),
    )
    # no end where a seed has no interval
    told = valued[["low", "high"]].count().eq(valued.size(), axis=0)
    ranges["lowest_end"] = ranges["lowest_end"].where(told["low"])
    ranges["highest_end"] = ranges["highest_end"].where(told["high"])
    ranges = ranges.reset_index()
    sizes = summary.groupby(key, sort=False, observed=True)["n"].mean().rename("size")
    numbers = numbers.drop(columns="n").merge(ranges, on=key, how="left")
    numbers = numbers.merge(sizes.reset_index(), on=key, how="left")
    numbers["n"] = numbers["size"].round().astype("int64")
    # one seed has none; that of equal seeds has no width but rounding, which is none
    varies = (numbers["seeds"] > 1) & (numbers["most"] - numbers["least"] > NOTHING)
    numbers = cut(numbers)
    numbers["cut"] &= varies
    numbers["low"] = numbers["low"].where(varies, numbers["lowest_end"])
    numbers["high"] = numbers["high"].where(varies, numbers["highest_end"])
    numbers["over"] = np.where(varies, SEEDS, DOCUMENTS)
    return numbers


def labelled(results: StudyResults) -> pd.DataFrame:
    """The summary of all cells with a column that names each one's configuration."""
    summary = results.summary()
    try:
        COLUMNS_OF_ALL.check(summary[["cell", *(n for n in COLUMNS if n in summary)]], "summary")
    except SchemaError as error:
        raise VeraxError(
            f"{results.name} has a summary that was changed ({error}): run the study again",
            code="result.damaged",
        ) from error
    cells = varying(summary)
    names = dict(zip(cells.index, configuration_names(cells), strict=True))
    rows = summary[["cell", "seed", *COLUMNS]].astype({"cell": "str"})
    rows[LABEL] = [names[cell] for cell in summary["cell"]]
    return rows


def varying(summary: pd.DataFrame) -> pd.DataFrame:
    """A row a cell, with the configuration, but for the seed, in which cells differ."""
    columns = [str(name) for name in summary if name not in {*COLUMNS, "cell", "seed"}]
    cells = summary[["cell", *columns]].drop_duplicates("cell").set_index("cell")
    return cells.loc[:, [c for c in cells if cells[c].astype(str).nunique() > 1]]


def _manifest(results: StudyResults, summary: pd.DataFrame, label: Any) -> dict[str, Any]:
    """What one of its cells says of classes, items and the model, packed with its tables or not."""
    cell = str(summary.loc[summary[LABEL] == label, "cell"].iloc[0])
    try:
        manifest = results.manifest(cell)
    except VeraxError:  # nothing was examined in it
        return {}
    return {name: manifest[name] for name in _KEPT if name in manifest}

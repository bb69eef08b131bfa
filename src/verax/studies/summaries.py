"""Each configuration of a study as one model: its numbers over seeds, and their judgement."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pandas as pd

from verax.errors import VeraxError
from verax.exams.bounds import bounds
from verax.exams.described import columns_of
from verax.exams.judgement.model_summary import ModelSummary
from verax.exams.judgement.number import DOCUMENTS, SEEDS
from verax.exams.verdict import COLUMNS
from verax.schema import TEXT, SchemaError
from verax.statistics import SeedMean
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
        A row per configuration and measure: the mean over seeds with its interval (see
        `SeedMean.of_intervals`), `over` what that is, and the number of documents per seed; `cut`
        if Student's interval ended at a bound of the number.
    """
    key = [by, *_KEY]
    of_seed = {"value": "mean", "low": "min", "high": "max", "n": "mean"}
    each = summary.groupby([*key, "seed"], sort=False, observed=True, dropna=False)
    seeds = each.agg(of_seed).reset_index()
    place = seeds.groupby(key, sort=False, observed=True, dropna=False).ngroup().to_numpy()
    numbers = seeds.loc[~pd.Series(place).duplicated(), key].reset_index(drop=True)
    means, cut = [], []
    for measure, (_, rows) in zip(numbers["measure"], seeds.groupby(place), strict=True):
        least, most = bounds(str(measure))
        ends = list(zip(rows["low"], rows["high"], strict=True))
        means.append(SeedMean.of_intervals(rows["value"].tolist(), ends, (least, most)))
        cut.append(means[-1].over == SEEDS and (means[-1].low <= least or means[-1].high >= most))
    for name in ("value", "low", "high", "seeds"):
        numbers[name] = [getattr(mean, name) for mean in means]
    numbers["n"] = seeds["n"].groupby(place).mean().round().astype("int64").to_numpy()
    numbers["over"] = [SEEDS if mean.over == SEEDS else DOCUMENTS for mean in means]
    return numbers.assign(cut=cut)


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

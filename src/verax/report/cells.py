"""A study as a report sees it: each configuration one witness, with intervals over its seeds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from verax.drawing.names import MOST_CHARTED
from verax.errors import VeraxError
from verax.exams.verdict import COLUMNS, Verdict
from verax.report.bounds import cut
from verax.report.witness import DOCUMENTS, SEEDS, Witness
from verax.statistics.seeds import over_seeds
from verax.studies import StudyResults

_LABEL = "configuration"
_KEY = ["exam", "table", "row", "column", "unit"]
_SPEAKING = ("corpus", "encoder", "attention", "projection", "grounding")
"""Columns whose values say what they are of."""

_SWITCH = {"True": 1, "False": 0}
"""Whether an option that is on or off is named."""


def study_witnesses(results: StudyResults) -> list[Witness]:
    """A witness a configuration, in the study's order.

    A number is the mean over seeds, with Student's interval over them, cut where the number cannot
    go; of one seed, that seed's own with its interval over documents. The manifest says how many
    `seeds` there are, and whether an interval was `cut`.
    """
    summary = labelled(results)
    found = over_seeds(summary, by=[_LABEL, *_KEY])
    means = found.rename(columns={"mean": "value"})
    alone = summary.drop_duplicates([_LABEL, *_KEY])[[_LABEL, *_KEY, "low", "high"]]
    means = means.merge(alone, on=[_LABEL, *_KEY], how="left", suffixes=("", "_own"))
    # documents, a seed: over_seeds counts the seeds
    sizes = summary.groupby([_LABEL, *_KEY], sort=False, observed=True)["n"].mean().rename("size")
    means["n"] = means.merge(sizes.reset_index(), on=[_LABEL, *_KEY], how="left")["size"].round()
    one = means["seeds"] <= 1
    means = cut(means)
    means["cut"] &= ~one
    for end in ("low", "high"):
        means[end] = means[end].where(~one, means[f"{end}_own"])
    same = (means["unit"] == "count") & (means["low"] == means["high"])
    means.loc[same, ["low", "high"]] = float("nan")  # no seed counts otherwise
    witnesses = []
    for label, own in means.groupby(_LABEL, sort=False, observed=True):
        over = SEEDS if (own["seeds"] > 1).any() else DOCUMENTS
        frame = own[COLUMNS].reset_index(drop=True)
        told = {"seeds": int(own["seeds"].max()), "cut": bool(own["cut"].any())}
        told |= _manifest(results, summary, label)
        witnesses.append(Witness(str(label), frame, told, over))
    return witnesses


def of_seeds(witnesses: Sequence[Witness]) -> dict[str, Verdict]:
    """Verdicts that have the numbers over seeds and no document: what charts of numbers need."""
    return {w.name: Verdict({}, w.manifest, w.summary) for w in witnesses[:MOST_CHARTED]}


def of_documents(results: StudyResults) -> dict[str, Verdict]:
    """The first seed of each configuration, for charts over documents.

    Of a study packed without such tables there is none.
    """
    keys = labelled(results).drop_duplicates(_LABEL).set_index(_LABEL)["cell"]
    try:
        return {str(n): results.verdict(str(key)) for n, key in keys[:MOST_CHARTED].items()}
    except VeraxError:
        return {}


def labelled(results: StudyResults) -> pd.DataFrame:
    """The summary of all cells with a column that names each one's configuration."""
    summary = results.summary()
    told = varying(summary)
    names = dict(zip(told.index, _names(told), strict=True))
    found = summary[["cell", "seed", *COLUMNS]].astype({"cell": "str"})
    found[_LABEL] = [names[cell] for cell in summary["cell"]]
    return found


def varying(summary: pd.DataFrame) -> pd.DataFrame:
    """A row a cell, with the configuration, but for the seed, in which cells differ."""
    columns = [str(name) for name in summary if name not in {*COLUMNS, "cell", "seed"}]
    told = summary[["cell", *columns]].drop_duplicates("cell").set_index("cell")
    return told.loc[:, [c for c in told if told[c].astype(str).nunique() > 1]]


def _names(told: pd.DataFrame) -> list[str]:
    """A name a cell, alike where the configuration is; of as few columns as tell all apart."""
    written = told.astype(str)
    kept: list[str] = []
    apart = 1
    for column in map(str, told):
        found = len(written[[*kept, column]].drop_duplicates())
        if found > apart:
            kept, apart = [*kept, column], found
    rows = told[kept].to_dict("records")
    names = [_told(row, _SPEAKING) for row in rows]
    if len(set(names)) < apart:
        names = [_told(row, ()) for row in rows]
    return names


def _told(row: dict[Any, Any], speaking: Sequence[str]) -> str:
    parts = []
    for name, value in row.items():
        if pd.isna(value):
            continue
        shown = f"{value:g}" if isinstance(value, float) else str(value)
        if name in speaking:
            parts.append(f"no {name}" if value == "none" else shown)
        elif speaking and shown in _SWITCH:
            parts += [str(name).replace("_", " ")] * _SWITCH[shown]
        else:
            parts.append(f"{name} {shown}")
    return ", ".join(parts) or "all cells"


def _manifest(results: StudyResults, summary: pd.DataFrame, label: Any) -> dict[str, Any]:
    """What one of its cells says of classes, items and the model, packed with its tables or not."""
    cell = str(summary.loc[summary[_LABEL] == label, "cell"].iloc[0])
    try:
        manifest = results.manifest(cell)
    except VeraxError:  # nothing was examined in it
        return {}
    kept = ("classes", "attended", "model")
    return {name: manifest[name] for name in kept if name in manifest}

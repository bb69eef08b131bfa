"""A study as a report sees it: each configuration one witness, with intervals over its seeds."""

from __future__ import annotations

from typing import Any

import pandas as pd

from verax.errors import VeraxError
from verax.exams.verdict import COLUMNS, Verdict
from verax.report.witness import DOCUMENTS, SEEDS, Witness
from verax.statistics.seeds import over_seeds
from verax.studies import StudyResults

MOST_CHARTED = 8
"""Configurations in one chart: colours that can be told apart."""
_LABEL = "configuration"
_KEY = ["exam", "table", "row", "column", "unit"]


def study_witnesses(results: StudyResults) -> list[Witness]:
    """A witness a configuration, in the study's order.

    A number is the mean over seeds, with Student's interval over them; of one seed, that seed's
    own with its interval over documents.
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
    for end in ("low", "high"):
        means[end] = means[end].where(~one, means[f"{end}_own"])
    witnesses = []
    for label, own in means.groupby(_LABEL, sort=False, observed=True):
        over = SEEDS if (own["seeds"] > 1).any() else DOCUMENTS
        frame = own[COLUMNS].reset_index(drop=True)
        witnesses.append(Witness(str(label), frame, _manifest(results, summary, label), over))
    return witnesses


def charted(results: StudyResults) -> tuple[dict[str, Verdict], str]:
    """The first seed of each configuration, for charts over documents, and a note on these.

    Of a study packed without such tables there is none.
    """
    keys = labelled(results).drop_duplicates(_LABEL).set_index(_LABEL)["cell"]
    try:
        verdicts = {str(n): results.verdict(str(key)) for n, key in keys[:MOST_CHARTED].items()}
    except VeraxError:
        return {}, "The study was packed without its tables by document: there are no charts."
    note = "Charts show the first seed of each configuration; tables are over all seeds."
    if len(keys) > MOST_CHARTED:
        note += f" Charts show the first {MOST_CHARTED} of {len(keys)} configurations."
    return verdicts, note


def labelled(results: StudyResults) -> pd.DataFrame:
    """The summary of all cells with a column that names each one's configuration."""
    summary = results.summary()
    varying = [str(name) for name in summary if name not in {*COLUMNS, "cell", "seed"}]
    told = summary[["cell", *varying]].drop_duplicates("cell").set_index("cell")
    told = told.loc[:, [c for c in told if told[c].astype(str).nunique() > 1]]
    names = {
        cell: _told(row) for cell, row in zip(told.index, told.to_dict("records"), strict=True)
    }
    found = summary[["cell", "seed", *COLUMNS]].astype({"cell": "str"})
    found[_LABEL] = [names[cell] for cell in summary["cell"]]
    return found


def _told(row: dict[Any, Any]) -> str:
    parts = [
        str(value) if name == "corpus" else f"{name} {value}"
        for name, value in row.items()
        if not pd.isna(value)
    ]
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

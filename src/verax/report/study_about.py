"""What a study was of: corpora, configurations, seeds, options and versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from verax.exams.judgement.model_summary import ModelSummary
from verax.report.facts import fact_table
from verax.report.page import Part
from verax.report.sections import ABOUT
from verax.report.tables import html_table
from verax.report.templating import fill, fold
from verax.studies import StudyResults
from verax.studies.summaries import LABEL, labelled, varying

_VERSIONS = ("verax", "torch", "device")
_SHOWN_ABOVE = ("corpus", "seed", "split", "sample", "exams", "adversaries", "fingerprint")


def study_about(results: StudyResults, models: Sequence[ModelSummary]) -> Part:
    """The part of facts: a line a fact, every configuration, and the options that all share."""
    cells = results.cells
    last = list(cells).index("seconds")
    options = [str(name) for name in list(cells)[2:last] if name not in _SHOWN_ABOVE]
    summary = results.summary()
    lines: list[tuple[str, Any]] = [
        ("question", results.question or ""),
        ("corpora", _documents(summary)),
        ("split", _distinct(cells["split"])),
        ("sample", _distinct(cells["sample"])),
        ("configurations", len(models)),
        ("seeds", _distinct(cells["seed"])),
        ("cells", [f"{number:,} {status}" for status, number in results.counts.items()]),
        ("exams", list(dict.fromkeys(exam for model in models for exam in model.exams))),
        *((name, _distinct(cells[name])) for name in _VERSIONS if name in cells),
    ]
    inner = fact_table([(k, v) for k, v in lines if v], f"the study {results.name}")
    if len(models) > 1:
        inner += fold("Configurations", _configurations(results, summary))
    values = {name: _distinct(cells[name]) for name in options}
    same = [(name, distinct[0]) for name, distinct in values.items() if len(distinct) == 1]
    inner += fold("Options that all cells have", fact_table(same))
    if results.counts.get("failed"):
        failures = [
            f"{row['corpus']}, seed {row['seed']}: {row.get('reason') or row.get('error')}"
            for row in results.failures.to_dict("records")
        ]
        inner += fold("Cells that failed", fill("studies", "lines", lines=failures))
    return Part("about", ABOUT, inner)


def _documents(summary: pd.DataFrame) -> list[str]:
    """Each corpus, and how many of its documents were examined."""
    rows = summary[(summary["row"] == "documents") & summary["table"].str.endswith("documents")]
    most = rows.groupby(rows["corpus"].astype(str), sort=False)["value"].max().to_dict()
    return [
        f"{name} ({most[name]:,.0f} documents examined)" if name in most else name
        for name in dict.fromkeys(summary["corpus"].astype(str))
    ]


def _configurations(results: StudyResults, summary: pd.DataFrame) -> Markup:
    """A table of configurations by name: the options that vary, and the seeds."""
    cells = labelled(results).drop_duplicates("cell").set_index("cell")
    options = varying(summary)
    rows = []
    for name, of_name in cells.groupby(LABEL, sort=False):
        values = ["" if pd.isna(v) else str(v) for v in options.loc[of_name.index[0]].tolist()]
        seeds = ", ".join(str(seed) for seed in of_name["seed"])
        rows.append(([str(name)], [*values, seeds]))
    heads = ["", *(str(column).replace("_", " ") for column in options), "seeds"]
    return html_table(heads, rows, title="what varies")


def _distinct(column: pd.Series) -> list[Any]:
    return list(dict.fromkeys(value for value in column.tolist() if not pd.isna(value)))

"""Probes: short runs that test what might explain a difference from the published numbers.

A probe is a study that changes what its question names: the vectors, how long models train, how
much data there is. It may see a sample of the documents. No claim is judged by it: its numbers
stand beside the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

import pandas as pd

from research.papers.axes import Point, Source
from research.papers.exhibits import entry, frame
from research.papers.results import PaperResults
from verax.corpora import CorpusOptions
from verax.models import ModelOptions
from verax.training import TrainingOptions

PROBES = "probes"
"""The scale that runs probes, and the folder of their results, within that of the paper's."""
_ALWAYS = ("encoder", "attention")
_WHERE_CHOSEN = ("hierarchical", "projection", "grounding")
"""Options that name the models of a probe if one of these has not the default."""
_OPTIONS = {
    f.name: f for cls in (ModelOptions, TrainingOptions, CorpusOptions) for f in fields(cls)
}


def probes_table(
    results: PaperResults, measures: Mapping[str, Source], order: Iterable[str] = ()
) -> pd.DataFrame:
    """A row per probe, corpus, model and measure, with the columns of exhibits.

    `measures` has names of numbers and their sources. Probes come in `order`, others
    after them. Nothing is published of them.
    """
    parts = dict.fromkeys(str(part) for part in results.cells["part"])
    rows = []
    for probe in dict.fromkeys([*(part for part in order if part in parts), *parts]):
        question = results.questions.get(probe, "")
        for (corpus, model), keys in _models(results.select(part=probe)).items():
            labels = {"probe": probe, "question": question, "corpus": corpus, "model": model}
            where = {"part": probe, "cell": keys}
            point = Point(results, {}, where)
            rows += [entry(labels, name, point.number(source)) for name, source in measures.items()]
    return frame(rows)


def _models(cells: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Corpus and name of a model → its cells, one per seed.

    The name has the encoder, the attention, the options of `_WHERE_CHOSEN`, and further options
    that are needed to distinguish the models of the probe, except those that are off.
    """
    rows = [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in cells.to_dict("records")
    ]
    naming = [name for name in _ALWAYS if name in cells]
    for name in _WHERE_CHOSEN:
        default = _OPTIONS[name].default
        if any(row.get(name, default) != default for row in rows):
            naming.append(name)
    known = [(row["corpus"], *(row[name] for name in naming)) for row in rows]
    for name in sorted(_OPTIONS, key=lambda name: not _is_choice(name)):
        more = [(*old, row.get(name)) for old, row in zip(known, rows, strict=True)]
        if len(set(more)) > len(set(known)):
            known = more
            naming.append(name)
    models: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        words = (_option_words(name, row[name]) for name in naming)
        label = ", ".join(word for word in words if word)
        models.setdefault((str(row["corpus"]), label), []).append(str(row["cell"]))
    return models


def _is_choice(name: str) -> bool:
    return bool(_OPTIONS[name].metadata.get("choices"))


def _option_words(name: str, value: Any) -> str:
    """An option and its value in words; empty if the option is off."""
    if value is True:
        return name
    if value is False or value is None or (value == "none" and name not in _ALWAYS):
        return ""
    says_enough = _is_choice(name) and value != "none"
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return text if says_enough else f"{name} {text}"

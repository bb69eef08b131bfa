"""Probes: short runs that test what might explain a difference from the published numbers.

A probe is a study that changes what its question names: the vectors, how long models train, how
much data there is. It may see a sample of the documents. No claim is judged by it: its numbers
stand beside the paper's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from verax.corpora.options import CorpusOptions
from verax.models.options import ModelOptions
from verax.options import names
from verax.papers.exhibits import entry, frame
from verax.papers.points import Grid, Point
from verax.papers.results import PaperResults
from verax.studies.grid.parse import OPTIONS
from verax.studies.naming import distinguishing
from verax.training.effects import ACTIVE_WHEN, in_words, inactive_options
from verax.training.options import TrainingOptions

PROBES = "probes"
"""The scale that runs probes, and the folder of their results, within that of the paper's."""
_ALWAYS = ("encoder", "attention")
_WHERE_CHOSEN = ("hierarchical", "projection", "grounding")
"""Options that name the models of a probe if one of these has not the default."""
_NONE = "none"
_DECIDING = {slot for slot, _ in ACTIVE_WHEN.values()} | {"sentence_encoder"}
_OF_MODEL = sorted(_DECIDING & set(names(ModelOptions)))
_OF_TRAINING = sorted(_DECIDING & set(names(TrainingOptions)))


def probes_table(
    results: PaperResults, grid: Grid, measures: Mapping[str, str], order: Iterable[str] = ()
) -> pd.DataFrame:
    """A row per probe, corpus, model and measure, with the columns of exhibits.

    `measures` has names of numbers and what `Point.number` takes. Probes come in `order`, others
    after them. Nothing is published of them.
    """
    parts = dict.fromkeys(str(part) for part in results.cells["part"])
    rows = []
    for probe in dict.fromkeys([*(part for part in order if part in parts), *parts]):
        question = results.questions.get(probe, "")
        for (corpus, model), keys in _models(results.select(part=probe)).items():
            labels = {"probe": probe, "question": question, "corpus": corpus, "model": model}
            point = Point(grid, results, {}, {"part": probe, "cell": keys})
            rows += [entry(labels, name, point.number(source)) for name, source in measures.items()]
    return frame(rows)


def _models(cells: pd.DataFrame) -> dict[tuple[str, str], list[str]]:
    """Corpus and name of a model → its cells, one per seed.

    The name has the encoder, the attention, the options of `_WHERE_CHOSEN`, and those that
    distinguish the models of the probe. It leaves out options without effect, `none` and false.
    """
    rows = [
        {str(name): None if pd.isna(value) else value for name, value in row.items()}
        for row in cells.to_dict("records")
    ]
    always = [name for name in _ALWAYS if name in cells]
    always += [n for n in _WHERE_CHOSEN if any(r.get(n, _default(n)) != _default(n) for r in rows)]
    known = [(row["corpus"], *(row[name] for name in always)) for row in rows]
    naming = [*always, *distinguishing(rows, [*OPTIONS, *names(CorpusOptions)], known)]
    models: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        unused = _idle(row)
        words = (_option_words(name, row[name]) for name in naming if name not in unused)
        label = ", ".join(word for word in words if word)
        models.setdefault((str(row["corpus"]), label), []).append(str(row["cell"]))
    return models


def _option_words(name: str, value: Any) -> str:
    """An option and its value in words; empty if the option is off."""
    if value is True:
        return name
    if value is False or (value == _NONE and name not in _ALWAYS):
        return ""
    says_enough = name in OPTIONS and OPTIONS[name].choices and value != _NONE
    return str(value) if says_enough else f"{name} {in_words(value)}"


def _idle(row: Mapping[str, Any]) -> list[str]:
    """Options of a row that have no effect."""
    model, training = (
        {name: row[name] for name in deciding if row.get(name) is not None}
        for deciding in (_OF_MODEL, _OF_TRAINING)
    )
    model.setdefault("sentence_encoder", model.get("encoder", _default("encoder")))
    return inactive_options(ModelOptions(**model), TrainingOptions(**training))


def _default(name: str) -> Any:
    return OPTIONS[name].default

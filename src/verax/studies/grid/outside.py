"""Models of a study that were not trained here: a name each, and where the model comes from.

    models: {mine: my_module.py:make, theirs: "hf:my-folder"}

Their cells examine, and train nothing; a seed is that of what exams draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.exams.registry import EXAMS
from verax.external.opening import HF, function_in, is_outside
from verax.studies.grid.cell import NAME, SOURCE, Cell
from verax.studies.grid.located import LocatedValue, Problems
from verax.studies.grid.sections import PlannedExam, marks_needed

OutsideModels = Mapping[str, LocatedValue]
"""Name → what names the model, with its place in the file."""


def read_outside(section: LocatedValue) -> OutsideModels:
    """The models of a mapping whose values all name models from outside; none of any other."""
    parts: dict[str, LocatedValue] = section.value if isinstance(section.value, dict) else {}
    return parts if all(_is_named(part.value) for part in parts.values()) else {}


def _is_named(value: Any) -> bool:
    """Whether a value names a model from outside; what is wrong with it is told later."""
    try:
        return isinstance(value, str) and is_outside(value)
    except VeraxError:
        return True


def outside_cells(
    models: OutsideModels,
    corpora: Sequence[Corpus | None],
    exams: Mapping[str, PlannedExam],
    seeds: Sequence[int],
    documents: Mapping[str, Any],
    problems: Problems,
) -> list[Cell]:
    """A cell for each corpus, model and seed.

    Args:
        models: those of the study.
        corpora: those of the study; None for one that could not be loaded.
        exams: those of the study; with `all` among them, a model takes those of its kind.
        seeds: of what exams draw.
        documents: `split` and `sample`.
        problems: takes in files that are not there.
    """
    described: dict[str, dict[str, Any]] = {}
    every = any(not exam.named for exam in exams.values())
    for name, model in models.items():
        with problems.at(model.location):
            files = {SOURCE: _anywhere(model.value), "content": content(model.value)}
            described[name] = {NAME: name, **files, "every_exam": every}
    given = {n: dict(exam.options) for n, exam in exams.items() if exam.named}
    return [
        Cell(
            corpus={key: value for key, value in corpus.config.items() if value is not None},
            fingerprint=corpus.fingerprint,
            model=model,
            training={},
            seed=seed,
            exams=given,
            exam_seed=seed,
            rationales=marks_needed(EXAMS if every else given, corpus),
            **documents,
        )
        for corpus in corpora
        if corpus is not None
        for model in described.values()
        for seed in seeds
    ]


def _anywhere(source: str) -> str:
    """The name with its whole path, for workers in other folders."""
    if source.startswith(HF):
        return f"{HF}{Path(source.removeprefix(HF)).absolute()}"
    file, _, name = source.rpartition(":")
    return f"{Path(file).absolute()}:{name}"


def content(source: str) -> str:
    """A hash of the files that a model comes from: a folder's, or the one that makes it."""
    if source.startswith(HF):
        folder, function = Path(source.removeprefix(HF)), ""
        files = sorted(path for path in folder.glob("*") if path.is_file())
        expected = f"{folder} is no folder of a model"
    else:
        made, function = function_in(source), source.rpartition(":")[2]
        files = [made[0]] if made is not None and made[0].is_file() else []
        expected = f"there is no file {source.rpartition(':')[0]}"
    if not files:
        raise VeraxError(
            f"{expected}: give hf:FOLDER, or FILE.py:FUNCTION", code="option.malformed"
        )
    digest = hashlib.sha256(function.encode())
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]

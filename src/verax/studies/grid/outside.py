"""Models of a study that were not trained here: a name each, and where the model comes from.

    models: {mine: my_module.py:make, theirs: "hf:my-folder"}

Their cells examine, and train nothing; a seed is that of what exams draw.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.exams.registry import EXAMS
from verax.external.opening import HF, function_in, is_outside
from verax.studies.grid.cell import NAME, SOURCE, Cell
from verax.studies.grid.exams import PlannedExam, marks_needed
from verax.studies.grid.located import LocatedValue, Location, Problems

_BLOCK = 1 << 20


@dataclass(frozen=True)
class OutsideModels:
    """Name → what names the model, and where that stands in the file."""

    sources: Mapping[str, str] = field(default_factory=dict)
    locations: Mapping[str, Location] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.sources)


def read_outside(section: LocatedValue) -> OutsideModels:
    """The models of a mapping whose values all name models from outside; none of any other."""
    parts = section.value
    if not isinstance(parts, dict) or not parts:
        return OutsideModels()
    plain = {str(name): part.value for name, part in parts.items()}
    if not all(isinstance(value, str) and is_named(value) for value in plain.values()):
        return OutsideModels()
    return OutsideModels(plain, {str(name): part.location for name, part in parts.items()})


def is_named(text: str) -> bool:
    """Whether a text names a model from outside; what is wrong with it is told later."""
    try:
        return is_outside(text)
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
    hashes: dict[str, str] = {}
    for name, source in models.sources.items():
        with problems.at(models.locations[name]):
            hashes[name] = content(source)
    every = any(not exam.named for exam in exams.values())
    given = {n: dict(exam.options) for n, exam in exams.items() if exam.named}
    return [
        Cell(
            corpus={key: value for key, value in corpus.config.items() if value is not None},
            fingerprint=corpus.fingerprint,
            model={
                NAME: name,
                SOURCE: _anywhere(source),
                "content": hashes[name],
                "every_exam": every,
            },
            training={},
            seed=seed,
            exams=given,
            exam_seed=seed,
            rationales=marks_needed(EXAMS if every else given, corpus),
            **documents,
        )
        for corpus in corpora
        if corpus is not None
        for name, source in models.sources.items()
        if name in hashes
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
        folder = Path(source.removeprefix(HF))
        files = sorted(path for path in folder.glob("*") if path.is_file())
        expected = f"{folder} is no folder of a model"
    else:
        found = function_in(source)
        files = [found[0]] if found is not None and found[0].is_file() else []
        expected = f"there is no file {source.rpartition(':')[0]}"
    if not files:
        raise VeraxError(f"{expected}: give hf:FOLDER, or FILE.py:FUNCTION")
    is_folder = source.startswith(HF)
    digest = hashlib.sha256(b"" if is_folder else source.rpartition(":")[2].encode())
    for path in files:
        digest.update(path.name.encode())
        with path.open("rb") as file:
            while block := file.read(_BLOCK):
                digest.update(block)
    return digest.hexdigest()[:16]

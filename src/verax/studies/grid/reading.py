"""`read_study`: from a file to checked cells, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError, nearest
from verax.studies.grid.adversaries import notes_on
from verax.studies.grid.corpora import load
from verax.studies.grid.expanding import cells_of, combine, read_files, refuse
from verax.studies.grid.labels import labels_of
from verax.studies.grid.lines import as_written, read_json, read_yaml
from verax.studies.grid.plan import ByHand, Plan, plan_of
from verax.studies.grid.problems import Problems
from verax.studies.grid.study import Study

_SUFFIXES = (".yaml", ".yml", ".json")
_SHIPPED = resources.files("verax.studies.grid") / "shipped"


def shipped_studies() -> list[str]:
    """The names of the studies that come with Verax."""
    there = (file.name for file in _SHIPPED.iterdir())
    return sorted(name.removesuffix(".yaml") for name in there if name.endswith(".yaml"))


def read_study(
    source: str | Path | Mapping[str, Any],
    *,
    corpora: str | Path | Iterable[str | Path | Mapping[str, Any]] | None = None,
    seeds: int | Iterable[int | str] | None = None,
    exams: str | Iterable[str | Mapping[str, Any]] | None = None,
    changed: Mapping[str, Any] | None = None,
    loaded: dict[str, Corpus] | None = None,
    in_memory: Sequence[Corpus] | None = None,
    progress: bool = False,
) -> Study:
    """A study, every option checked, every combination possible, every corpus loaded.

    `source` is a YAML or JSON file, the name of a study that comes with Verax, or a mapping as such
    a file holds it. `corpora`, `seeds` and `exams` take the place of the file's; a corpus or exam
    that the file names too keeps the options it has there. `changed` are options of models and
    training laid over everything, as text (`"1e-3"`) or as they are. Paths in a study are relative
    to the working folder, as everywhere. `loaded`, an empty dict at first, lets several studies
    read a corpus once. `in_memory` are the corpora themselves, one for each that the study names,
    in its order: none is loaded then.

    All that is wrong is told at once, as `VeraxErrors`, each with its line.

    >>> models = {"projection": ["softmax", "sparsemax"]}
    >>> study = read_study({"corpora": "planted", "models": models, "seeds": [0, 1]})
    >>> list(study.labels.values())
    ['softmax  seed 0', 'softmax  seed 1', 'sparsemax  seed 0', 'sparsemax  seed 1']
    """
    if isinstance(source, Mapping):
        problems, name = Problems(), "study"
        text, written = _dumped(source), as_written(source, "")
    else:
        file, text = _found(source)
        problems, name = Problems(file), _stem(file)
        read = read_json if file.endswith(".json") else read_yaml
        given = read(text, problems)
        if given is None:
            if not len(problems):
                problems.add("the file is empty: at least corpora is needed, such as corpora: sst")
            problems.refuse()
        assert given is not None
        written = given
    by_hand = ByHand(corpora, seeds, exams, changed)
    plan = plan_of(written, name, by_hand, problems)
    found: list[Corpus | None]
    if in_memory is None:
        found = load(plan.readings, problems, progress, loaded)
    else:
        found = list(in_memory)
    return _study(plan, text, found, problems, progress)


def _study(
    plan: Plan, text: str, loaded: list[Corpus | None], problems: Problems, progress: bool
) -> Study:
    combined = combine(plan, loaded, problems)
    contents, widths = read_files(combined, problems, progress)
    refuse(plan, combined, widths, problems)
    problems.refuse()
    cells, notes = cells_of(plan, combined, contents)
    if plan.adversaries is not None:
        notes += notes_on(plan.adversaries, plan.seeds)
    return Study(
        name=plan.name,
        question=plan.question,
        text=text,
        cells=tuple(cells),
        hardware=plan.hardware,
        weights=plan.weights,
        corpora={corpus.fingerprint: corpus for corpus in loaded if corpus is not None},
        notes=tuple(notes),
        labels=labels_of(cells),
    )


def _found(source: str | Path) -> tuple[str, str]:
    """The name and the text of a study file, or of one that comes with Verax."""
    path = Path(source).expanduser()
    name = str(source)
    if not path.exists() and name in shipped_studies():
        return name, (_SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")
    if not path.exists() and path.suffix.lower() not in _SUFFIXES and path.name == name:
        raise VeraxError(
            f"no study {name!r}: no file of that name, and of those that come with Verax "
            f"{nearest(name, shipped_studies())}"
        )
    try:
        return path.name, path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise VeraxError(f"cannot read study {source}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise VeraxError(f"study {source} is not UTF-8 text") from error


def _stem(file: str) -> str:
    for suffix in _SUFFIXES:
        if file.lower().endswith(suffix):
            return file[: -len(suffix)] or file
    return file


def _dumped(source: Mapping[str, Any]) -> str:
    """A mapping as the YAML file it could have been."""
    try:
        return yaml.safe_dump(as_written(source, "").plain(), sort_keys=False, allow_unicode=True)
    except (yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise VeraxError(
            f"this study holds what YAML cannot: {reason}; give text, numbers, true, false, none, "
            "lists and mappings"
        ) from error


__all__: Sequence[str] = ("read_study", "shipped_studies")

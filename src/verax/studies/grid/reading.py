"""From a file to checked cells, before anything runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError, nearest
from verax.options import check_path
from verax.studies.grid.expand import (
    cells_of,
    combine,
    load_corpora,
    outside_cells,
    read_vectors,
    refuse,
    refuse_unstorable,
)
from verax.studies.grid.parse import read_plan
from verax.studies.grid.source import Problems, plain, read_json, read_yaml
from verax.studies.grid.study import Study
from verax.studies.naming import cell_labels

__all__ = ("read_study", "shipped_studies")

_SUFFIXES = (".yaml", ".yml", ".json")
_SHIPPED = resources.files("verax.studies.grid") / "shipped"


def shipped_studies() -> list[str]:
    """The names of the studies that come with Verax."""
    files = (file.name for file in _SHIPPED.iterdir())
    return sorted(name.removesuffix(".yaml") for name in files if name.endswith(".yaml"))


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

    Args:
        source: a YAML or JSON file, the name of a study that comes with Verax, or a mapping as
            such a file holds it. Paths in it are relative to the working folder.
        corpora, seeds, exams: take the place of the file's; a corpus or exam that the file names
            too keeps the options it has there.
        changed: options of models and training over all others, as text (`"1e-3"`) or values.
        loaded: an empty dict at first; lets several studies read a corpus once.
        in_memory: the corpora themselves, one for each that the study names, in its order; none
            is loaded then.
        progress: whether to show bars while corpora are read.

    Returns:
        The study with its cells.

    Raises:
        VeraxErrors: all that is wrong at once, each with its line.

    >>> models = {"projection": ["softmax", "sparsemax"]}
    >>> study = read_study({"corpora": "planted", "models": models, "seeds": [0, 1]})
    >>> list(study.labels.values())
    ['softmax  seed 0', 'softmax  seed 1', 'sparsemax  seed 0', 'sparsemax  seed 1']
    """
    if not isinstance(source, Mapping):
        check_path("the study", source)
    if isinstance(source, Mapping):
        problems, name = Problems(), "study"
        content = plain(source)
        text = _as_text(content)
    else:
        file, text = _read(source)
        is_file = Path(file).suffix.lower() in _SUFFIXES
        problems, name = Problems(file), Path(file).stem if is_file else file
        content = (read_json if file.endswith(".json") else read_yaml)(text, problems)
        if content is None:
            if not len(problems):
                problems.add(
                    "the file is empty: at least corpora is needed, such as corpora: sst",
                    code="file.empty",
                )
            problems.refuse()
    plan = read_plan(
        content, name, problems, corpora=corpora, seeds=seeds, exams=exams, changed=changed
    )
    all_corpora: Sequence[Corpus | None] | None = in_memory
    if all_corpora is None:
        all_corpora = load_corpora(plan.corpora, problems, progress, loaded)
    combined = combine(plan, all_corpora, problems)
    hashes, widths = read_vectors(combined, problems, progress)
    refuse(plan, combined, widths, problems)
    outside = outside_cells(plan, all_corpora, problems)
    problems.refuse()
    cells, notes = cells_of(plan, combined, hashes)
    cells += outside
    refuse_unstorable(cells, problems)
    problems.refuse()
    return Study(
        name=plan.name,
        question=plan.options.question,
        text=text,
        cells=tuple(cells),
        hardware=plan.hardware,
        weights=plan.options.weights,
        corpora={corpus.fingerprint: corpus for corpus in all_corpora if corpus is not None},
        notes=tuple(notes),
        labels=cell_labels(cells),
    )


def _read(source: str | Path) -> tuple[str, str]:
    """The name and the text of a study file, or of one that comes with Verax."""
    path = Path(source).expanduser()
    name = str(source)
    if not path.exists() and name in shipped_studies():
        return name, (_SHIPPED / f"{name}.yaml").read_text(encoding="utf-8")
    if not path.exists() and path.suffix.lower() not in _SUFFIXES and path.name == name:
        raise VeraxError(
            f"no study {name!r}: no file of that name, and of those that come with Verax "
            f"{nearest(name, shipped_studies())}",
            code="study.unknown",
        )
    try:
        return path.name, path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise VeraxError(
            f"cannot read study {source}: {error.strerror}", code="file.unreadable"
        ) from error
    except UnicodeDecodeError as error:
        raise VeraxError(f"study {source} is not UTF-8 text", code="file.wrong-encoding") from error


def _as_text(source: Any) -> str:
    """A mapping as the YAML file it could have been."""
    try:
        return yaml.safe_dump(source, sort_keys=False, allow_unicode=True)
    except (yaml.YAMLError, RecursionError) as error:
        reason = " ".join(str(error).split())
        raise VeraxError(
            f"this study holds what YAML cannot: {reason}; give text, numbers, true, false, none, "
            "lists and mappings",
            code="option.wrong-type",
        ) from error

"""`run_paper`: the studies of a paper, side by side, each into a folder of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError, nearest
from verax.papers.belonging import refuse_others
from verax.papers.paper import Paper
from verax.studies.grid import Study, read_study
from verax.studies.running.run import run_several, with_hardware
from verax.studies.running.watching import Ran, Watcher


def chosen_parts(paper: Paper, scale: str, parts: Iterable[str] | None) -> list[str]:
    """Names of the parts of a scale: all, or those named."""
    known = list(paper.studies(scale))
    if parts is None:
        return known
    wanted = list(parts)
    if not wanted:
        raise VeraxError(f"no part of {paper.name} is named: choose from {', '.join(known)}")
    for name in wanted:
        if name not in known:
            raise VeraxError(
                f"{paper.name} at scale {scale} has no part {name!r}: {nearest(name, known)}"
            )
    return [name for name in known if name in wanted]


def read_parts(
    chosen: Paper,
    scale: str,
    parts: Iterable[str] | None = None,
    *,
    vectors: str | None = None,
    seeds: Iterable[int] | None = None,
    hardware: Mapping[str, Any] | None = None,
    loaded: dict[str, Corpus] | None = None,
    progress: bool = False,
) -> dict[str, Study]:
    """Parts as checked studies; `vectors` is the file of word vectors for all their models.

    A part that says itself what vectors it has keeps them.
    """
    sources = chosen.studies(scale)
    loaded = {} if loaded is None else loaded
    found = {}
    for part in chosen_parts(chosen, scale, parts):
        changed = {} if vectors is None or names_vectors(sources[part]) else {"vectors": vectors}
        study = read_study(
            sources[part], seeds=seeds, changed=changed, loaded=loaded, progress=progress
        )
        found[part] = with_hardware(study, hardware or {})
    return found


def names_vectors(study: Mapping[str, Any]) -> bool:
    """Whether a part says itself what word vectors it has."""
    return any(_names(study.get(section), "vectors") for section in _OPTIONS_IN)


_OPTIONS_IN = ("training", "models", "corpora")
"""Sections of a study that may set an option of training."""


def _names(section: Any, option: str) -> bool:
    """Whether a section of a study sets an option, at whatever depth."""
    if isinstance(section, Mapping):
        return option in section or any(_names(own, option) for own in section.values())
    return isinstance(section, list) and any(_names(own, option) for own in section)


def run_paper(
    paper: Paper,
    scale: str,
    folder: str | Path,
    *,
    parts: Iterable[str] | None = None,
    vectors: str | None = None,
    seeds: Iterable[int] | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    progress: bool = False,
    **hardware: Any,
) -> dict[str, Ran]:
    """Run what is not done yet of a paper's parts, into folder/PART; part → what became of it.

    Parts share the workers. No cell is begun after `budget` seconds. A folder with studies of
    another paper, or of none, is refused.
    """
    refuse_others(paper, folder)
    found = read_parts(
        paper, scale, parts, vectors=vectors, seeds=seeds, hardware=hardware, progress=progress
    )
    studies = {Path(folder) / part: study for part, study in found.items()}
    ran = run_parts(studies, budget, retry_failed, watcher, progress)
    return dict(zip(found, ran.values(), strict=True))


def run_parts(
    studies: Mapping[Path, Study],
    budget: float | None = None,
    retry_failed: bool = False,
    watcher: Watcher | None = None,
    progress: bool = False,
) -> dict[Path, Ran]:
    """Run what is left of the parts of one or several papers, folder → study, on shared workers."""
    ran = run_several(
        [(study, folder) for folder, study in studies.items()],
        budget=budget,
        retry_failed=retry_failed,
        watcher=watcher,
        progress=progress,
    )
    return dict(zip(studies, ran, strict=True))

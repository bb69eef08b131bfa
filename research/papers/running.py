"""`run_paper`: runs the studies of a paper side by side, each into its own folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from research.papers.paper import Paper, unknown
from research.papers.registry import refuse_others
from verax import Corpus, StudyResults, VeraxError, read_study, run_studies
from verax.studies import Study


def chosen_parts(paper: Paper, scale: str, parts: Iterable[str] | None) -> list[str]:
    """Names of all parts of a scale, or of those in `parts`."""
    known = list(paper.studies(scale))
    if parts is None:
        return known
    names = list(parts)
    if not names:
        raise VeraxError(
            f"no part of {paper.name} is named: choose from {', '.join(known)}",
            code="option.missing",
        )
    for name in names:
        if name not in known:
            raise unknown(f"part of {paper.name} at scale {scale}", name, known)
    return [name for name in known if name in names]


def read_parts(
    chosen: Paper,
    scale: str,
    parts: Iterable[str] | None = None,
    *,
    vectors: str | None = None,
    seeds: Iterable[int] | None = None,
    loaded: dict[str, Corpus] | None = None,
    progress: bool = False,
) -> dict[str, Study]:
    """Part → its checked study.

    `vectors` is the file of word vectors for all models, but for parts that name their vectors.
    """
    sources = chosen.studies(scale)
    loaded = {} if loaded is None else loaded
    studies = {}
    for part in chosen_parts(chosen, scale, parts):
        changed = {} if vectors is None or names_vectors(sources[part]) else {"vectors": vectors}
        studies[part] = read_study(
            sources[part], seeds=seeds, changed=changed, loaded=loaded, progress=progress
        )
    return studies


def names_vectors(study: Mapping[str, Any]) -> bool:
    """Whether a part names its word vectors."""
    return any(_names(study.get(section), "vectors") for section in _OPTIONS_IN)


_OPTIONS_IN = ("training", "models", "corpora")
"""Sections of a study that may set an option of training."""


def _names(section: Any, option: str) -> bool:
    """Whether a section of a study sets an option at any depth."""
    if isinstance(section, Mapping):
        return option in section or any(_names(value, option) for value in section.values())
    return isinstance(section, list) and any(_names(value, option) for value in section)


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
    progress: bool | None = None,
    **hardware: Any,
) -> dict[str, StudyResults]:
    """Run the cells of a paper's parts that are not done yet.

    Parts share the workers, and each is a study in folder/PART.

    Args:
        paper: the paper, as `paper(name)` gives it.
        scale: smoke, small, full or probes.
        folder: where the studies are, or will be; it may hold no study of another paper.
        parts: names of the parts to run; all by default.
        vectors: a file of word vectors for all models, but for parts that name their vectors.
        seeds: seeds to run instead of the paper's.
        budget: seconds after which no further cell begins.
        retry_failed: whether to run cells again that failed before.
        progress: whether to show progress; None shows it on a terminal and in a notebook.
        hardware: fields of `Hardware`, over the studies' own.

    Returns:
        Part → its results.
    """
    refuse_others(paper, folder)
    chosen = read_parts(paper, scale, parts, vectors=vectors, seeds=seeds, progress=bool(progress))
    results = run_studies(
        [(study, Path(folder) / part) for part, study in chosen.items()],
        budget=budget,
        retry_failed=retry_failed,
        progress=progress,
        **hardware,
    )
    return dict(zip(chosen, results, strict=True))

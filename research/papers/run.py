"""Run the studies of papers: all parts side by side, each into a folder of its own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from research.papers.paper import OWN_DATA, SCALES, Paper, refuse_others, unknown
from verax import Corpus, StudyResults, VeraxError, read_study, run_studies
from verax.corpora import known_corpora


def run_paper(
    paper: Paper, scale: str, folder: str | Path, **options: Any
) -> dict[str, StudyResults]:
    """Run the cells of a paper's parts that are not done yet.

    Args:
        paper: the paper, as `paper(name)` gives it.
        scale: smoke, small, full or probes.
        folder: where the studies are, or will be, in folder/PART; it may hold no study of another
            paper.
        options: those of `run_papers`.

    Returns:
        Part → its results.
    """
    return run_papers({paper: folder}, scale, **options)[paper]


def run_papers(
    folders: Mapping[Paper, str | Path],
    scale: str,
    *,
    parts: Iterable[str] | None = None,
    vectors: str | None = None,
    seeds: Iterable[int] | None = None,
    budget: float | None = None,
    retry_failed: bool = False,
    progress: bool | None = None,
    **hardware: Any,
) -> dict[Paper, dict[str, StudyResults]]:
    """Run the cells of several papers that are not done yet. All parts share the workers.

    Args:
        folders: paper → the folder of its studies.
        scale: smoke, small, full or probes.
        parts: names of the parts to run, as `chosen_parts` takes them.
        vectors: a file of word vectors for all models, except in parts that set `vectors`.
        seeds: seeds to run instead of the paper's.
        budget: seconds after which no further cell begins.
        retry_failed: whether to run cells again that failed before.
        progress: whether to show progress; None shows it on a terminal and in a notebook.
        hardware: fields of `Hardware`, over the studies' own.

    Returns:
        Paper → part → its results, of the papers that have a part to run.

    Raises:
        VeraxError: a folder holds a study of another paper, or a part cannot be run; nothing is
            trained then.
    """
    for paper, folder in folders.items():
        refuse_others(paper, folder)
    loaded: dict[str, Corpus] = {}
    studies = {}
    for paper, chosen in chosen_parts(folders, scale, parts).items():
        for part, source in chosen.items():
            changed = {} if vectors is None or sets_vectors(source) else {"vectors": vectors}
            studies[paper, part] = read_study(
                source, seeds=seeds, changed=changed, loaded=loaded, progress=bool(progress)
            )
    ran = run_studies(
        [(study, Path(folders[paper]) / part) for (paper, part), study in studies.items()],
        budget=budget,
        retry_failed=retry_failed,
        progress=progress,
        **hardware,
    )
    results: dict[Paper, dict[str, StudyResults]] = {}
    for (paper, part), one in zip(studies, ran, strict=True):
        results.setdefault(paper, {})[part] = one
    return results


def chosen_parts(
    papers: Iterable[Paper], scale: str, parts: Iterable[str] | None = None
) -> dict[Paper, dict[str, dict[str, Any]]]:
    """Return the studies to run: paper → part → study, in the papers' order.

    Args:
        papers: the papers; those without a chosen part are left out.
        scale: smoke, small, full or probes.
        parts: names of parts, each of at least one of the papers; by default all, except those on
            private corpora that are not in `$VERAX_DATA`.
    """
    known = {paper: paper.studies(scale) for paper in papers}
    if scale == SCALES[-1]:
        at_hand = set(known_corpora()) if parts is None else set()
        for paper, studies in known.items():
            for part, study in paper.studies(OWN_DATA).items():
                if parts is not None or at_hand.issuperset(study["corpora"]):
                    studies[part] = study
    if parts is None:
        return known
    named = ", ".join(paper.name for paper in known)
    wanted = list(parts)
    every = dict.fromkeys(part for studies in known.values() for part in studies)
    if not wanted:
        raise VeraxError(
            f"no part of {named} is named: choose from {', '.join(every)}", code="option.missing"
        )
    for name in wanted:
        if name not in every:
            raise unknown(f"part of {named} at scale {scale}", name, every)
    chosen = {
        paper: {part: study for part, study in studies.items() if part in wanted}
        for paper, studies in known.items()
    }
    return {paper: studies for paper, studies in chosen.items() if studies}


def sets_vectors(study: Mapping[str, Any]) -> bool:
    """Return whether a study sets its word vectors itself."""
    return any(
        _sets(study.get(section), "vectors") for section in ("training", "models", "corpora")
    )


def _sets(section: Any, option: str) -> bool:
    """Return whether a section of a study sets an option at any depth."""
    if isinstance(section, Mapping):
        return option in section or any(_sets(value, option) for value in section.values())
    return isinstance(section, list) and any(_sets(value, option) for value in section)

"""What a folder holds, whichever command wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from verax.errors import VeraxError
from verax.exams.verdict import MANIFEST as VERDICT
from verax.exams.verdict import Verdict, load_verdict
from verax.models.saving import is_model_folder
from verax.papers import NAMES, Checked, check_paper, paper
from verax.papers.results import is_study
from verax.studies import (
    Adversaries,
    Comparison,
    StudyResults,
    Sweep,
    load_adversaries,
    load_comparison,
    load_sweep,
    open_study,
)
from verax.studies.adversaries.adversaries import MANIFEST as ADVERSARIES
from verax.studies.comparison.comparison import MANIFEST as COMPARISON
from verax.studies.sweep import MANIFEST as SWEEP

Found = Verdict | Mapping[str, Verdict] | StudyResults | Checked | Sweep | Adversaries | Comparison
"""A verdict; several by the models' names; or what asks about several models by itself."""

_LOADING: dict[str, Callable[[Path], Any]] = {
    VERDICT: load_verdict,
    SWEEP: load_sweep,
    ADVERSARIES: load_adversaries,
    COMPARISON: load_comparison,
}


def open_found(place: str | Path) -> Found:
    """What was saved in a folder: a verdict, several of them, a study, a sweep, … or a paper.

    A URL is a study's.
    """
    if "://" in str(place):
        return open_study(str(place))
    folder = Path(place)
    if not folder.is_dir():
        raise VeraxError(f"no folder {place}: give one that a verax command wrote")
    if is_model_folder(folder):
        raise VeraxError(f"{place} is a model: examine it, and give the verdict")
    for name, load in _LOADING.items():
        if (folder / name).is_file():
            found: Found = load(folder)
            return found
    if is_study(folder):
        return open_study(folder)
    inside = sorted(path for path in folder.iterdir() if path.is_dir())
    studies = [path for path in inside if is_study(path)]
    if studies:
        return _paper(folder, studies)
    verdicts = [p for p in inside if (p / VERDICT).is_file() and not is_model_folder(p)]
    if verdicts:
        return {path.name.removesuffix("-verdict"): load_verdict(path) for path in verdicts}
    raise VeraxError(
        f"{place} holds nothing to show: expected what verax examine, demo, run, sweep, adversary "
        "or compare wrote, or a paper's results"
    )


def _paper(folder: Path, studies: list[Path]) -> Checked:
    """The paper whose studies these are, by the folder's name or else by theirs."""
    name = folder.resolve().name
    if name not in NAMES:
        name = open_study(studies[0]).name.rpartition(".")[0]
    if name not in NAMES:
        raise VeraxError(f"{folder} holds several studies: give the folder of one of them")
    return check_paper(paper(name), folder)

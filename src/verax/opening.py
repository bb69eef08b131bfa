"""`verax.open`: what a folder holds, whichever command wrote it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from verax.errors import VeraxError
from verax.exams.verdict import Verdict
from verax.models.saving import is_model_folder
from verax.options import check_path
from verax.results import open_result, saved_kind
from verax.studies import Adversaries, Comparison, GridResults, StudyResults, Sweep
from verax.studies.store.archive import FIRST
from verax.studies.store.results import open_results
from verax.studies.store.store import STORE

Opened = Verdict | Mapping[str, Verdict] | StudyResults | Sweep | Adversaries | Comparison
"""What has a page: a verdict; several by the models' names; or results of several models."""


def open_shown(path: str | Path) -> Opened:
    """Open what was saved in a folder, to show it; an error if it is a grid, which has no page."""
    opened = open_path(path)
    if isinstance(opened, GridResults):
        raise VeraxError(
            f"{path} holds a grid of a function, which has no page or charts: read its tables with "
            "verax.open",
            code="result.wrong-kind",
        )
    return opened


def open_path(path: str | Path) -> Opened | GridResults:
    """What was saved in a folder, of whichever kind it is.

    A verdict, a comparison, a sweep, adversaries; a study or a grid, packed or not; of a folder of
    verdicts, such as `verax demo` writes, these by name.

    Args:
        path: a folder that a verax command or `save` wrote, or the URL of a study or a grid.

    >>> import tempfile, verax
    >>> corpus = verax.load_corpus("planted", documents=120)
    >>> model = verax.train(corpus, encoder="none", epochs=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     verax.examine(model, corpus, ["replacement"]).save(f"{folder}/verdict")
    ...     verax.open(f"{folder}/verdict").manifest["exams"]
    ['replacement']
    """
    folder = Path(check_path("what to open", path))
    if "://" in str(path):
        return open_results(str(path))
    if not folder.is_dir():
        raise VeraxError(
            f"no folder {path}: give one that a verax command wrote", code="file.missing"
        )
    if is_model_folder(folder):
        raise VeraxError(
            f"{path} is a model, which verax.load opens: to see results, examine it, and give the "
            "verdict",
            code="result.wrong-kind",
        )
    if saved_kind(folder) is not None:
        return cast(Opened, open_result(folder))
    if _is_study(folder):
        return open_results(folder)
    inside = sorted(place for place in folder.iterdir() if place.is_dir())
    if any(_is_study(place) for place in inside):
        raise VeraxError(
            f"{folder} holds several studies: give the folder of one of them",
            code="option.ambiguous",
        )
    verdicts = [place for place in inside if saved_kind(place) == Verdict.kind]
    if verdicts:
        return {place.name.removesuffix("-verdict"): Verdict.load(place) for place in verdicts}
    raise VeraxError(
        f"{path} holds nothing to show: expected what verax examine, demo, run, sweep, adversary "
        "or compare wrote",
        code="result.missing",
    )


def _is_study(folder: Path) -> bool:
    return (folder / FIRST).exists() or (folder / STORE).exists()

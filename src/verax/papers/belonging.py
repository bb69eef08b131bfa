"""Whose studies a folder holds: a name begins with its paper's, as in `meister-2021.sst`."""

from __future__ import annotations

from pathlib import Path

from verax.errors import VeraxError
from verax.papers.paper import Paper
from verax.papers.registry import NAMES
from verax.papers.results import paper_of, studies_in
from verax.studies.store import open_study
from verax.studies.store.packed import FIRST
from verax.studies.store.store import Store


def refuse_others(paper: Paper, folder: str | Path) -> None:
    """An error where a folder holds studies that are not of this paper, finished or not."""
    folder = Path(folder)
    names = {path: _name(path) for path in studies_in(folder)}
    foreign = {path: name for path, name in names.items() if paper_of(name) != paper.name}
    if not foreign:
        return
    others = sorted({paper_of(name) for name in foreign.values()} & set(NAMES))
    if others and len(foreign) == len(names):
        raise VeraxError(
            f"{folder} holds results of {', '.join(others)}, not of {paper.name}: give a folder of "
            f"{paper.name}'s, or name the paper that these are of"
        )
    if others:
        raise VeraxError(
            f"{folder} holds results of {', '.join(others)} beside those of {paper.name}: give "
            "each paper a folder of its own"
        )
    path, name = next(iter(foreign.items()))
    raise VeraxError(
        f"{path} is a study named {name!r}, which is no paper's: expected {paper.name}'s, as verax "
        "papers run makes them; verax report shows a study of your own"
    )


def _name(study: Path) -> str:
    packed = (study / FIRST).exists()
    return open_study(study).name if packed else Store.open(study).name

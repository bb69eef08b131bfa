"""The papers that come with Verax, and the check of whose studies a folder holds.

A study's name begins with its paper's, as in `meister-2021.sst`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from verax.errors import VeraxError, nearest
from verax.papers.folders import paper_of, studies_in
from verax.papers.paper import Paper, read_paper
from verax.studies.store import open_study
from verax.studies.store.archive import FIRST
from verax.studies.store.store import Store

NAMES = (
    "serrano-smith-2019",
    "tutek-snajder-2020",
    "meister-2021",
    "jain-wallace-2019",
    "wiegreffe-pinter-2019",
)
"""The names of the papers."""


def paper(name: str) -> Paper:
    """A paper that comes with Verax, by name.

    Args:
        name: one of `NAMES`, such as "meister-2021".

    Returns:
        The paper: its studies, claims, tables and figures.

    Raises:
        VeraxError: No paper has that name.

    >>> paper("meister-2021").claims[0].id
    1
    """
    if name not in NAMES:
        raise VeraxError(
            f"unknown paper {name!r}: {nearest(name, NAMES)}", code="option.unknown-value"
        )
    return _read(name)


@cache
def _read(name: str) -> Paper:
    return read_paper(f"verax.papers.{name.replace('-', '_')}")


def papers() -> list[Paper]:
    """All papers, in the order of `NAMES`: first the three that Verax is about."""
    return [paper(name) for name in NAMES]


def refuse_others(paper: Paper, folder: str | Path) -> None:
    """Raise an error if a folder holds a study, finished or not, that is not of this paper."""
    folder = Path(folder)
    names = {path: _name(path) for path in studies_in(folder)}
    foreign = {path: name for path, name in names.items() if paper_of(name) != paper.name}
    if not foreign:
        return
    others = sorted({paper_of(name) for name in foreign.values()} & set(NAMES))
    if others and len(foreign) == len(names):
        raise VeraxError(
            f"{folder} holds results of {', '.join(others)}, not of {paper.name}: give a folder of "
            f"{paper.name}'s, or name the paper that these are of",
            code="paper.wrong-results",
        )
    if others:
        raise VeraxError(
            f"{folder} holds results of {', '.join(others)} beside those of {paper.name}: give "
            "each paper a folder of its own",
            code="paper.wrong-results",
        )
    path, name = next(iter(foreign.items()))
    raise VeraxError(
        f"{path} is a study named {name!r}, which is no paper's: expected {paper.name}'s, as verax "
        "papers run makes them; verax report shows a study of your own",
        code="paper.wrong-results",
    )


def _name(study: Path) -> str:
    packed = (study / FIRST).exists()
    return open_study(study).name if packed else Store.open(study).name

"""The papers that come with Verax, and the check of whose studies a folder holds.

A study's name begins with its paper's, as in `meister-2021.sst`.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from research.papers.paper import Paper, unknown
from research.papers.results import paper_of, studies_in
from verax import VeraxError, open_study

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
        raise unknown("paper", name, NAMES)
    found = import_module(f"research.papers.{name.replace('-', '_')}").PAPER
    assert isinstance(found, Paper)
    return found


def papers() -> list[Paper]:
    """All papers, in the order of `NAMES`: first the three that Verax is about."""
    return [paper(name) for name in NAMES]


def refuse_others(paper: Paper, folder: str | Path) -> None:
    """Raise an error if a folder holds a study, finished or not, that is not of this paper."""
    folder = Path(folder)
    names = {path: open_study(path).name for path in studies_in(folder)}
    foreign = {path: name for path, name in names.items() if paper_of(name) != paper.name}
    if not foreign:
        return
    others = sorted({paper_of(name) for name in foreign.values()} & set(NAMES))
    if others and len(foreign) == len(names):
        raise VeraxError(
            f"{folder} holds results of {', '.join(others)}, not of {paper.name}: give a folder of "
            f"{paper.name}'s, or name the paper that these are of",
            code="result.wrong-kind",
        )
    if others:
        raise VeraxError(
            f"{folder} holds results of {', '.join(others)} beside those of {paper.name}: give "
            "each paper a folder of its own",
            code="result.wrong-kind",
        )
    path, name = next(iter(foreign.items()))
    raise VeraxError(
        f"{path} is a study named {name!r}, which is no paper's: expected {paper.name}'s, as "
        "python -m research papers run makes them",
        code="result.wrong-kind",
    )

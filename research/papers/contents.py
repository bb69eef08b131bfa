"""The tables and figures of a paper, and where each is made, or why it cannot be.

contents.yaml of a paper has them by the paper's names: `made` names our exhibits, `published` the
files of published numbers that belong to them, and `not_made` gives the reason why there are none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

from research.papers.paper import Paper
from research.papers.points import refuse_unknown
from verax import VeraxError

FILE = "contents.yaml"
HEAD = """# Tables and figures of the papers

Every table and figure of each paper: where it is made again, or why not. `python -m research
papers contents --markdown` writes this page. `python -m research papers table NAME EXHIBIT` prints
one of them;
`tables/EXHIBIT.csv` beside a paper's page has it with all columns, if it has at most 1,000 rows.
"""
_KEYS = {"made", "published", "not_made", "note"}


@dataclass(frozen=True)
class Content:
    """A table or figure of a paper.

    name       as the paper calls it
    made       names of the exhibits that it is made as; none if it is not
    published  names of the files of its published numbers
    note       what differs, or why it is not made
    """

    name: str
    made: tuple[str, ...]
    published: tuple[str, ...]
    note: str


def contents(paper: Paper) -> list[Content]:
    """Every table and figure of a paper, in its order."""
    text = (resources.files(paper.package) / FILE).read_text(encoding="utf-8")
    found = []
    for name, data in yaml.safe_load(text).items():
        refuse_unknown(f"{name} of {paper.package}", data, _KEYS)
        made, reason = _names(data.get("made")), data.get("not_made", "")
        if bool(made) == bool(reason):
            raise VeraxError(
                f"{name} of {paper.package}: expected either made or not_made",
                code="option.conflict",
            )
        note = reason or data.get("note", "")
        found.append(Content(name, made, _names(data.get("published")), note))
    return found


def _names(value: Any) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list) else (value,)


def contents_page(papers: Iterable[Paper]) -> str:
    """A Markdown page of the contents of papers."""
    lines = [HEAD]
    for paper in papers:
        lines += [f"## {paper.title}\n", "| in the paper | made as | |", "|---|---|---|"]
        for content in contents(paper):
            made = ", ".join(f"`{name}`" for name in content.made) or "—"
            lines.append(f"| {content.name} | {made} | {content.note} |")
        lines.append("")
    return "\n".join(lines)

"""The tables and figures of a paper, and where each is made, or why it cannot be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from research.papers.paper import Paper

HEAD = """# Tables and figures of the papers

Every table and figure of each paper: where it is made again, or why not. `python -m research
papers contents --markdown` writes this page. `python -m research papers table NAME EXHIBIT` prints
one of them;
`tables/EXHIBIT.csv` beside a paper's page has it with all columns, if it has at most 1,000 rows.
"""


@dataclass(frozen=True)
class Content:
    """A table or figure of a paper.

    name       as the paper calls it
    made       names of the exhibits that it is made as; none if it is not
    published  names of the files of its published numbers
    note       what differs, or why it is not made
    """

    name: str
    made: Sequence[str] = ()
    published: Sequence[str] = ()
    note: str = ""


def contents_page(papers: Iterable[Paper]) -> str:
    """A Markdown page of the contents of papers."""
    lines = [HEAD]
    for paper in papers:
        lines += [f"## {paper.title}\n", "| in the paper | made as | |", "|---|---|---|"]
        for content in paper.contents:
            made = ", ".join(f"`{name}`" for name in content.made) or "—"
            lines.append(f"| {content.name} | {made} | {content.note} |")
        lines.append("")
    return "\n".join(lines)

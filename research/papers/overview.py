"""`results/README.md`: every paper in a sentence, and one picture of their verdicts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from research.papers.checking import PAGE, Checked
from research.papers.paper import Paper
from research.papers.picture import can_draw
from research.papers.screen import conclusion, counts
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, MARKS, REPLICATES
from verax.files import write_files
from verax.report import COLORS, INK, Chart

PICTURE = "replicated.svg"
_COLOURS = {
    REPLICATES: COLORS[0],
    IN_PART: COLORS[5],
    DOES_NOT: COLORS[1],
    CANNOT: "#d8dce1",
}
_ROW = 30


def overview(every: Sequence[Checked]) -> str:
    """The page."""
    parts = [
        "# Five papers, run again",
        f"![Claims of each paper, by verdict]({PICTURE})",
        *(
            f"- **[{_name(checked)}]({checked.paper.name}/{PAGE})** (*{checked.paper.title}*): "
            f"{conclusion(checked)} {counts(checked)}."
            for checked in every
        ),
        "Verdicts are on each paper's own corpora, by the rules in "
        "[research/papers.md](../research/papers.md#how-a-verdict-is-reached). Made by `python -m "
        "research papers check all` from the results in these folders.",
    ]
    return "\n\n".join(parts) + "\n"


def write_overview(every: Sequence[Checked], folder: str | Path) -> Path:
    """Write the page and, where charts can be drawn, its picture; returns the page's path."""
    folder = Path(folder)
    drawn = {PICTURE: picture(every).svg("light") + "\n"} if can_draw() else {}
    write_files(folder, {PAGE: overview(every), **drawn})
    return folder / PAGE


def picture(every: Sequence[Checked]) -> Chart:
    """A bar for each paper: how many of its claims have which verdict."""
    import altair as alt

    rows = [
        {"paper": _name(checked), "verdict": verdict, "claims": number, "place": place}
        for checked in every
        for place, (verdict, number) in enumerate(checked.counts.items())
        if number
    ]
    names = [_name(checked) for checked in every]
    y = alt.Y("paper:N", sort=names, title=None, axis=alt.Axis(grid=False))
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=list(MARKS), range=[_COLOURS[verdict] for verdict in MARKS]),
        legend=alt.Legend(title=None, orient="top", columns=2),
    )
    x = alt.X("claims:Q", title="claims", axis=alt.Axis(tickMinStep=1, grid=False))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=y, order="place:Q")
    bars: Any = base.mark_bar(stroke=INK, strokeWidth=0.5).encode(x=x, color=colour)
    drawn = bars.properties(width=420, height=_ROW * len(names))
    reading = "; ".join(f"{_name(checked)}: {counts(checked)}" for checked in every)
    return Chart.from_altair(drawn, "replicated", "Claims of each paper, by verdict", reading)


def _name(checked: Checked) -> str:
    """Last names of the authors, and the year."""
    last = [name.split()[-1] for name in re.split(", | and ", checked.paper.authors)]
    names = " & ".join(last) if len(last) < 3 else f"{last[0]} et al."
    return f"{names} {checked.paper.name.rpartition('-')[2]}"


CONTENTS = """# Tables and figures of the papers

Every table and figure of each paper: where it is made again, or why not. `python -m research
papers contents --markdown` writes this page. `python -m research papers table NAME EXHIBIT` prints
one of them;
`tables/EXHIBIT.csv` beside a paper's page has it with all columns, if it has at most 1,000 rows.
"""


def contents_page(papers: Iterable[Paper]) -> str:
    """A Markdown page of the contents of papers."""
    lines = [CONTENTS]
    for paper in papers:
        lines += [f"## {paper.title}\n", "| in the paper | made as | |", "|---|---|---|"]
        for content in paper.contents:
            made = ", ".join(f"`{name}`" for name in content.made) or "—"
            lines.append(f"| {content.name} | {made} | {content.note} |")
        lines.append("")
    return "\n".join(lines)

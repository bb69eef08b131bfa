"""A paper's page in Markdown, the page of all papers, and that of their tables and figures."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined, Template

from research.markdown import markdown_table
from research.papers.checking import (
    MOST_KEPT,
    PAGE,
    PICTURE,
    Checked,
    Judged,
    conclusion,
    counts,
    pairs,
)
from research.papers.exhibits import MEASURED, SETTING, has_published
from research.papers.paper import Paper
from research.papers.picture import REPLICATED, can_draw, points, replicated, short_name, title
from research.papers.probing import PROBES
from research.papers.results import TABLES, PaperResults
from research.papers.verdicts import OTHER_RULES, Part
from research.papers.words import listed, span
from verax.files import write_files

UNCOMMITTED = "-dirty"
"""The end of the commit of a cell that ran with uncommitted changes."""
MOST_ROWS = 160
"""Longer exhibits are only linked."""
_COMMIT = 12
"""Digits of a commit that are shown."""
LINES = ("no.", "claim", "paper", "here", "cause of a difference")
EVIDENCE = ("part", "verdict", "as claimed", "asked for", "clear", "numbers", "not as claimed")
_FEW = 6
"""Comparisons against a part that are named."""


def page(checked: Checked) -> str:
    """The whole page; it depends on nothing but the paper and its results."""
    paper = checked.paper
    first, further = central(checked)
    drawn = points(checked)
    rules = [*OTHER_RULES, *(["with corpora set aside"] if checked.set_aside else [])]
    filled = _template().render(
        checked=checked,
        paper=paper,
        most_rows=MOST_ROWS,
        conclusion=conclusion(checked),
        counts=counts(checked),
        judged_on=judged_on(checked),
        first=first,
        further=further,
        picture=title(drawn) if len(drawn) else "",
        farther=farther(checked.tables.values()),
        rules=rules,
        disagreements=[
            [one.claim.id, one.verdict, *(one.disagreeing.get(rule, "") for rule in rules)]
            for one in checked.ranked
            if one.disagreeing
        ],
        generalised=[
            [one.claim.id, one.verdict, one.others.verdict, one.finding.ours, one.others.ours]
            for one in checked.ranked
            if one.others is not None
        ],
        texts={
            "Why numbers differ": "" if checked.is_trial else paper.words("differences"),
            "What was done otherwise": paper.words("deviations"),
        },
    )
    return re.sub(r"\n\s*\n", "\n\n", filled).strip() + "\n"


@cache
def _template() -> Template:
    environment = Environment(undefined=StrictUndefined)
    functions: list[Callable[..., Any]] = [claims_table, numbers_table, cells_table, markdown_table]
    functions += [link, exhibit_link, evidence, not_there, uncommitted]
    environment.globals |= {function.__name__: function for function in functions}
    environment.globals |= {"EVIDENCE": EVIDENCE, "PICTURE": PICTURE}
    environment.globals |= {"PROBES": PROBES, "TABLES": TABLES}
    file = resources.files("research.papers") / "page.md"
    return environment.from_string(file.read_text(encoding="utf-8"))


def claim_line(one: Judged) -> list[str]:
    """A claim in a line: what it says, the paper's number, ours, and the cause of a difference."""
    cause = "; ".join(f"{kind}: {words}" for kind, words in one.cause.items())
    return [one.claim.title, one.finding.theirs, one.finding.ours, cause]


def central(checked: Checked) -> tuple[list[Judged], list[Judged]]:
    """The claims that the paper is about, and the others."""
    ranked = checked.ranked
    first = [one for one in ranked if one.claim.rank] or ranked
    return first, [one for one in ranked if one not in first]


def judged_on(checked: Checked) -> str:
    """A sentence or two: which corpora decide, which are set aside and why."""
    names = checked.results.corpora() if checked.is_trial else checked.own_corpora
    text = f"{len(checked.judged)} claims, judged on {listed(names)}." if names else ""
    aside = (f"{name} is set aside: {why.reason}." for name, why in checked.set_aside.items())
    return " ".join([text, *aside]).strip()


def farther(tables: Iterable[pd.DataFrame]) -> str:
    """A sentence: how many published numbers are farther from ours than seeds explain.

    A pair that several exhibits show counts once. Settings, sizes, and numbers of a single seed
    do not count.
    """
    rows = pairs(tables).dropna(subset=["beyond"])
    if rows.empty:
        return ""
    return (
        f"Of {len(rows):,} published numbers beside ours, {int(rows['beyond'].sum()):,} are "
        "farther than seeds explain."
    )


def not_there(results: PaperResults, parts: Iterable[str]) -> str:
    """A sentence: what of some parts is not in the results; empty if all is."""
    known = set(results.cells["part"])
    never = [part for part in parts if part not in known]
    missing = [
        f"{number} cell{'s' * (number > 1)} of {part}"
        for part, number in results.unfinished.items()
    ]
    if never:
        missing.append(f"all of {', '.join(never)}")
    return f"**Not there yet:** {'; '.join(missing)}." if missing else ""


def evidence(parts: Sequence[Part]) -> list[list[str]]:
    """A row of `EVIDENCE` for each part of a claim."""
    rows = []
    for part in parts:
        asked = "all" if part.need == 1 else f"{part.need:.0%}"
        if part.tally is not None:
            asked = f"{part.tally[0]} of {part.tally[1]} (Fisher p {part.fisher:.2f})"
        against = [str(c.label) for c in part.comparisons if not c.is_for]
        named = against[:_FEW] + ([f"{len(against) - _FEW} more"] if len(against) > _FEW else [])
        clear = f"{part.clearly} for, {part.contrary} against"
        tally = f"{part.favourable} of {part.of}"
        rows.append([part.name, part.verdict, tally, asked, clear, numbers(part), "; ".join(named)])
    return rows


def numbers(part: Part) -> str:
    """The range of the numbers compared, and what they are compared with."""
    if not part.of:
        return "nothing to compare"
    first = [c.a.value for c in part.comparisons]
    second = [c.b.value for c in part.comparisons if c.b is not None]
    form = ".1f" if max(map(abs, first)) >= 10 else ".3f"
    text = span(first, form)
    if second:
        text += f" against {span(second, form)}"
    return f"{text}, {part.sense}" if part.sense else text


def claims_table(claims: Sequence[Judged]) -> str:
    """A line for each claim."""
    rows = [[f"{one.mark}&nbsp;{one.claim.id}", *claim_line(one)] for one in claims]
    return markdown_table(LINES, rows)


def link(name: str, table: pd.DataFrame) -> str:
    """Where a table is that is too long for the page."""
    return f"{len(table):,} rows: [{TABLES}/{name}.csv]({TABLES}/{name}.csv)"


def exhibit_link(paper: Paper, name: str, table: pd.DataFrame) -> str:
    """Where an exhibit too long for the page is: its file, or the command that prints it."""
    if len(table) <= MOST_KEPT:
        return link(name, table)
    command = f"python -m research papers table {paper.name} {name} --csv"
    return f"{len(table):,} rows: `{command}` prints them."


def numbers_table(table: pd.DataFrame, beyond: str = "**{}**", every: bool = False) -> str:
    """The rows of an exhibit, or of a probe, that have a number of ours, or every row.

    `beyond` marks numbers that are farther from the published one than seeds explain.
    """
    labels = [str(name) for name in table if name not in MEASURED]
    published = ["published"] if has_published(table) else []
    rows = [
        [
            *(label(row[name]) for name in labels),
            *(as_published(row[name]) for name in published),
            *as_measured(row, beyond),
        ]
        for row in (table if every else table[table["value"].notna()]).to_dict("records")
    ]
    return markdown_table([*labels, *published, "measured", "seeds"], rows)


def as_measured(row: dict[Any, Any], beyond: str) -> list[str]:
    """Ours of a row and its seeds: mean ± sd, or both values of two seeds."""
    if math.isnan(row["value"]):
        return ["—", ""]
    if row["over"] == SETTING:
        return [as_set(row["value"]), ""]
    value = shown(row["value"])
    if row["over"] == "both":
        value = ", ".join(shown(row[end], like=row["value"]) for end in ("low", "high"))
    elif not math.isnan(row["sd"]):
        value += f" ± {shown(row['sd'], like=row['value'])}"
    if not pd.isna(row["beyond"]) and row["beyond"]:
        value = beyond.format(value)
    return [value, str(row["seeds"])]


def shown(value: float, like: float | None = None) -> str:
    """A number in about three digits, with as many decimals as `like` has.

    >>> shown(0.12345), shown(84.2), shown(12487.0), shown(float("nan"))
    ('0.123', '84.2', '12,487', '—')
    """
    if math.isnan(value):
        return "—"
    size = abs(value if like is None or math.isnan(like) else like)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 10 or (like is None and value == round(value, 1) and size >= 1):
        return f"{value:.1f}"
    if size >= 0.01 or size == 0:
        return f"{value:.3f}"
    return f"{value:.2g}"


def as_published(value: float) -> str:
    """A published number with all its digits.

    >>> as_published(0.5), as_published(84.2), as_published(1400000.0), as_published(math.nan)
    ('0.5', '84.2', '1,400,000', '—')
    """
    return "—" if math.isnan(value) else f"{value:,.9g}"


def as_set(value: float) -> str:
    """A setting, or a size: a plain number.

    >>> as_set(0.4445), as_set(0.0001), as_set(5.0), as_set(173.286), as_set(10000.0)
    ('0.4445', '0.0001', '5', '173.3', '10,000')
    """
    return as_published(round(value, 1)) if abs(value) >= 10 else f"{value:.4g}"


def label(value: Any) -> str:
    """A label as text; empty for None and NaN."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:g}" if isinstance(value, float) else str(value)


def cells_table(checked: Checked) -> str:
    """The table of cells by part and corpus; probes are `probes/PART`."""
    rows = _cell_rows(checked.results.cells)
    if checked.probes is not None:
        rows += _cell_rows(checked.probes.cells, f"{PROBES}/")
    heads = ["part", "corpus", "cells", "seeds", "seconds", "verax", "torch", "device", "commit"]
    return markdown_table(heads, rows)


def _cell_rows(cells: pd.DataFrame, before: str = "") -> list[list[str]]:
    rows = []
    for (part, corpus), group in cells.groupby(["part", "corpus"], sort=False):
        versions = [
            ", ".join(sorted({str(v) for v in group[name].dropna()})) if name in group else ""
            for name in ("verax", "torch", "device")
        ]
        versions.append(commits(group))
        seeds = ", ".join(str(seed) for seed in sorted(group["seed"].unique()))
        seconds = f"{group['seconds'].sum():,.0f}" if "seconds" in group else ""
        rows.append([f"{before}{part}", str(corpus), f"{len(group):,}", seeds, seconds, *versions])
    return rows


def commits(cells: pd.DataFrame) -> str:
    """The commits that cells were made at, those with local changes marked.

    >>> commits(pd.DataFrame({"commit": ["0123456789abcdef-dirty", None]}))
    '0123456789ab-dirty, not recorded'
    """
    recorded = cells["commit"] if "commit" in cells else pd.Series([None])
    short = set()
    for commit in recorded.dropna():
        digits, _, changed = str(commit).partition("-")
        short.add(digits[:_COMMIT] + (f"-{changed}" if changed else ""))
    return ", ".join([*sorted(short), *(["not recorded"] if recorded.isna().any() else [])])


def uncommitted(checked: Checked) -> str:
    """Return sentences on the cells whose code is not known; empty if it is known of all."""
    frames = [checked.results.cells]
    if checked.probes is not None:
        frames.append(checked.probes.cells.assign(part=f"{PROBES}/" + checked.probes.cells["part"]))
    cells = pd.concat([f.reindex(columns=["cell", "part", "commit"]) for f in frames])
    changed = cells["commit"].astype("string").str.endswith(UNCOMMITTED).fillna(False)
    texts = []
    for chosen, what in (
        (changed, f"ran with uncommitted changes (`{UNCOMMITTED}` below)"),
        (cells["commit"].isna(), "have no recorded commit"),
    ):
        if chosen.any():
            parts = cells[chosen].groupby("part", sort=False).size()
            named = ", ".join(f"{part} {number:,}" for part, number in parts.items())
            number, of = cells.loc[chosen, "cell"].nunique(), cells["cell"].nunique()
            texts.append(f"{number:,} of {of:,} cells {what}: {named}.")
    return " ".join(texts)


def overview(every: Sequence[Checked]) -> str:
    """The page."""
    parts = [
        "# Five papers, run again",
        f"![Claims of each paper, by verdict]({REPLICATED})",
        *(
            f"- **[{short_name(one)}]({one.paper.name}/{PAGE})** (*{one.paper.title}*): "
            f"{conclusion(one)} {counts(one)}."
            for one in every
        ),
        "Verdicts are on each paper's own corpora, by the rules in "
        "[research/papers.md](../research/papers.md#how-a-verdict-is-reached). Made by `python -m "
        "research papers check all` from the results in these folders.",
    ]
    return "\n\n".join(parts) + "\n"


def write_overview(every: Sequence[Checked], folder: str | Path) -> Path:
    """Write the page and, where charts can be drawn, its picture; returns the page's path."""
    folder = Path(folder)
    drawn = {REPLICATED: replicated(every).svg("light") + "\n"} if can_draw() else {}
    write_files(folder, {PAGE: overview(every), **drawn})
    return folder / PAGE


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

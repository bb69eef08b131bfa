"""A paper's page in Markdown: the first screen, and all else folded."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import Environment, StrictUndefined, Template

from research.common.page import markdown_table
from research.papers.checking import MOST_KEPT, PICTURE, Checked, Judged
from research.papers.exhibits import MEASURED, SETTING, has_published
from research.papers.paper import Paper
from research.papers.picture import points, title
from research.papers.probing import PROBES
from research.papers.results import TABLES
from research.papers.screen import (
    EVIDENCE,
    HOW_PROBED,
    HOW_TO_READ,
    RULES,
    central,
    claim_line,
    conclusion,
    counts,
    evidence,
    farther,
    judged_on,
    not_there,
)
from research.papers.verdicts import OTHER_RULES

UNCOMMITTED = "-dirty"
"""The end of the commit of a cell that ran with uncommitted changes."""
MOST_ROWS = 160
"""Longer exhibits are only linked."""
SHORT = 6
"""Digits of a cell's key that are shown; the files in tables/ have all."""
_COMMIT = 12
"""Digits of a commit that are shown."""
LINES = ("no.", "claim", "paper", "here", "cause of a difference")


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
    environment.globals |= {"PROBES": PROBES, "TABLES": TABLES, "RULES": RULES}
    environment.globals |= {"HOW_PROBED": HOW_PROBED, "HOW_TO_READ": HOW_TO_READ}
    file = resources.files("research.papers") / "page.md"
    return environment.from_string(file.read_text(encoding="utf-8"))


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


def numbers_table(table: pd.DataFrame) -> str:
    """The rows of an exhibit, or of a probe, that have a number of ours."""
    labels = [str(name) for name in table if name not in MEASURED]
    published = ["published"] if has_published(table) else []
    rows = [
        [
            *(label(row[name]) for name in labels),
            *(as_published(row[name]) for name in published),
            *as_measured(row, "**{}**"),
        ]
        for row in table[table["value"].notna()].to_dict("records")
    ]
    return markdown_table([*labels, *published, "measured", "seeds"], rows)


def as_measured(row: dict[Any, Any], bold: str = "{}") -> list[str]:
    """Ours of a row and its seeds: mean ± sd, or both values of two seeds; bold where beyond."""
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
        value = bold.format(value)
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

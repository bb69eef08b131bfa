"""A paper's page in Markdown: claims, published numbers beside measured ones, deviations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from verax.papers.checking import Checked
from verax.papers.claims import Finding
from verax.papers.exhibits import MEASURED, SETTING, Exhibit, has_published
from verax.papers.phrasing import (
    HOW_PROBED,
    IN_WORDS,
    TRIAL,
    alone,
    differences,
    how_to_read,
    lacking,
    not_there,
    sentences,
    signed,
)
from verax.papers.probing import PROBES
from verax.papers.results import TABLES

MOST_ROWS = 160
"""Longer exhibits without a measured number beside a published one are only linked."""
SHORT = 6
"""Digits of a cell's key that are shown; the files in tables/ have all."""
_COMMIT = 12
"""Digits of a commit that are shown."""
_FILES = (
    f"Cells are shown by the first {SHORT} digits of their keys; `{TABLES}/` has all of it as CSV, "
    "the chart data of figures too."
)
_HEADS = ("measured", "95% interval", "seeds", "cells")


def page(checked: Checked) -> str:
    """The whole page; it depends on nothing but the paper and its results."""
    paper = checked.paper
    parts = [
        f"# {paper.authors}: {paper.title}",
        f"**{TRIAL}**" if checked.is_trial else "",
        f"<{paper.url}>" if paper.url else "",
        _about(checked),
        lacking(checked),
        "## Claims",
        _claims(checked),
        IN_WORDS,
        *_section(
            "## What differs from the published numbers",
            differences(checked),
            *_probes(checked),
        ),
        *_section("## What was done otherwise", paper.words("deviations")),
        "## Tables and figures",
        f"{how_to_read(checked, '**Bold**')} {_FILES}",
        *(text for exhibit in paper.exhibits for text in _exhibit(checked, exhibit)),
        "## Cells",
        _cells(checked),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(title: str, *texts: str) -> list[str]:
    filled = [text for text in texts if text]
    return [title, *filled] if filled else []


def _about(checked: Checked) -> str:
    cells = checked.results.cells.drop_duplicates("cell")
    corpora = ", ".join(dict.fromkeys(str(name) for name in cells["corpus"]))
    name = checked.paper.name
    return (
        f"Made by `verax papers check {name}` from the results beside this page: {len(cells):,} "
        f"trained and examined models on {corpora}. {' '.join(sentences(checked))} Run again: "
        f"`verax papers run {name} --scale full --vectors FILE`."
    )


def _claims(checked: Checked) -> str:
    rows = []
    for claim, finding, on_paper in checked.judged:
        verdict, reason = signed(finding), _reason(finding)
        if on_paper is not None:
            verdict += f" ({alone(checked)}: {signed(on_paper)})"
            if on_paper.verdict_words != finding.verdict_words:
                reason += f" **O{alone(checked)[1:]}:** {_reason(on_paper)}"
        rows.append([str(claim.id), claim.text, claim.where, verdict, reason])
    return markdown(["", "claim", "where", "verdict", "what was found"], rows)


def _reason(finding: Finding) -> str:
    test = f"*{finding.test}*" if finding.test else ""
    return " ".join(part for part in (finding.why, test) if part)


def _probes(checked: Checked) -> Iterator[str]:
    """Each probe's question, and its numbers."""
    table = checked.probed
    if checked.probes is None or table.empty:
        return
    yield "### Probes"
    yield HOW_PROBED
    yield not_there(checked.probes, checked.paper.studies(PROBES))
    if len(table) > MOST_ROWS:
        yield _link(PROBES, table)
        return
    heads = ["corpus", "model", "measure", *_HEADS]
    for (probe, question), measured in table.groupby(["probe", "question"], sort=False):
        yield f"**{probe}**: {question}" if question else f"**{probe}**"
        rows = [
            [*(label(row[name]) for name in heads[:3]), *_measured(row)]
            for row in measured.to_dict("records")
        ]
        yield markdown(heads, rows)


def _link(name: str, table: pd.DataFrame) -> str:
    return f"{len(table):,} rows: [{TABLES}/{name}.csv]({TABLES}/{name}.csv)"


def _exhibit(checked: Checked, exhibit: Exhibit) -> Iterator[str]:
    table = checked.tables[exhibit.name]
    yield f"### {exhibit.name}: {exhibit.title}"
    if exhibit.note:
        yield exhibit.note
    if table.empty:
        yield "Nothing of it is in these results."
        return
    if is_chart_data(table):
        yield _link(exhibit.name, table)
        return
    labels = [str(name) for name in table if name not in MEASURED]
    published = ["published"] if has_published(table) else []
    rows = []
    for row in table.to_dict("records"):
        names = [label(row[name]) for name in labels]
        rows.append([*names, *(as_published(row[name]) for name in published), *_measured(row)])
    yield markdown([*labels, *published, *_HEADS], rows)


def is_chart_data(table: pd.DataFrame) -> bool:
    """Whether a table is too long to read and has no number of ours beside a published one."""
    beside = table["published"].notna() & table["value"].notna()
    return len(table) > MOST_ROWS and not beside.any()


def _measured(row: dict[Any, Any]) -> list[str]:
    if math.isnan(row["value"]):
        return ["—", "", "", ""]
    cells = " ".join(key[:SHORT] for key in str(row["cells"]).split())
    if row["over"] == SETTING:
        return [as_set(row["value"]), "", "", cells]
    value = shown(row["value"])
    if not math.isnan(row["sd"]):
        value += f" ± {shown(row['sd'], like=row['value'])}"
    if not pd.isna(row["beyond"]) and row["beyond"]:
        value = f"**{value}**"
    interval = ""
    if not math.isnan(row["low"]):
        ends = [shown(row[end], like=row["value"]) for end in ("low", "high")]
        interval = f"{ends[0]} … {ends[1]}"
    return [value, interval, str(row["seeds"]), cells]


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


def _cells(checked: Checked) -> str:
    """The table of cells by part and corpus; probes are `probes/PART`."""
    rows = _cell_rows(checked.results.cells)
    if checked.probes is not None:
        rows += _cell_rows(checked.probes.cells, f"{PROBES}/")
    heads = ["part", "corpus", "cells", "seeds", "seconds", "verax", "torch", "device", "commit"]
    return markdown(heads, rows)


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


def markdown(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table; bars and line ends inside a cell do not end it.

    >>> print(markdown(["a", "b"], [["1", "x|y"]]))
    | a | b |
    |---|---|
    | 1 | x\\|y |
    """

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(" ".join(c.replace("|", "\\|").split()) for c in cells) + " |"

    return "\n".join([line(heads), "|" + "---|" * len(heads), *(line(row) for row in rows)])

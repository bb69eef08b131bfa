"""A paper's page in Markdown: the first screen, and all else folded."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd

from verax.papers.checking import PICTURE, Checked, Judged
from verax.papers.exhibits import MEASURED, SETTING, Exhibit, has_published
from verax.papers.picture import points, title
from verax.papers.probing import PROBES
from verax.papers.results import TABLES
from verax.papers.screen import (
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
from verax.papers.verdicts import OTHER_RULES

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
    parts = [
        f"# {paper.authors}: {paper.title}",
        f"**{conclusion(checked)}**" if conclusion(checked) else "",
        f"**{counts(checked)}** {judged_on(checked)}",
        _lines(first),
        f"![{title(drawn)}]({PICTURE})" if len(drawn) else "",
        farther(checked.tables.values()),
        "\n".join(f"- {line}" for line in paper.told.get("setup", ())),
        *_section("## Further claims", _lines(further) if further else ""),
        "## What is behind each verdict",
        RULES,
        " ".join(
            f"{name} is set aside: {why.reason}: {why.detail}."
            for name, why in checked.set_aside.items()
        ),
        *(_claim(one) for one in checked.ranked),
        *_section("## Where another rule has another verdict", _disagreements(checked)),
        *_section("## Generalisation to other corpora", _others(checked)),
        "## Published and measured",
        f"{HOW_TO_READ} `{TABLES}/` has all as CSV.",
        not_there(checked.results, paper.studies("full")),
        *_fold("Why numbers differ", "" if checked.is_trial else paper.words("differences")),
        *_fold("What was done otherwise", paper.words("deviations")),
        *_fold("Probes", *_probes(checked)),
        *(text for exhibit in paper.exhibits for text in _exhibit(checked, exhibit)),
        *_fold("Cells", _cells(checked)),
        f"Made by `verax papers check {paper.name}` from the results beside this page. The paper: "
        f"<{paper.url}>",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(heading: str, *texts: str) -> list[str]:
    filled = [text for text in texts if text]
    return [heading, *filled] if filled else []


def _fold(heading: str, *texts: str) -> list[str]:
    """Texts behind a line that opens them; nothing if there are none."""
    filled = [text for text in texts if text]
    opening = f"<details><summary>{heading}</summary>"
    return [opening, *filled, "</details>"] if filled else []


def _lines(claims: Sequence[Judged]) -> str:
    return markdown(
        LINES, [[f"{one.mark}&nbsp;{one.claim.id}", *claim_line(one)] for one in claims]
    )


def _claim(one: Judged) -> str:
    claim, found = one.claim, one.finding
    causes = [f"**Cause: {kind}.** {words}." for kind, words in one.cause.items()]
    others = ", ".join(f"{name}: {v}" for name, v in found.other_verdicts.items())
    texts = [
        f"{claim.text} ({claim.where})",
        claim.note,
        f"Needed: {found.why}." if found.why else "",
        " ".join(causes),
        markdown(EVIDENCE, evidence(found.parts)) if found.parts else "",
        "Beside it, without a part in the verdict:" if found.reported else "",
        markdown(EVIDENCE, evidence(found.reported)) if found.reported else "",
        f"By other rules: {others}." if found.parts else "",
    ]
    heading = f"{one.mark} {claim.id}. {claim.title}: {one.verdict}"
    return "\n\n".join(_fold(heading, *texts))


def _disagreements(checked: Checked) -> str:
    names = [*OTHER_RULES, *(["with corpora set aside"] if checked.set_aside else [])]
    rows = [
        [str(one.claim.id), one.verdict, *(one.disagreeing.get(name, "") for name in names)]
        for one in checked.ranked
        if one.disagreeing
    ]
    return markdown(["claim", "verdict", *names], rows) if rows else ""


def _others(checked: Checked) -> str:
    rows = [
        [str(one.claim.id), one.verdict, one.others.verdict, one.finding.ours, one.others.ours]
        for one in checked.ranked
        if one.others is not None
    ]
    heads = ["claim", "verdict", "on other corpora", "here", "on other corpora"]
    return markdown(heads, rows) if rows else ""


def _probes(checked: Checked) -> Iterator[str]:
    """Each probe's question, and its numbers."""
    table = checked.probed
    if checked.probes is None or table.empty:
        return
    yield HOW_PROBED
    yield not_there(checked.probes, checked.paper.studies(PROBES))
    if len(table) > MOST_ROWS:
        yield _link(PROBES, table)
        return
    heads = ["corpus", "model", "measure", "measured", "seeds"]
    for (probe, question), measured in table.groupby(["probe", "question"], sort=False):
        yield f"**{probe}**: {question}" if question else f"**{probe}**"
        rows = [
            [*(label(row[name]) for name in heads[:3]), *as_measured(row)]
            for row in measured.to_dict("records")
        ]
        yield markdown(heads, rows)


def _link(name: str, table: pd.DataFrame) -> str:
    return f"{len(table):,} rows: [{TABLES}/{name}.csv]({TABLES}/{name}.csv)"


def _exhibit(checked: Checked, exhibit: Exhibit) -> list[str]:
    table = checked.tables[exhibit.name]
    text = "Nothing of it is in these results."
    rows = table[table["value"].notna()]
    if len(rows) > MOST_ROWS or (len(table) and rows.empty):
        text = _link(exhibit.name, table)
    elif len(table):
        labels = [str(name) for name in table if name not in MEASURED]
        published = ["published"] if has_published(table) else []
        cells = [
            [
                *(label(row[name]) for name in labels),
                *(as_published(row[name]) for name in published),
                *as_measured(row, "**{}**"),
            ]
            for row in rows.to_dict("records")
        ]
        text = markdown([*labels, *published, "measured", "seeds"], cells)
    return _fold(f"{exhibit.name}: {exhibit.title}", exhibit.note, text)


def as_measured(row: dict[Any, Any], bold: str = "{}") -> list[str]:
    """Ours of a row and its seeds: mean ± sd, or both values of two seeds; bold where beyond."""
    if math.isnan(row["value"]):
        return ["—", ""]
    if row["over"] == SETTING:
        return [as_set(row["value"]), ""]
    value = shown(row["value"])
    if row["seeds"] == 2:
        half = row["sd"] / math.sqrt(2)
        ends = [shown(row["value"] + sign * half, like=row["value"]) for sign in (-1, 1)]
        value = ", ".join(ends)
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

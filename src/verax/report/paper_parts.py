"""A paper's page: what replicates, published beside measured. It shows no document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from verax.drawing.chart import Chart
from verax.papers import Checked
from verax.papers.checking import MOST_KEPT, Judged
from verax.papers.exhibits import MEASURED, Exhibit, has_published
from verax.papers.page import LINES, MOST_ROWS, SHORT, as_measured, as_published, label
from verax.papers.picture import SCATTER
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
from verax.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES
from verax.report.charts.paper_frames import called
from verax.report.markdown import markdown, spans
from verax.report.page import Part
from verax.report.sections import figures
from verax.report.tables import html_table
from verax.report.templating import fill, fold

_STYLES = {REPLICATES: "for", IN_PART: "open", DOES_NOT: "against", CANNOT: "undecided"}
_OPEN = 40
"""Rows of a table that is shown open below its charts."""


def paper_parts(checked: Checked, charts: Sequence[Chart] = (), note: str = "") -> list[Part]:
    """The parts of a page: the first screen, what is behind it, tables and figures.

    Args:
        checked: the paper, its results and its claims.
        charts: of the exhibits: the `exam` of each is the exhibit's name.
        note: stands before the first exhibit.
    """
    paper = checked.paper
    parts = [
        _first([c for c in charts if c.exam == SCATTER], checked),
        Part("evidence", "What is behind each verdict", _evidence(checked), short="Evidence"),
    ]
    words = "" if checked.is_trial else paper.words("differences")
    for id, title, text in (
        ("differences", "Why numbers differ", words),
        ("deviations", "What was done otherwise", paper.words("deviations")),
    ):
        if text:
            parts.append(Part(id, title, fold("Read it", markdown(text))))
    parts += _probes(checked)
    notes = [HOW_TO_READ, note]
    for exhibit in paper.exhibits:
        drawn = [chart for chart in charts if chart.exam == exhibit.name]
        parts.append(
            _exhibit(checked.paper.name, exhibit, checked.tables[exhibit.name], drawn, notes)
        )
        notes = []
    return parts


def _first(charts: Sequence[Chart], checked: Checked) -> Part:
    tables = [
        [{"one": one, "texts": claim_line(one), "style": _STYLES[one.verdict]} for one in several]
        for several in central(checked)
    ]
    inner = fill(
        "paper",
        "first",
        conclusion=conclusion(checked),
        counts=counts(checked),
        judged_on=judged_on(checked),
        heads=LINES,
        tables=tables,
        picture=figures(charts),
        farther=farther(checked.tables.values()),
        setup=[spans(line) for line in checked.paper.told.get("setup", ())],
        lacking=markdown(not_there(checked.results, checked.paper.studies("full"))),
        url=checked.paper.url,
    )
    return Part("verdict", "Does it replicate?", inner, short="Claims")


def _evidence(checked: Checked) -> Markup:
    asides = [f"{c} is set aside: {a.reason}: {a.detail}." for c, a in checked.set_aside.items()]
    inner = markdown("\n\n".join([RULES, *asides]))
    for one in checked.ranked:
        inner += fold(f"{one.mark} {one.claim.id}. {one.claim.title}", _claim(one))
    rows = [
        ([str(one.claim.id), one.verdict, rule], [verdict])
        for one in checked.ranked
        for rule, verdict in one.disagreeing.items()
    ]
    if rows:
        table = html_table(["claim", "verdict", "rule", "its verdict"], rows, 3)
        number = sum(bool(one.disagreeing) for one in checked.ranked)
        inner += fold(f"Where another rule has another verdict: {number} claims", table)
    beside = [
        ([str(one.claim.id), one.claim.short], [one.verdict, one.others.verdict, one.others.ours])
        for one in checked.ranked
        if one.others is not None
    ]
    if beside:
        heads = ["", "claim", "verdict", "on other corpora", "there"]
        inner += fold("Generalisation to other corpora", html_table(heads, beside, 2))
    return inner


def _claim(one: Judged) -> Markup:
    found = one.finding
    tables = [
        html_table(EVIDENCE, [(row[:1], row[1:]) for row in evidence(parts)], 1, title)
        for title, parts in (("", found.parts), ("Without a part in the verdict", found.reported))
        if parts
    ]
    return fill(
        "paper",
        "claim",
        claim=one.claim,
        finding=found,
        causes=one.cause,
        tables=tables,
        rules=found.other_verdicts if found.parts else {},
        cells=[key[:SHORT] for key in found.cells],
    )


def _probes(checked: Checked) -> list[Part]:
    """Short runs that test what might explain differences: each one's question, and its numbers."""
    if checked.probes is None or checked.probed.empty:
        return []
    missing = not_there(checked.probes, checked.paper.studies(PROBES))
    inner = markdown(HOW_PROBED) + markdown(missing)
    labels = ["corpus", "model", "measure"]
    for (probe, question), numbers in checked.probed.groupby(["probe", "question"], sort=False):
        rows = [
            ([label(row[name]) for name in labels], _measured(row))
            for row in numbers.to_dict("records")
        ]
        table = html_table([*labels, "measured", "seeds"], rows, len(labels), str(probe))
        inner += fold(f"{probe}: {question}" if question else str(probe), table)
    return [Part(PROBES, "Probes", inner)]


def _exhibit(
    paper: str,
    exhibit: Exhibit,
    table: pd.DataFrame,
    charts: Sequence[Chart],
    notes: Sequence[str],
) -> Part:
    rows = table[table["value"].notna()]
    text, shown, folded = "", Markup(), []
    if table.empty:
        text = "Nothing of it is in these results."
    elif len(rows) > MOST_ROWS or rows.empty:
        text = f"{len(table):,} rows, beside the results in {TABLES}/{exhibit.name}.csv."
        if len(table) > MOST_KEPT:
            text = (
                f"{len(table):,} rows: verax papers table {paper} {exhibit.name} --csv prints them."
            )
    elif charts and len(rows) > _OPEN:
        folded.append(("The numbers", _table(exhibit, rows)))
    else:
        shown = _table(exhibit, rows)
    inner = fill(
        "paper",
        "exhibit",
        notes=[spans(line) for line in (*notes, exhibit.note) if line],
        figures=figures(charts),
        text=text,
        table=shown,
        folded=folded,
    )
    name = called(exhibit.name)
    return Part(exhibit.name, f"{name}: {exhibit.title}", inner, short=name)


def _table(exhibit: Exhibit, table: pd.DataFrame) -> Markup:
    labels = [str(name) for name in table if name not in MEASURED]
    published = ["published"] if has_published(table) else []
    rows = [
        (
            [label(row[name]) for name in labels],
            [*(as_published(row[name]) for name in published), *_measured(row)],
        )
        for row in table.to_dict("records")
    ]
    return html_table([*labels, *published, "measured", "seeds"], rows, len(labels), exhibit.title)


def _measured(row: dict[Any, Any]) -> list[Any]:
    """Ours and its seeds; bold where it is beyond what seeds explain."""
    value, seeds = as_measured(row)
    is_bold = not pd.isna(row["beyond"]) and row["beyond"]
    return [fill("elements", "bold", value=value) if is_bold else value, seeds]

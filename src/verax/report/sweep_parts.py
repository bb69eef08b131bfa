"""A sweep as parts of a page: what moves with λ, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from verax.exams.agreement.measures import AGREEMENT, ITSELF, ON_SUPPORT, importances_of
from verax.exams.dispersion.measures import ENTROPY
from verax.exams.judgement.model_summary import Number
from verax.exams.judgement.phrasing import numeral
from verax.exams.judgement.row import ATTENTION
from verax.exams.registry import find_place
from verax.exams.titles import measure_title
from verax.report.facts import closed, facts
from verax.report.markup import element, text
from verax.report.page import Part
from verax.report.sections import ABOUT, Chart, figures
from verax.report.tables import html_table, shown
from verax.statistics.seeds import EXCLUDED
from verax.studies import Sweep
from verax.studies.measures import ACCURACY, SUPPORT, SUPPORT_SHARE

QUESTION = "Does attention explain better where it is sparser?"
_ENDS = {SUPPORT_SHARE: "the share of items with weight", ACCURACY: "accuracy"}
_BESIDE = {**_ENDS, SUPPORT: "items with weight"}
_MOVES = ("tau", "spearman", "pearson", "pooled_tau", "support_tau")


def sweep_parts(sweep: Sweep, charts: Sequence[Chart] = (), note: str = "") -> list[Part]:
    """From the ends of λ to every number, and how each moves with it."""
    points = sweep.points()
    measures = [str(m) for m in dict.fromkeys(points["measure"])]
    by = {str(m): own.set_index("lam") for m, own in points.groupby("measure", sort=False)}
    taus, own = _of_table(measures, AGREEMENT.id), _of_table(measures, AGREEMENT.id, True)
    support = _of_table(measures, ON_SUPPORT.id, True)
    others = {label: m for label, m in taus.items() if m not in own.values()}
    others = {label: m for label, m in others.items() if _first_of(m) != ATTENTION}
    entropies = _of_table(measures, ENTROPY.id)
    beside = {label: m for m, label in _BESIDE.items() if m in by}
    drawn = {chart.name: chart for chart in charts}

    def part(id_: str, title: str, chart: str, question: str, inner: str) -> Part:
        told = element("p", text(question), {"class": "question"})
        told += figures([drawn[chart]] if chart in drawn else [])
        return Part(id_, title, told + inner, "sweep")

    parts = [_first(sweep, by, points, note)]
    if entropies:
        question = "Do fewer inputs have influence where fewer items have weight?"
        table = _table(by, entropies, "normalised entropy, mean over documents, by λ")
        parts.append(part("entropy", "Entropy", "sweep-entropy", question, table))
    if taus:
        question = "Does attention rank as other importances do, the sparser the better?"
        inner = _table(by, own, "Kendall's τ-b of attention, mean over documents, by λ")
        if support:
            told = "The same among the items that attention gives weight"
            inner += closed(told, _table(by, support, told))
        if others:
            told = "Other importances with each other"
            inner += closed(told, _table(by, others, told))
        parts.append(part("agreement", "Agreement", "sweep-tau", question, inner))
    if beside:
        question = "What does sparsity cost, and how sparse does attention become?"
        table = _table(by, beside, "means over documents, by λ")
        name = "Accuracy and support"
        parts.append(part("accuracy", name, "sweep-accuracy", question, table))
    parts.append(_correlations(sweep, {**entropies, **own}))
    parts.append(Part("about", ABOUT, _left_out(points) + facts(sweep.manifest, "the sweep")))
    return parts


def _first(sweep: Sweep, by: Mapping[str, pd.DataFrame], points: pd.DataFrame, note: str) -> Part:
    lams = sorted({float(lam) for lam in points["lam"]})
    inner = element("p", text(QUESTION), {"class": "question"})
    ends: list[str] = []
    for measure, label in _ENDS.items():
        if measure in by:
            first, last = (100 * float(by[measure]["mean"].loc[lams[end]]) for end in (0, -1))
            shares = [numeral(Number(value, unit="percent")) for value in (first, last)]
            ends.append(f"{label}{' goes' * (not ends)} from {' to '.join(shares)}")
    told = f"From λ {_lam(lams[0])} to {_lam(lams[-1])} {' and '.join(ends)}."
    if ends:
        inner += element("p", text(told), {"class": "headline"})
    seeds = sweep.instances["seed"].nunique()
    over = str(points["over"].iloc[0])
    lines = [
        f"{len(lams)} values of λ, {seeds} seed{'s' if seeds > 1 else ''} each. Larger λ is "
        f"sparser attention; intervals are 95%, over {over}.",
        note,
    ]
    notes = "".join(element("li", text(line)) for line in lines if line)
    return Part("verdict", "Along λ", inner + element("ul", notes, {"class": "caveat"}))


def _table(by: Mapping[str, pd.DataFrame], measures: Mapping[str, str], title: str) -> str:
    lams = sorted({float(lam) for own in by.values() for lam in own.index})
    rows = []
    for label, measure in measures.items():
        own = by[measure].to_dict("index")
        rows.append(([label], [_cell(own.get(lam)) for lam in lams]))
    return html_table(["", *(f"λ {_lam(lam)}" for lam in lams)], rows, title=title)


def _cell(row: Mapping[Any, Any] | None) -> str:
    if row is None:
        return ""
    return shown(Number(float(row["mean"]), float(row["low"]), float(row["high"])))


def _correlations(sweep: Sweep, measures: Mapping[str, str]) -> Part:
    found = sweep.correlations().set_index("measure")
    rows = [
        ([label], [shown(Number(float(found[name].loc[measure]))) for name in _MOVES])
        for label, measure in measures.items()
    ]
    heads = ["", "τ-b", "Spearman", "Pearson", "τ-b over documents", "τ-b with support"]
    told = (
        "How each moves with λ: of means at each λ, of every document's own value, and with the "
        "measured share of items with weight in place of λ."
    )
    inner = element("p", text(told), {"class": "note"})
    return Part("correlation", "Correlation with λ", inner + html_table(heads, rows))


def _left_out(points: pd.DataFrame) -> str:
    """What has no value, by reason, over all λ and seeds."""
    names = [str(name) for name in points if str(name).startswith(EXCLUDED)]
    counts = points.groupby("measure", sort=False)[names].sum()
    lines = [
        f"{measure_title(str(measure))}: {name.removeprefix(EXCLUDED)}: {row[name]:,}"
        for measure, row in counts.iterrows()
        for name in names
        if row[name]
    ]
    items = "".join(element("li", text(line)) for line in lines)
    if not items:
        return element("p", "Nothing was left out.", {"class": "note"})
    return closed("What was left out, and why", element("ul", items))


def _of_table(measures: Sequence[str], table: str, judged: bool = False) -> dict[str, str]:
    """Title → measure, of one table; `judged`: of attention with others, and not with itself."""
    own = [m for m in measures if (place := find_place(m)) is not None and place.table.id == table]
    if judged:
        own = [m for m in own if _first_of(m) == ATTENTION and _row_of(m) != ITSELF]
    return {measure_title(m): m for m in own}


def _row_of(measure: str) -> str:
    place = find_place(measure)
    return "" if place is None else place.row


def _first_of(measure: str) -> str:
    """The first of the two importances that a rank agreement is of."""
    return importances_of(_row_of(measure))[0]


def _lam(lam: float) -> str:
    return f"{lam:g}".replace("-", "−")

"""A sweep as parts of a page: what moves with λ, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
from markupsafe import Markup

from verax.drawing.chart import Chart
from verax.exams.agreement.measures import AGREEMENT, ITSELF, ON_SUPPORT, importances_of
from verax.exams.dispersion.measures import ENTROPY
from verax.exams.judgement.model_summary import Number
from verax.exams.judgement.phrasing import numeral
from verax.exams.judgement.row import ATTENTION
from verax.exams.registry import find_place
from verax.exams.titles import measure_title
from verax.report.facts import facts
from verax.report.page import Part
from verax.report.sections import ABOUT, figures
from verax.report.tables import html_table
from verax.report.templating import fill
from verax.statistics.seeds import EXCLUDED
from verax.studies import Sweep
from verax.studies.sweep import ACCURACY, SUPPORT, SUPPORT_SHARE

QUESTION = "Does attention explain better where it is sparser?"
_ENDS = {SUPPORT_SHARE: "the share of items with weight", ACCURACY: "accuracy"}
_BESIDE = {**_ENDS, SUPPORT: "items with weight"}
_MOVES = ("tau", "spearman", "pearson", "pooled_tau", "support_tau")


def sweep_parts(sweep: Sweep, charts: Sequence[Chart] = (), note: str = "") -> list[Part]:
    """The parts of a page: the ends of λ, every number by λ, and how each moves with λ."""
    points = sweep.points()
    measures = [str(m) for m in dict.fromkeys(points["measure"])]
    by = {str(m): rows.set_index("lam") for m, rows in points.groupby("measure", sort=False)}
    taus, judged = _of_table(measures, AGREEMENT.id), _of_table(measures, AGREEMENT.id, True)
    support = _of_table(measures, ON_SUPPORT.id, True)
    others = {label: m for label, m in taus.items() if m not in judged.values()}
    others = {label: m for label, m in others.items() if _first_of(m) != ATTENTION}
    entropies = _of_table(measures, ENTROPY.id)
    beside = {label: m for m, label in _BESIDE.items() if m in by}
    on_support = "The same among the items that attention gives weight"
    each_other = "Other importances with each other"
    sections = [
        (
            ("entropy", "Entropy", "sweep-entropy"),
            "Do fewer inputs have influence where fewer items have weight?",
            _table(by, entropies, "normalised entropy, mean over documents, by λ"),
            [],
        ),
        (
            ("agreement", "Agreement", "sweep-tau"),
            "Does attention rank as other importances do, the sparser the better?",
            _table(by, judged, "Kendall's τ-b of attention, mean over documents, by λ"),
            [
                (on_support, _table(by, support, on_support)),
                (each_other, _table(by, others, each_other)),
            ],
        ),
        (
            ("accuracy", "Accuracy and support", "sweep-accuracy"),
            "What does sparsity cost, and how sparse does attention become?",
            _table(by, beside, "means over documents, by λ"),
            [],
        ),
    ]
    parts = [_first(sweep, by, points, note)]
    for (id_, title, chart), question, table, folded in sections:
        if table or any(inner for _, inner in folded):
            drawn = figures([c for c in charts if c.name == chart])
            values = {"question": question, "figures": drawn, "table": table, "folded": folded}
            parts.append(Part(id_, title, fill("studies", "part", **values), "sweep"))
    parts.append(_correlations(sweep, {**entropies, **judged}))
    inner = fill("studies", "left_out", lines=_left_out(points))
    parts.append(Part("about", ABOUT, inner + facts(sweep.manifest, "the sweep")))
    return parts


def _first(sweep: Sweep, by: Mapping[str, pd.DataFrame], points: pd.DataFrame, note: str) -> Part:
    lams = sorted({float(lam) for lam in points["lam"]})
    ends: list[str] = []
    for measure, label in _ENDS.items():
        if measure in by:
            first, last = (100 * float(by[measure]["mean"].loc[lams[end]]) for end in (0, -1))
            shares = [numeral(Number(value, unit="percent")) for value in (first, last)]
            ends.append(f"{label}{' goes' * (not ends)} from {' to '.join(shares)}")
    headline = f"From λ {_lam(lams[0])} to {_lam(lams[-1])} {' and '.join(ends)}."
    seeds = sweep.instances["seed"].nunique()
    over = (
        f"{len(lams)} values of λ, {seeds} seed{'s' if seeds > 1 else ''} each. Larger λ is "
        f"sparser attention; intervals are 95%, over {points['over'].iloc[0]}."
    )
    inner = fill(
        "studies",
        "first",
        question=QUESTION,
        headline=headline if ends else "",
        caveats=[over, note],
    )
    return Part("verdict", "Along λ", inner)


def _table(by: Mapping[str, pd.DataFrame], measures: Mapping[str, str], title: str) -> Markup:
    """A row a measure, a column a λ; empty where there is no measure."""
    if not measures:
        return Markup()
    lams = sorted({float(lam) for rows in by.values() for lam in rows.index})
    rows = []
    for label, measure in measures.items():
        means = by[measure].to_dict("index")
        rows.append(([label], [_number(means.get(lam)) for lam in lams]))
    return html_table(["", *(f"λ {_lam(lam)}" for lam in lams)], rows, title=title)


def _number(row: Mapping[Any, Any] | None) -> Number | None:
    if row is None:
        return None
    return Number(float(row["mean"]), float(row["low"]), float(row["high"]))


def _correlations(sweep: Sweep, measures: Mapping[str, str]) -> Part:
    moves = sweep.correlations().set_index("measure")
    rows = [
        ([label], [Number(float(moves[name].loc[measure])) for name in _MOVES])
        for label, measure in measures.items()
    ]
    heads = ["", "τ-b", "Spearman", "Pearson", "τ-b over documents", "τ-b with support"]
    note = (
        "How each moves with λ: of means at each λ, of every document's own value, and with the "
        "measured share of items with weight in place of λ."
    )
    inner = fill("studies", "part", note=note, table=html_table(heads, rows))
    return Part("correlation", "Correlation with λ", inner)


def _left_out(points: pd.DataFrame) -> list[str]:
    """How many have no value, by reason, over all λ and seeds."""
    names = [str(name) for name in points if str(name).startswith(EXCLUDED)]
    counts = points.groupby("measure", sort=False)[names].sum()
    return [
        f"{measure_title(str(measure))}: {name.removeprefix(EXCLUDED)}: {row[name]:,}"
        for measure, row in counts.iterrows()
        for name in names
        if row[name]
    ]


def _of_table(measures: Sequence[str], table: str, judged: bool = False) -> dict[str, str]:
    """Title → measure, of one table; `judged`: of attention with others, and not with itself."""
    chosen = [m for m in measures if (place := find_place(m)) and place.table.id == table]
    if judged:
        chosen = [m for m in chosen if _first_of(m) == ATTENTION and _row_of(m) != ITSELF]
    return {measure_title(m): m for m in chosen}


def _row_of(measure: str) -> str:
    place = find_place(measure)
    return "" if place is None else place.row


def _first_of(measure: str) -> str:
    """The first of the two importances that a rank agreement is of."""
    return importances_of(_row_of(measure))[0]


def _lam(lam: float) -> str:
    return f"{lam:g}".replace("-", "−")

"""Measures along λ, on an axis that is logarithmic on both sides of 0 (Meister et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import lines
from verax.drawing.names import MOST_CHARTED, shortened
from verax.drawing.series import Series
from verax.exams.agreement.exam import ATTENTION
from verax.exams.agreement.measures import AGREEMENT, ITSELF, pair_of
from verax.exams.dispersion.charts import row_words
from verax.exams.dispersion.measures import ENTROPY
from verax.exams.measures import MeasurePlace
from verax.exams.registry import find_place
from verax.studies.sweep import Sweep

_BESIDE = {
    "decisions.accuracy": "accuracy",
    "dispersion.documents.support_share": "share of items with weight",
}
_AS_GIVEN = "replace('' + datum.value, '-', '−')"
"""Formats of numbers would round what is near 1."""
_NEAR = 0.1
"""Below it the axis is linear, beyond it logarithmic."""


def charts(sweep: Sweep) -> Iterator[Chart]:
    """Entropies, rank agreements, and accuracy with support, as λ goes from dense to sparse."""
    points = sweep.points()
    points = points[points["mean"].notna()].rename(columns={"mean": "value"})
    over = points["over"].iloc[0] if len(points) else ""
    band = f" Bands are 95% intervals over {over}. Larger λ is sparser attention."
    places = {str(m): place for m in dict.fromkeys(points["measure"]) if (place := find_place(m))}
    entropies = _chosen(points, _entropies(places))
    if len(entropies):
        yield made(
            "sweep-entropy",
            "sweep",
            "Entropy of attention and of influence along λ",
            "Normalised entropy, mean over documents. If sparse attention pointed at few words, "
            "the entropy of influence would fall with that of attention." + band,
            _lines(entropies, "normalised entropy", (0, 1)),
        )
    taus = _chosen(points, _taus(places))
    if len(taus):
        yield made(
            "sweep-tau",
            "sweep",
            "Rank agreement of attention along λ",
            "Kendall's τ-b of attention with other importances, mean over documents. Sparser "
            "attention would explain better if lines rose." + band,
            _lines(taus, "Kendall's τ-b", (-1, 1)),
        )
    beside = _chosen(points, {measure: ("", words) for measure, words in _BESIDE.items()})
    if len(beside):
        yield made(
            "sweep-accuracy",
            "sweep",
            "Accuracy and support along λ",
            "What sparsity costs in accuracy, and how many items keep weight." + band,
            _lines(beside, "share", (0, 1)),
        )


def _entropies(places: Mapping[str, MeasurePlace]) -> dict[str, tuple[str, str]]:
    """Measure → panel and line, of entropies."""
    return {
        measure: ("", row_words(place.row))
        for measure, place in places.items()
        if place.table.id == ENTROPY.id and place.column == "mean"
    }


def _taus(places: Mapping[str, MeasurePlace]) -> dict[str, tuple[str, str]]:
    """Measure → panel and line, of attention's rank agreements, first of inputs, then of items."""
    pairs = {
        measure: pair_of(place.row)
        for measure, place in places.items()
        # with attention detached the gradient of an item is attention itself
        if place.table.id == AGREEMENT.id and place.column == "tau" and place.row != ITSELF
    }
    return {
        measure: (f"attention and importances of {on}", second)
        for kind in ("inputs", "items")
        for measure, (on, first, second) in pairs.items()
        if on == kind and first == ATTENTION
    }


def _chosen(points: pd.DataFrame, lines: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """The points of these measures, in their order, with panel and line."""
    parts = [
        points[points["measure"] == measure].assign(panel=panel, line=line)
        for measure, (panel, line) in lines.items()
    ]
    return pd.concat(parts) if parts else points[:0]


def _lines(frame: pd.DataFrame, title: str, domain: Sequence[float]) -> object:
    shown = shortened(list(dict.fromkeys(frame["line"]))[:MOST_CHARTED])
    frame = frame[frame["line"].isin(list(shown))].assign(line=frame["line"].map(shown))
    lams = sorted(float(lam) for lam in set(frame["lam"]))
    x = alt.X(
        "lam:Q",
        title="λ",
        scale=alt.Scale(type="symlog", constant=_NEAR, domain=[lams[0], lams[-1]], nice=False),
        axis=alt.Axis(values=lams, labelExpr=_AS_GIVEN, labelOverlap="greedy"),
    )
    kept = frame[["panel", "line", "lam", "value", "low", "high", "n"]]
    return lines(kept, Series("line", list(shown.values())), x, title, domain, height=190)

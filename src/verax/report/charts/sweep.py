"""Measures along λ, on an axis that is logarithmic on both sides of 0 (Meister et al. 2021)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import lines
from verax.drawing.names import MOST_CHARTED, shown_names
from verax.drawing.series import Series
from verax.studies.sweep import Sweep

_TAUTOLOGY = "items attention : gradient-detached"
_AS_GIVEN = "replace('' + datum.value, '-', '−')"
"""Formats of numbers would round what is near 1."""
_NEAR = 0.1
"""Below it the axis is linear, beyond it logarithmic."""


def charts(sweep: Sweep) -> Iterator[Chart]:
    """Entropies, rank agreements, and accuracy with support, as λ goes from dense to sparse."""
    points = sweep.points()
    points = points[points["mean"].notna() & ~points["measure"].str.endswith(_TAUTOLOGY)]
    points = points.rename(columns={"mean": "value"})
    over = points["over"].iloc[0] if len(points) else ""
    band = f" Bands are 95% intervals over {over}. Larger λ is sparser attention."
    entropies = _split(points, "entropy: ", "")
    if len(entropies):
        yield made(
            "sweep-entropy",
            "sweep",
            "Entropy of attention and of influence along λ",
            "Normalised entropy, mean over documents. If sparse attention pointed at few words, "
            "the entropy of influence would fall with that of attention." + band,
            _lines(entropies, "normalised entropy", (0, 1)),
        )
    taus = pd.concat(
        [
            _split(points, f"tau: {on} attention : ", f"attention and importances of {on}")
            for on in ("inputs", "items")
        ]
    )
    if len(taus):
        yield made(
            "sweep-tau",
            "sweep",
            "Rank agreement of attention along λ",
            "Kendall's τ-b of attention with other importances, mean over documents. Sparser "
            "attention would explain better if lines rose." + band,
            _lines(taus, "Kendall's τ-b", (-1, 1)),
        )
    shown = {"accuracy": "accuracy", "support_share": "share of items with weight"}
    parts = [points[points["measure"] == m].assign(panel="", line=s) for m, s in shown.items()]
    beside = pd.concat(parts)
    if len(beside):
        yield made(
            "sweep-accuracy",
            "sweep",
            "Accuracy and support along λ",
            "What sparsity costs in accuracy, and how many items keep weight." + band,
            _lines(beside, "share", (0, 1)),
        )


def _split(points: pd.DataFrame, start: str, panel: str) -> pd.DataFrame:
    own = points[points["measure"].str.startswith(start)]
    return own.assign(panel=panel, line=own["measure"].str.removeprefix(start))


def _lines(frame: pd.DataFrame, title: str, domain: Sequence[float]) -> object:
    names = list(dict.fromkeys(frame["line"]))[:MOST_CHARTED]
    shown = dict(zip(names, shown_names(names), strict=True))
    frame = frame[frame["line"].isin(names)].assign(line=frame["line"].map(shown))
    lams = sorted(float(lam) for lam in set(frame["lam"]))
    x = alt.X(
        "lam:Q",
        title="λ",
        scale=alt.Scale(type="symlog", constant=_NEAR, domain=[lams[0], lams[-1]], nice=False),
        axis=alt.Axis(values=lams, labelExpr=_AS_GIVEN, labelOverlap="greedy"),
    )
    kept = frame[["panel", "line", "lam", "value", "low", "high", "n"]]
    return lines(kept, Series("line", list(shown.values())), x, title, domain, height=190)

"""The pictures of audits; altair is imported here, and where charts are drawn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from verax.audits.answers import CONTROLS, Answers
from verax.audits.contrasts import TITLES, Contrast
from verax.audits.estimating import Estimate
from verax.audits.phrasing import number
from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, intervals, lines, reach
from verax.drawing.maps import layer_head_map
from verax.drawing.series import Series
from verax.importance import DERIVED

_ONE = Series("model", ["all"])


def name_of(answers: Answers, several_texts: bool) -> str:
    """A kind of model in a picture; with its texts where kinds read several."""
    title = answers.entry.title
    return f"{title}, {answers.entry.texts}" if several_texts else title


def titles(of: Sequence[Answers]) -> list[str]:
    """Names of kinds of model, no two the same."""
    several = len({one.entry.texts for one in of}) > 1
    return [name_of(one, several) for one in of]


def scores_chart(of: Sequence[Answers]) -> Chart | None:
    """Points of words fewer than random order, by score, a panel for each kind of model."""
    rows = [
        (title, score, one.fewer[score])
        for title, one in zip(titles(of), of, strict=True)
        for score in (*DERIVED, *CONTROLS)
        if score in one.fewer
    ]
    return _intervals(
        "audit-scores",
        "Words fewer than random order, by score",
        "points of a document's words that need not be taken out",
        rows,
        zero=True,
    )


def uniform_chart(of: Sequence[Answers]) -> Chart | None:
    """Decisions that stay under uniform attention."""
    rows = [
        ("", title, one.uniform)
        for title, one in zip(titles(of), of, strict=True)
        if one.uniform is not None
    ]
    return _intervals(
        "audit-uniform",
        "Decisions that stay when all attention is made uniform",
        "percent of decisions",
        rows,
        domain=(0, 100),
    )


def layers_chart(of: Sequence[Answers]) -> Chart | None:
    """What states tell of their word, by depth."""
    deep = [(t, one) for t, one in zip(titles(of), of, strict=True) if len(one.layers) > 1]
    rows = [
        {
            "model": title,
            "panel": "",
            "layer": layer / max(one.layers),
            "value": kept.value,
        }
        for title, one in deep
        for layer, kept in one.layers.items()
    ]
    if not rows:
        return None
    frame = pd.DataFrame(rows)
    x = alt.X("layer:Q", title="depth: 0 embeddings, 1 the last layer")
    top = reach(max(100.0, float(frame["value"].max())))
    series = Series("model", [title for title, _ in deep][:8])
    frame = frame[frame["model"].isin(list(series.names))]
    picture = lines(frame, series, x, "percent kept", (0, top), points=False)
    return made(
        "audit-layers",
        "audit",
        "What states tell of their word, layer by layer",
        "Mutual information of a word and its state, above that of shuffled words, in percent of "
        "what the word's own vector tells. Means over seeds.",
        picture,
    )


def heads_chart(title: str, survival: pd.DataFrame) -> Chart | None:
    """Decisions that stay when one head is made uniform."""
    if survival.empty:
        return None
    frame = survival.assign(panel="")
    low = min(90.0, float(frame["value"].min()))
    picture = layer_head_map(frame, "percent that stays", (low, 100.0), 0)
    return made(
        "audit-heads",
        "audit",
        f"{title}: decisions that stay when one head is made uniform",
        "Percent of decisions, mean over seeds. The stronger the colour, the less the head is "
        "missed.",
        picture,
    )


def contrasts_chart(of: Sequence[Contrast], names: Mapping[str, str]) -> Chart | None:
    """Differences between kinds of model."""
    rows = [
        (TITLES[what], f"{names[one.first]} − {names[one.second]}", difference)
        for what in TITLES
        for one in of
        for name, difference in one.differences.items()
        if name == what and one.first in names and one.second in names
    ]
    return _intervals(
        "audit-contrasts", "What grounding and pretraining change", "points", rows, zero=True
    )


def spans_chart(spans: Mapping[str, Mapping[str, Estimate]]) -> Chart | None:
    """How well scores find the instruction."""
    rows = [
        (panel, score, values[column])
        for panel, column in (
            ("average precision", "auprc"),
            ("share of the top five words", "top"),
        )
        for score, values in spans.items()
        if column in values
    ]
    chance = [values["share"] for values in spans.values() if "share" in values][:1]
    note = f" Chance gives {number(chance[0], digits=2)}." if chance else ""
    return _intervals(
        "audit-spans",
        "Does a score find the injected instruction?",
        "1: every word of it before any other",
        rows,
        domain=(0, 1),
        note=note,
    )


def _intervals(
    name: str,
    title: str,
    axis: str,
    rows: Iterable[tuple[str, str, Estimate | None]],
    domain: Sequence[float] | None = None,
    zero: bool = False,
    note: str = "",
) -> Chart | None:
    records: list[dict[str, Any]] = [
        {
            "model": "all",
            "panel": panel,
            "row": row,
            "value": one.value,
            "low": one.low,
            "high": one.high,
            "n": one.n,
        }
        for panel, row, one in rows
        if one is not None
    ]
    if not records:
        return None
    frame = pd.DataFrame(records)
    if domain is None:
        least = float(frame[["value", "low"]].min().min())
        most = float(frame[["value", "high"]].max().max())
        domain = (-reach(-least) if least < 0 else 0.0, reach(most))
    order = list(dict.fromkeys(frame["row"]))
    picture = intervals(frame, _ONE, axis, order, domain, zero=zero)
    return made(name, "audit", title, f"{INTERVALS}{note}", picture)

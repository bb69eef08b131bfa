"""Charts: published numbers of a paper against measured ones; the verdicts of all papers."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import pandas as pd

from research.papers.checking import Checked, counts, pairs
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, MARKS, REPLICATES
from verax.report import COLORS, INK, Chart

SCATTER = "scatter"
SIZE = 150
"""Pixels of a panel's side."""
_AS, _OTHER = "as published, within seeds", "farther than seeds explain"
_FOR, _AGAINST = "as claimed", "not as claimed"
REPLICATED = "replicated.svg"
_COLORS = {
    REPLICATES: COLORS[0],
    IN_PART: COLORS[5],
    DOES_NOT: COLORS[1],
    CANNOT: "#d8dce1",
}
_ROW = 30


def can_draw() -> bool:
    """Whether charts can be drawn here: altair and vl-convert-python are installed."""
    return all(find_spec(module) is not None for module in ("altair", "vl_convert"))


def points(checked: Checked) -> pd.DataFrame:
    """Panel, x, y and kind of each point: a published number against ours.

    `scatter` of a paper's file has for each panel the measures that it shows. Numbers there are
    claims, of a paper whose numbers are not carried: the side that is claimed to be smaller
    against the one that is claimed to be larger.
    """
    rows = []
    table = pairs(checked.tables.values())
    for panel, wanted in checked.paper.scatter.items():
        for row in table[table["measure"].isin(wanted)].to_dict("records"):
            kind = _OTHER if row["beyond"] is True else _AS
            rows.append((panel, row["published"], row["value"], kind))
        for one in (one for one in checked.judged if one.claim.id in wanted):
            for c in one.finding.comparisons:
                if c.b is not None:
                    rows.append((panel, c.b.value, c.a.value, _FOR if c.is_for else _AGAINST))
    return pd.DataFrame(rows, columns=["panel", "x", "y", "kind"])


def title(frame: pd.DataFrame) -> str:
    """What the chart of these points shows."""
    published = {_AS, _OTHER} & set(frame["kind"])
    return "Published against measured" if published else "The two sides of each comparison"


def scatter(checked: Checked) -> Chart | None:
    """The chart; None if there is nothing to draw."""
    frame = points(checked)
    if frame.empty:
        return None
    import altair as alt

    kinds = [kind for kind in (_AS, _OTHER, _FOR, _AGAINST) if kind in set(frame["kind"])]
    published = bool({_AS, _OTHER} & set(kinds))
    panels = [
        _panel(alt, str(name), rows, kinds, published)
        for name, rows in frame.groupby("panel", sort=False)
    ]
    reading = "A point on the line is the same in both."
    if not published:
        reading = "Points above the line are as claimed."
    grid: Any = alt.concat(*panels, columns=4, spacing=24)
    return Chart.from_altair(grid, SCATTER, title(frame), reading)


def _panel(alt: Any, name: str, rows: pd.DataFrame, kinds: list[str], published: bool) -> Any:
    low, high = _ends([*rows["x"], *rows["y"]])
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    titles = ("published", "measured") if published else ("claimed smaller", "claimed larger")
    axis = alt.Axis(tickCount=4, grid=False)
    x = alt.X("x:Q", title=titles[0], scale=scale, axis=axis)
    y = alt.Y("y:Q", title=titles[1], scale=scale, axis=axis)
    colors = [COLORS[0] if k in (_AS, _FOR) else COLORS[1] for k in kinds]
    shapes = ["circle" if k in (_AS, _FOR) else "diamond" for k in kinds]
    legend = alt.Legend(title=None, orient="top", direction="horizontal")
    values = [{"x": row.x, "y": row.y, "kind": row.kind} for row in rows.itertuples()]
    marks = alt.Chart(alt.InlineData(values=values)).mark_point(filled=True, size=42, opacity=0.75)
    drawn = marks.encode(
        x=x,
        y=y,
        color=alt.Color("kind:N", scale=alt.Scale(domain=kinds, range=colors), legend=legend),
        shape=alt.Shape("kind:N", scale=alt.Scale(domain=kinds, range=shapes), legend=legend),
    )
    ends = alt.InlineData(values=[{"x": low, "y": low}, {"x": high, "y": high}])
    line = alt.Chart(ends).mark_line(color=INK, strokeWidth=1, strokeDash=[4, 3], opacity=0.6)
    return (line.encode(x=x, y=y) + drawn).properties(title=name, width=SIZE, height=SIZE)


def replicated(every: Sequence[Checked]) -> Chart:
    """A bar for each paper: how many of its claims have which verdict."""
    import altair as alt

    rows = [
        {"paper": short_name(checked), "verdict": verdict, "claims": number, "place": place}
        for checked in every
        for place, (verdict, number) in enumerate(checked.counts.items())
        if number
    ]
    names = [short_name(checked) for checked in every]
    y = alt.Y("paper:N", sort=names, title=None, axis=alt.Axis(grid=False))
    color = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=list(MARKS), range=[_COLORS[verdict] for verdict in MARKS]),
        legend=alt.Legend(title=None, orient="top", columns=2),
    )
    x = alt.X("claims:Q", title="claims", axis=alt.Axis(tickMinStep=1, grid=False))
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=y, order="place:Q")
    bars: Any = base.mark_bar(stroke=INK, strokeWidth=0.5).encode(x=x, color=color)
    drawn = bars.properties(width=420, height=_ROW * len(names))
    reading = "; ".join(f"{short_name(checked)}: {counts(checked)}" for checked in every)
    return Chart.from_altair(drawn, "replicated", "Claims of each paper, by verdict", reading)


def short_name(checked: Checked) -> str:
    """Last names of the authors, and the year."""
    last = [name.split()[-1] for name in re.split(", | and ", checked.paper.authors)]
    names = " & ".join(last) if len(last) < 3 else f"{last[0]} et al."
    return f"{names} {checked.paper.name.rpartition('-')[2]}"


def _ends(values: list[float]) -> tuple[float, float]:
    """Round ends a little beyond the values.

    >>> _ends([0.12, 0.87])
    (0.1, 0.9)
    """
    low, high = min(values), max(values)
    step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
    step = step / 2 if (high - low) / step < 4 else step
    return round(math.floor(low / step) * step, 9), round(math.ceil(high / step) * step, 9)

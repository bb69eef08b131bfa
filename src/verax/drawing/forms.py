"""Forms that several exams are drawn in: boxes, histograms, numbers with their intervals, lines.

Each takes a table with the columns it names, a `panel` among them, and draws the panels below each
other on one scale.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import pandas as pd

from verax.drawing.rendering import CATEGORIES, INK, PAPER
from verax.drawing.series import Series

INTERVALS = "A point is a mean, a line its 95% interval."
"""How to read `means`."""
WIDTH, _WHOLE = 340, 510
_ROW, _NARROW, _OFFSET = 28, 20, 17
_PANELS = 6
"""Of more, rows stand closer."""
_LETTER = 8.3
"""Pixels of a letter of 13 px in the widest fonts that browsers take, such as Verdana."""


def data(frame: pd.DataFrame) -> alt.InlineData:
    """The rows of a table, what is no number as null."""
    clean = frame.astype(object).where(frame.notna(), None)
    records = [{str(k): v for k, v in row.items()} for row in clean.to_dict("records")]
    return alt.InlineData(values=records)


def reach(most: float) -> float:
    """A round number a little beyond the largest value, so that no mark is cut.

    >>> reach(0.37), reach(8.2), reach(96)
    (0.38, 8.4, 98.0)
    """
    if not math.isfinite(most) or most <= 0:
        return 1.0
    step = 10 ** math.floor(math.log10(most)) / 5
    return round(math.ceil(most * 1.02 / step) * step, 9)


def quantity(field: str, title: str, domain: Sequence[float], **more: Any) -> alt.X:
    """An x-axis of numbers that begins and ends where `domain` does."""
    scale = alt.Scale(domain=list(domain), nice=False)
    return alt.X(f"{field}:Q", title=title, scale=scale, **more)


def points_along(
    x: alt.X,
    title: str,
    domain: Sequence[float],
    series: Series,
    fields: Sequence[str] = ("value", "low", "high"),
    **rule: Any,
) -> tuple[alt.Chart, alt.Chart]:
    """A base for marks at the first of `fields` along x, and lines between the two others."""
    value, low, high = fields
    scale = alt.Scale(domain=list(domain), nice=False)
    base = alt.Chart().encode(x=x, y=alt.Y(f"{value}:Q", title=title, scale=scale))
    ends = alt.Y(f"{low}:Q", title=title, scale=scale)
    rules = alt.Chart().mark_rule(opacity=0.7, **rule)
    return base, rules.encode(x=x, y=ends, y2=f"{high}:Q", color=series.colour())


def boxes(
    frame: pd.DataFrame, series: Series, title: str, order: Sequence[str], domain: Sequence[float]
) -> Any:
    """Box plots from `whisker_low`, `q1`, `median`, `q3`, `whisker_high`, by `row`.

    A column `mean` says where a point is, else it is the median.
    """
    base, x = _rows(series, order), _axis(title, domain)
    colour, shape = series.colour(room=_room(order)), series.shape(room=_room(order))
    size = 11 if series.several else 15
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(
            x=alt.X("whisker_low:Q", **x), x2="whisker_high:Q", color=colour
        ),
        base.mark_bar(size=size, fill=PAPER).encode(x=alt.X("q1:Q", **x), x2="q3:Q"),
        base.mark_bar(size=size, fillOpacity=0.35, strokeWidth=1.5).encode(
            x=alt.X("q1:Q", **x), x2="q3:Q", color=colour, stroke=_plain(series)
        ),
        base.mark_tick(thickness=3, size=size).encode(x=alt.X("median:Q", **x), color=colour),
    ]
    # of the median where there is no mean, so that colour is never alone
    at = "mean" if "mean" in frame else "median"
    point = base.mark_point(filled=True, size=38, opacity=1, strokeWidth=1, stroke=PAPER)
    layers.append(point.encode(x=alt.X(f"{at}:Q", **x), color=colour, shape=shape))
    return _stacked(alt.layer(*layers), frame, series, order)


def intervals(
    frame: pd.DataFrame,
    series: Series,
    title: str,
    order: Sequence[str],
    domain: Sequence[float],
    bars: bool = False,
    zero: bool = False,
) -> Any:
    """A point for each `value` and a line from `low` to `high`, by `row`; on bars if asked.

    A column `published` adds a hollow mark where it has a number; `zero` a line to be on one side
    of.
    """
    base, x = _rows(series, order), _axis(title, domain)
    colour, shape = series.colour(room=_room(order)), series.shape(room=_room(order))
    size = 11 if series.several else 15
    layers = []
    if zero:
        one = alt.Chart().transform_aggregate(rows="count()")  # a line, not one a row
        layers.append(one.mark_rule(strokeDash=[4, 3]).encode(x=alt.X(datum=0, **x)))
    if bars:
        layers.append(
            base.mark_bar(size=size, fillOpacity=0.35).encode(x=alt.X("value:Q", **x), color=colour)
        )
    layers += [
        base.mark_rule(strokeWidth=2, clip=True).encode(
            x=alt.X("low:Q", **x), x2="high:Q", color=colour
        ),
        base.mark_point(filled=True, size=60, opacity=1).encode(
            x=alt.X("value:Q", **x), color=colour, shape=shape
        ),
    ]
    if "published" in frame and frame["published"].notna().any():
        frame = frame.assign(source="published")
        layers.append(_published(base, alt.X("published:Q", **x)))
    return _stacked(alt.layer(*layers), frame, series, order)


def means(
    frame: pd.DataFrame,
    series: Series,
    title: str,
    domain: Sequence[float],
    bars: bool = False,
    zero: bool = False,
) -> Any:
    """Means with their intervals, from `value`, `low` and `high`, rows in the table's order."""
    kept = frame[["model", "panel", "row", "value", "low", "high", "n"]]
    return intervals(kept, series, title, list(dict.fromkeys(kept["row"])), domain, bars, zero)


def histograms(
    frame: pd.DataFrame,
    series: Series,
    title: str,
    domain: Sequence[float],
    height: int = 90,
    bins: int = 20,
) -> Any:
    """How `value` is spread over as many bins of `domain`, in percent of a series' values."""
    cuts = np.linspace(domain[0], domain[1], bins + 1).round(6)
    parts = []
    for (panel, name), part in frame.groupby(["panel", series.field], sort=False, observed=True):
        values = part["value"].dropna().to_numpy(dtype=np.float64)
        if not len(values):
            continue
        # rounding may put a value a hair beyond an end
        counts, _ = np.histogram(np.clip(values, cuts[0], cuts[-1]), cuts)
        share = 100 * counts / len(values)
        # a step holds up to the next edge, so the last is said twice
        drawn = {"edge": cuts, "share": [*share, share[-1]], "panel": panel, series.field: name}
        parts.append(pd.DataFrame(drawn))
    steps = pd.concat(parts, ignore_index=True)
    x = alt.X("edge:Q", **_axis(title, (float(cuts[0]), float(cuts[-1]))))
    y = alt.Y("share:Q", title="percent", stack=None, axis=alt.Axis(tickCount=3))
    base = alt.Chart()
    area = base.mark_area(interpolate="step-after", fillOpacity=0.14).encode(
        x=x, y=y, color=series.colour(line=True)
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=2).encode(
        x=x, y=y, color=series.colour(line=True), strokeDash=series.dash(line=True)
    )
    layered = alt.layer(area, line).properties(width=460, height=height)
    return panels(layered, steps)


def lines(
    frame: pd.DataFrame,
    series: Series,
    x: alt.X,
    title: str,
    domain: Sequence[float],
    height: int = 150,
    points: bool = True,
) -> Any:
    """`value` along x, with a band from `low` to `high` where there is one."""
    base = alt.Chart()
    if "joined" in frame:
        # what is not joined is a line of its own
        base = base.encode(detail="joined:N")
    axis = _axis(title, domain, max(2, height // 40))
    y = alt.Y("value:Q", **axis)
    layers: list[Any] = []
    if "low" in frame and frame["low"].notna().any():
        layers.append(
            base.mark_area(fillOpacity=0.14, clip=True).encode(
                x=x, y=alt.Y("low:Q", **axis), y2="high:Q", color=series.colour(not points)
            )
        )
    layers.append(
        base.mark_line(strokeWidth=2).encode(
            x=x, y=y, color=series.colour(not points), strokeDash=series.dash(not points)
        )
    )
    if points:
        layers.append(
            base.mark_point(filled=True, size=45, opacity=1).encode(
                x=x, y=y, color=series.colour(not points), shape=series.shape()
            )
        )
    return panels(alt.layer(*layers).properties(width=460, height=height), frame)


def panels(layered: Any, frame: pd.DataFrame, **independent: Any) -> Any:
    """One picture a `panel`, below each other; one alone has no heading."""
    names = list(dict.fromkeys(frame["panel"]))
    if len(names) == 1 and not names[0]:
        return layered.properties(data=data(frame))
    header = alt.Header(title=None, labelAnchor="start", labelOrient="top")
    facet = alt.Facet("panel:N", sort=names, header=header)
    return layered.facet(facet, data=data(frame), columns=1, spacing=14).resolve_scale(
        **independent
    )


def side_by_side(layered: Any, frame: pd.DataFrame, series: Series, height: int) -> Any:
    """A picture a model, two in a row."""
    if not series.several:
        return layered.properties(data=data(frame), width=460, height=height)
    header = alt.Header(title=None, labelAnchor="start")
    facet = alt.Facet(f"{series.field}:N", sort=list(series.names), header=header)
    narrow = layered.properties(width=206, height=height)
    return narrow.facet(facet, data=data(frame), columns=2, spacing=34)


def _rows(series: Series, order: Sequence[str]) -> alt.Chart:
    y = alt.Y(
        "row:N",
        sort=list(order),
        title=None,
        axis=alt.Axis(minExtent=_extent(order), labelLimit=340, labelOverlap=False),
    )
    base = alt.Chart().encode(y=y)
    return base.encode(yOffset=series.offset()) if series.several else base


def _stacked(layered: Any, frame: pd.DataFrame, series: Series, order: Sequence[str]) -> Any:
    many = frame["panel"].nunique() > _PANELS
    step = alt.Step(_OFFSET if series.several else _NARROW if many else _ROW)
    return panels(layered.properties(width=_room(order), height=step), frame, y="independent")


def _room(order: Sequence[str]) -> int:
    """Pixels that the names of rows leave to a picture."""
    return min(WIDTH, _WHOLE - _extent(order))


def _extent(order: Sequence[str]) -> int:
    """Pixels for the longest name in a font wider than the one that names are measured in."""
    return round(_LETTER * max(map(len, order), default=0)) + 12


def _axis(title: str, domain: Sequence[float], ticks: int = 6) -> dict[str, Any]:
    """Title, scale and ticks of an axis; from −1 to 1 both ends and 0 have a tick."""
    axis = alt.Axis(tickCount=ticks)
    if tuple(domain) == (-1, 1):
        axis = alt.Axis(values=[-1, -0.5, 0, 0.5, 1], format=".1f")
    return {"title": title, "scale": alt.Scale(domain=list(domain), nice=False), "axis": axis}


def _published(base: alt.Chart, x: alt.X) -> alt.Chart:
    """Hollow marks of published numbers, with a legend of their own."""
    legend = alt.Legend(symbolType="diamond", symbolFillColor="transparent", symbolSize=80)
    scale = alt.Scale(domain=["published"], range=[INK])
    hollow = base.mark_point(filled=False, shape="diamond", size=80, strokeWidth=1.8, opacity=1)
    return hollow.encode(x=x, stroke=alt.Stroke("source:N", scale=scale, legend=legend, title=None))


def _plain(series: Series) -> alt.Stroke:
    """The colour as an outline; the legend is the fill's."""
    return alt.Stroke(f"{series.field}:N", scale=series.scale(CATEGORIES), legend=None)

"""Charts of a table of your own, in the style of a report: intervals, lines, layers and heads."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from verax.drawing.chart import Chart
from verax.drawing.rendering import require_altair


def interval_chart(
    frame: pd.DataFrame,
    name: str,
    title: str,
    reading: str,
    axis: str,
    *,
    domain: Sequence[float] | None = None,
    zero: bool = False,
) -> Chart:
    """Return a chart of numbers with their intervals, one row each.

    Args:
        frame: columns row, value, low and high; optionally panel, for one picture each, and
            series, for numbers side by side in a row.
        name: of the chart's file.
        title: one line.
        reading: how to read the chart, in a few sentences.
        axis: the title of the horizontal axis.
        domain: the ends of the axis; those of the numbers, and zero, unless given.
        zero: whether to draw a line at zero.

    >>> numbers = pd.DataFrame({"row": ["tuned", "frozen"], "value": [0.9, 0.8]})
    >>> numbers = numbers.assign(low=numbers["value"] - 0.1, high=numbers["value"] + 0.05)
    >>> chart = interval_chart(numbers, "accuracy", "Accuracy", "Mean over seeds.", "accuracy")
    >>> chart.svg("light")[:4]
    '<svg'
    """
    require_altair()
    from verax.drawing.forms import intervals, reach
    from verax.drawing.series import Series

    frame = _complete(frame)
    if domain is None:
        least = float(frame[["value", "low"]].min().min())
        most = float(frame[["value", "high"]].max().max())
        domain = (-reach(-least) if least < 0 else 0.0, reach(most))
    series = Series("series", list(dict.fromkeys(frame["series"])))
    order = list(dict.fromkeys(frame["row"]))
    picture = intervals(frame, series, axis, order, domain, zero=zero)
    return Chart.from_altair(picture, name, title, reading)


def line_chart(
    frame: pd.DataFrame,
    name: str,
    title: str,
    reading: str,
    axes: tuple[str, str],
    *,
    domain: Sequence[float] | None = None,
) -> Chart:
    """Return a chart of `value` along `x`, one line per series.

    Args:
        frame: columns x and value; optionally low and high, for a band; panel; and series, of
            which at most eight can be told apart.
        name: of the chart's file.
        title: one line.
        reading: how to read the chart, in a few sentences.
        axes: the titles of the horizontal and the vertical axis.
        domain: the ends of the vertical axis; those of the numbers, and zero, unless given.
    """
    require_altair()
    import altair as alt

    from verax.drawing.forms import lines, reach
    from verax.drawing.series import Series

    frame = _complete(frame)
    if domain is None:
        least = float(frame["value"].min())
        domain = (-reach(-least) if least < 0 else 0.0, reach(float(frame["value"].max())))
    series = Series("series", list(dict.fromkeys(frame["series"])))
    picture = lines(frame, series, alt.X("x:Q", title=axes[0]), axes[1], domain, points=False)
    return Chart.from_altair(picture, name, title, reading)


def layer_head_chart(
    frame: pd.DataFrame,
    name: str,
    title: str,
    reading: str,
    legend: str,
    *,
    domain: Sequence[float],
    digits: int = 0,
) -> Chart:
    """Return a map of a deep model: a cell per layer and head, shaded by `value`.

    Args:
        frame: columns layer, head (a number from 1, or `all`) and value; optionally panel.
        name: of the chart's file.
        title: one line.
        reading: how to read the chart, in a few sentences.
        legend: what the values are.
        domain: the values of no colour and of the strongest.
        digits: decimals of the numbers in the cells.
    """
    require_altair()
    from verax.drawing.maps import layer_head_map

    picture = layer_head_map(_complete(frame), legend, domain, digits)
    return Chart.from_altair(picture, name, title, reading)


def _complete(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the columns panel and series."""
    missing = [name for name in ("panel", "series") if name not in frame]
    return frame.assign(**dict.fromkeys(missing, ""))

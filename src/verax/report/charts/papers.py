"""Charts of a paper's tables and figures, from the numbers of each and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pandas as pd

from verax.drawing.chart import Chart
from verax.report.charts.paper_curves import ALONG, STEPS, against, along
from verax.report.charts.paper_erasure import (
    BOX,
    DELTA_ALPHA,
    DELTA_JS,
    box_plots,
    delta_js,
    negatives,
)
from verax.report.charts.paper_frames import Shown
from verax.report.charts.paper_points import CELLS, contingency, points


def exhibit_charts(name: str, title: str, table: pd.DataFrame) -> list[Chart]:
    """The charts of an exhibit, in the form that its labels and measures ask for.

    name, title  of the exhibit
    table        as `verax.papers.exhibits.frame` makes it

    At most three charts; none where nothing is measured, or what is there is no finding: the size
    of a corpus, a setting of training.
    """
    shown = Shown.of(name, title, table)
    charts = list(_charts(shown)) if len(shown.rows) > 1 else []
    return [
        replace(chart, name=f"{name}-{number}" if number > 1 else name)
        for number, chart in enumerate(charts, start=1)
    ]


def _charts(shown: Shown) -> Iterator[Chart]:
    measures, columns = set(shown.measures), {str(column) for column in shown.rows}
    step = next((column for column in STEPS if column in columns), None)
    if DELTA_ALPHA in columns and DELTA_JS in measures:
        return delta_js(shown)
    if DELTA_ALPHA in columns and "negative" in measures:
        return negatives(shown)
    if measures >= set(BOX):
        return box_plots(shown)
    if measures >= set(CELLS):
        return contingency(shown)
    if step and measures >= {"JSD", "TVD"}:
        return against(shown, step)
    varying = [column for column in ALONG if column in columns and shown.rows[column].nunique() > 1]
    return along(shown, varying[0]) if varying else points(shown)

"""Whether a chart is Vega-Lite: drawing does not ask, since that takes longer than the rest."""

from __future__ import annotations

import altair as alt

from verax.report import Chart


def check_spec(chart: Chart) -> None:
    """Its specification follows the schema; rows of data may hold anything."""
    alt.Root.validate({name: part for name, part in chart.spec.items() if name != "datasets"})

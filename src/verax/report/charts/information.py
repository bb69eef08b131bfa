"""What states tell of their words, with floor and ceiling (Tutek & Šnajder 2020, table 2)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from verax.report.charts.chart import Chart, made
from verax.report.charts.forms import WIDTH, panels
from verax.report.charts.series import Models, of_column
from verax.report.charts.ticks import reach
from verax.report.rendering import CATEGORIES, INK

_BOUNDS = {
    "of shuffled labels": "floor: shuffled labels",
    "entropy of words": "ceiling: entropy of words",
}


def charts(models: Models) -> Iterator[Chart]:
    numbers = models.numbers("information", "information")
    told = of_column(numbers, "information")
    if told.empty:
        return
    parts = [told.assign(bound="information")]
    parts += [of_column(numbers, name).assign(bound=shown) for name, shown in _BOUNDS.items()]
    found = pd.concat(parts, ignore_index=True)
    several = found["row"].nunique() > 1
    found["panel"] = found["row"] if several else ""
    found = found[["model", "panel", "bound", "value"]]
    title = f"information of word and cluster, nats ({told['row'].iloc[0]})"
    x = alt.X(
        "value:Q",
        title="information of word and cluster, nats" if several else title,
        scale=alt.Scale(domain=[0, reach(found["value"].max())], nice=False),
    )
    labels = alt.Axis(labels=models.several)
    base = alt.Chart().encode(
        x=x, y=alt.Y("model:N", sort=list(models.names), title=None, axis=labels)
    )
    is_bound = alt.FieldOneOfPredicate(field="bound", oneOf=list(_BOUNDS.values()))
    is_told = alt.FieldEqualPredicate(field="bound", equal="information")
    bar = base.transform_filter(is_told).mark_bar(size=16, color=CATEGORIES[0], fillOpacity=0.7)
    bounds = (
        base.transform_filter(is_bound)
        .mark_point(filled=True, size=90, color=INK, opacity=1)
        .encode(
            shape=alt.Shape(
                "bound:N",
                scale=alt.Scale(
                    domain=list(_BOUNDS.values()), range=["triangle-right", "triangle-left"]
                ),
                legend=alt.Legend(title=None, columns=2),
            )
        )
    )
    layered = alt.layer(bar, bounds).properties(
        width=WIDTH if models.several else 460, height=alt.Step(32)
    )
    yield made(
        "information-bars",
        "information",
        "How much of the word is left in its hidden state",
        "The bar is the mutual information of a word and the cluster of its state. Read it between "
        "its bounds: the floor is what the same estimate gives for clusters dealt out at random, "
        "its bias; the ceiling is what states that tell their word exactly would have. Bars of "
        "different corpora must not be compared, their bounds differ.",
        panels(layered, found),
    )

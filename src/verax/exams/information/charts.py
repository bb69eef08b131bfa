"""What states tell of their words, with floor and ceiling (Tutek & Šnajder 2020, table 2)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import WIDTH, panels, quantity, reach
from verax.drawing.rendering import CATEGORIES, INK
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.information.measures import INFORMATION, NAME

_BOUNDS = {"shuffled": "floor: shuffled labels", "word_entropy": "ceiling: entropy of words"}
_INFORMATION = "information"


def charts(models: Models) -> Iterator[Chart]:
    """A bar a model between its bounds, a panel for each choice of words."""
    numbers = models.numbers(NAME, INFORMATION.id)
    measured = of_column(numbers, _INFORMATION)
    if measured.empty:
        return
    parts = [measured.assign(bound=_INFORMATION)]
    parts += [of_column(numbers, column).assign(bound=words) for column, words in _BOUNDS.items()]
    drawn = pd.concat(parts, ignore_index=True)
    rows = {row: titles.row_title(INFORMATION.id, row) for row in dict.fromkeys(drawn["row"])}
    several = len(rows) > 1
    drawn["panel"] = drawn["row"].map(rows) if several else ""
    drawn = drawn[["model", "panel", "bound", "value"]]
    axis = "information of word and cluster, nats"
    title = axis if several else f"{axis} ({next(iter(rows.values()))})"
    x = quantity("value", title, (0, reach(drawn["value"].max())))
    labels = alt.Axis(labels=models.several)
    base = alt.Chart().encode(
        x=x, y=alt.Y("model:N", sort=list(models.names), title=None, axis=labels)
    )
    is_bound = alt.FieldOneOfPredicate(field="bound", oneOf=list(_BOUNDS.values()))
    is_measured = alt.FieldEqualPredicate(field="bound", equal=_INFORMATION)
    bar = base.transform_filter(is_measured).mark_bar(size=16, color=CATEGORIES[0], fillOpacity=0.7)
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
        NAME,
        "How much of the word is left in its hidden state",
        "The bar is the mutual information of a word and the cluster of its state. Read it between "
        "its bounds: the floor is what the same estimate gives for clusters dealt out at random, "
        "its bias; the ceiling is what states that tell their word exactly would have. Bars of "
        "different corpora must not be compared, their bounds differ.",
        panels(layered, drawn),
    )

"""What states tell of their words, with floor and ceiling (Tutek & Šnajder 2020, table 2)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import WIDTH, panels, points_along, quantity, reach
from verax.drawing.rendering import CATEGORIES, INK
from verax.drawing.series import Models, of_column
from verax.exams import titles
from verax.exams.information.measures import INFORMATION, LAYERS, NAME, layer_and_words

_BOUNDS = {"shuffled": "floor: shuffled labels", "word_entropy": "ceiling: entropy of words"}
_INFORMATION = "information"


def charts(models: Models) -> Iterator[Chart]:
    """Information between its bounds: a bar a model, and along the layers of a Transformer."""
    yield from _bars(models)
    yield from _along_layers(models)


def _bars(models: Models) -> Iterator[Chart]:
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


def _along_layers(models: Models) -> Iterator[Chart]:
    """Information by depth, with its interval, floor and ceiling."""
    numbers = models.numbers(NAME, LAYERS.id)
    drawn = of_column(numbers, _INFORMATION)
    if drawn.empty:
        return
    keys = ["model", "row"]
    for column in _BOUNDS:
        bound = of_column(numbers, column)[[*keys, "value"]].rename(columns={"value": column})
        drawn = drawn.merge(bound, on=keys, how="left")
    places = [layer_and_words(str(row)) for row in drawn["row"]]
    several = len({words for _, words in places}) > 1
    drawn["layer"] = [layer for layer, _ in places]
    drawn["panel"] = [
        titles.row_title(INFORMATION.id, words) if several else "" for _, words in places
    ]
    drawn = drawn[["model", "panel", "layer", "value", "low", "high", *_BOUNDS]]
    x = alt.X("layer:Q", title="layer (0: embeddings)", axis=alt.Axis(tickMinStep=1, grid=False))
    domain = (0, reach(float(drawn[["high", "value", "word_entropy"]].max().max())))
    base, rules = points_along(x, "nats", domain, models, strokeWidth=2)
    bounds = [
        base.mark_line(strokeDash=[4, 3], strokeWidth=1.2).encode(
            y=alt.Y(f"{column}:Q", title="nats"), color=models.colour()
        )
        for column in _BOUNDS
    ]
    line = base.mark_line(strokeWidth=2).encode(color=models.colour(), strokeDash=models.dash())
    points = base.mark_point(filled=True, size=45, opacity=1).encode(
        color=models.colour(), shape=models.shape()
    )
    layered = alt.layer(*bounds, line, rules, points).properties(width=460, height=200)
    yield made(
        "information-layers",
        NAME,
        "How much of the word is left in its state, layer by layer",
        "The mutual information of a word and the cluster of its state, from the embeddings to the "
        "last layer; lines through points are 95% intervals over documents. The upper broken line "
        "is the ceiling, the entropy of words; the lower one the floor, what clusters dealt out at "
        "random give. Where information falls, states tell less of their own word, and weight on a "
        "state is less of a weight on it.",
        panels(layered, drawn),
    )

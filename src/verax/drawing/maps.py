"""A map of a deep model: a cell for each layer and head, the stronger its colour the larger."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd

from verax.drawing.forms import panels
from verax.drawing.rendering import CATEGORIES

ALL_HEADS = "all"
"""The head of a cell that is of its whole layer."""
_WIDTH, _CELL, _HEIGHT, _LOW = 500, 42, 26, 20
_WRITTEN = 13
"""Columns that leave room for a number in each cell; of more, only colours are drawn."""
_OPACITIES = 0.01, 0.6
"""Of the colour: text must be read on the strongest; the weakest is written without exponent."""


def _legend(title: str) -> alt.Legend:
    return alt.Legend(title=title, symbolType="square", symbolFillColor=CATEGORIES[0])


def layer_head_map(frame: pd.DataFrame, title: str, domain: Sequence[float], digits: int) -> Any:
    """Cells by `layer` and `head`, whose colour is `value`, a map for each `panel`.

    Numbers stand in the cells where there is room.

    Args:
        frame: panel, layer (a number from 1), head (a number from 1, or `all`), value.
        title: what the values are, where colours need a legend.
        domain: the values of no colour and of the strongest.
        digits: behind the point of a number in a cell.
    """
    heads = [ALL_HEADS] if (frame["head"] == ALL_HEADS).any() else []
    heads += [str(head) for head in sorted({int(h) for h in frame["head"] if h != ALL_HEADS})]
    is_written = len(heads) <= _WRITTEN
    cells = frame.assign(text=[f"{value:.{digits}f}" for value in frame["value"]])
    cells = cells[["panel", "layer", "head", "value", *(["text"] if is_written else [])]]
    axis = alt.Axis(labelAngle=0)
    base = alt.Chart().encode(
        x=alt.X("head:N", sort=heads, title="head", axis=axis),
        y=alt.Y("layer:O", title="layer"),
    )
    # an opacity, and no scale of colours: the page's paper and colour may be light or dark
    opacity = alt.Opacity(
        "value:Q",
        scale=alt.Scale(domain=list(domain), range=list(_OPACITIES), clamp=True),
        legend=None if is_written else _legend(title),
    )
    layers = [base.mark_rect(fill=CATEGORIES[0]).encode(opacity=opacity)]
    if is_written:
        layers.append(base.mark_text().encode(text="text:N"))
    step = min(_CELL, _WIDTH // len(heads))
    sized = alt.layer(*layers).properties(
        width=alt.Step(step), height=alt.Step(_HEIGHT if is_written else _LOW)
    )
    return panels(sized, cells, x="independent", y="independent")

"""Decision flips by the top item and by a random one (Serrano & Smith 2019, table 1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import data
from verax.drawing.names import shown_names
from verax.drawing.rendering import CATEGORIES, INK
from verax.drawing.series import Models
from verax.exams import titles
from verax.exams.erasure.measures import AUTHORS, CONTINGENCY, NAME, rule_of

CELLS = {
    "both": ("flips", "flips"),
    "top_only": ("flips", "stays"),
    "random_only": ("stays", "flips"),
    "neither": ("stays", "stays"),
}
"""Column of the table → what becomes of the decision with the top item, and with a random one."""
PLACE = ["flips", "stays"]


def charts(models: Models) -> Iterator[Chart]:
    """A table of two by two for each ranking, by the paper's rule for the random item."""
    numbers = models.numbers(NAME, CONTINGENCY.id)
    by_paper = numbers["row"].map(lambda row: rule_of(row) != AUTHORS).astype(bool)
    numbers = numbers[by_paper & numbers["value"].notna()]
    if numbers.empty:
        return
    rows = list(dict.fromkeys(numbers["row"]))
    titled = [titles.row_title(CONTINGENCY.id, row) for row in rows]
    shown = dict(zip(rows, shown_names([f"top by {row}" for row in titled]), strict=True))
    cells = pd.DataFrame(
        {
            "model": numbers["model"],
            "ranking": numbers["row"].map(shown),
            "top": numbers["column"].map(lambda column: CELLS[column][0]),
            "random": numbers["column"].map(lambda column: CELLS[column][1]),
            "value": numbers["value"],
        }
    )
    side = min(72, 440 // (2 * len(rows)))
    header = alt.Header(title=None, labelOrient="top", labelFontWeight="normal")
    column = alt.Column("ranking:N", sort=list(shown.values()), header=header)
    layered = heat().properties(width=2 * side, height=2 * min(side, 46))
    tables = []
    for model, part in cells.groupby("model", sort=False):
        table = layered.facet(data=data(part), column=column, spacing=14)
        tables.append(table.properties(title=str(model)) if models.several else table)
    yield made(
        "erasure-contingency",
        NAME,
        "Decision flips when one item is erased, percent of documents",
        "Each table cuts the documents by whether the decision flips when the top item of a "
        "ranking is erased (upper row) and when a random other item is (left column); its four "
        "numbers are percents and add up to 100. Upper right: only the top item flips the "
        "decision. Lower left: only the random one does, which an importance should never let "
        "happen.",
        alt.vconcat(*tables),
    )


def heat(dy: int = 0) -> Any:
    """Two by two numbers in percent, darker where larger, from `top`, `random` and `value`."""
    x = alt.X(
        "random:N",
        sort=PLACE,
        title="a random item erased",
        axis=alt.Axis(orient="bottom", labelAngle=0),
    )
    y = alt.Y("top:N", sort=PLACE, title="top item erased", axis=alt.Axis(labelAngle=0))
    base = alt.Chart().encode(x=x, y=y)
    opacity = alt.FillOpacity(
        "value:Q", scale=alt.Scale(domain=[0, 100], range=[0.02, 0.6]), legend=None
    )
    cells = base.mark_rect(fill=CATEGORIES[0], stroke=INK, strokeWidth=0.5, strokeOpacity=0.5)
    text = base.mark_text(color=INK, dy=dy).encode(text=alt.Text("value:Q", format=".1f"))
    return alt.layer(cells.encode(fillOpacity=opacity), text)

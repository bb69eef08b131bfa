"""How models differ from the first, by exam; what each token of one text says to each of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import altair as alt
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import intervals, lines, reach
from verax.drawing.names import MOST_CHARTED, shortened, shown_names
from verax.drawing.rendering import printable
from verax.drawing.series import Series
from verax.exams import titles
from verax.exams.agreement.measures import AGREEMENT, ON_SUPPORT, pair_of
from verax.exams.measures import PERCENT, POINTS
from verax.exams.registry import find_place
from verax.exams.single_token.charts import along_text
from verax.report.compared import CURVES, direction, shown_rows
from verax.studies import Comparison

_POINTS = "points"
_COUNTS = ("dispersion.documents.support", "erasure.excess.attention.mean")
_NAME, _LABEL = 70, 48
"""Letters of a model's name, and of a measure's."""
_WORDS, _WORD = 30, 14
"""Words that an axis has room for, and letters of each."""
_SLANTED = 18
"""Words that have room for more than the height of a letter each."""


def charts(comparison: Comparison) -> Iterator[Chart]:
    """A chart an exam, of its judged measures; of all measures where none is judged."""
    table = shown_rows(comparison.table())
    table = table[table["low"].notna()]
    for exam, rows in table.groupby("exam", sort=False):
        judged = rows[rows["better"] != ""]["measure"]
        if len(judged):
            rows = rows[rows["measure"].isin(set(judged))]
        yield _differences(str(exam), rows, comparison)
    if comparison.curves is not None and len(comparison.curves):
        yield _curves(comparison.curves)


def _differences(exam: str, rows: pd.DataFrame, comparison: Comparison) -> Chart:
    groups = [group for group in comparison.groups if group in set(rows["group"])][:MOST_CHARTED]
    rows = rows[rows["group"].isin(groups)]
    names = shortened(groups, _NAME)
    panels = _panels(rows)
    labels = _labels(rows, panels)
    frame = rows.assign(
        panel=rows["measure"].map(panels),
        row=rows["measure"].map(labels),
        model=rows["group"].map(names),
        value=rows["difference"],
    )
    series = Series("model", list(names.values()))
    pictures = []
    for scale, part in frame.groupby(_scales(rows), sort=False):
        drawn = part[["panel", "row", "model", "value", "low", "high"]]
        # all labels for each, so that one stands exactly below the other
        order = list(dict.fromkeys(labels.values()))
        title = "difference, in points" if scale == _POINTS else "difference"
        pictures.append(intervals(drawn, series, title, order, _around_zero(drawn), zero=True))
    (reference,) = shown_names([comparison.reference], _NAME)
    what = "Each point is a model's measure"
    if len(groups) == 1:
        what = f"Each point is the measure of {names[groups[0]]}"
    reading = (
        f"{what} less that of {reference}; lines are 95% intervals over "
        f"{' or '.join(dict.fromkeys(rows['over']))}. One that crosses the dashed line at 0 leaves "
        "it open which is the larger."
    )
    if (rows["better"] != "").any():
        reading += " ↑ ↓ tell which way is better."
    picture = pictures[0] if len(pictures) == 1 else alt.vconcat(*pictures, spacing=14)
    return made(
        f"comparison-{exam}", exam, f"{titles.exam_title(exam)}: differences", reading, picture
    )


def _panels(rows: pd.DataFrame) -> dict[str, str]:
    """Measure → its panel: agreement is of inputs, or of items."""
    return {m: pair[0] if (pair := _pair(m)) else "" for m in dict.fromkeys(rows["measure"])}


def _labels(rows: pd.DataFrame, panels: Mapping[str, str]) -> dict[str, str]:
    """Measure → its title, after which way is better; no two of a panel alike."""
    labels: dict[str, str] = {}
    for _, part in rows.groupby(rows["measure"].map(panels), sort=False):
        by = {
            str(measure): of_measure for measure, of_measure in part.groupby("measure", sort=False)
        }
        words = [
            direction(of_measure.itertuples()) + _title(measure)
            for measure, of_measure in by.items()
        ]
        labels |= zip(by, shown_names(words, _LABEL), strict=True)
    return labels


def _title(measure: str) -> str:
    """The title of a measure; of agreement the importance beside attention."""
    pair = _pair(measure)
    if pair is None:
        return titles.measure_title(measure)
    place = find_place(measure)
    on_support = place is not None and place.table.id == ON_SUPPORT.id
    return f"{pair[2]}{', on support' if on_support else ''}"


def _pair(measure: str) -> tuple[str, str, str] | None:
    """Inputs or items, and the two importances, of a measure of agreement; else None."""
    place = find_place(measure)
    if place is None or place.table.id not in (AGREEMENT.id, ON_SUPPORT.id):
        return None
    return pair_of(place.row)


def _scales(rows: pd.DataFrame) -> pd.Series:
    """The axis of each row: differences in points, of shares and rates, or of counts."""
    scales = rows["measure"].where(rows["measure"].isin(_COUNTS), "rate")
    return scales.where(~rows["unit"].isin((PERCENT, POINTS)), _POINTS)


def _around_zero(rows: pd.DataFrame) -> tuple[float, float]:
    least, most = float(rows["low"].min()), float(rows["high"].max())
    if least == most == 0:
        return -1.0, 1.0
    return -reach(-least) if least < 0 else 0.0, reach(most) if most > 0 else 0.0


def _curves(curves: pd.DataFrame) -> Chart:
    names = shortened(list(dict.fromkeys(curves["model"]))[:MOST_CHARTED], _NAME)
    chosen = curves[curves["model"].isin(list(names))]
    points = along_text(chosen.assign(model=chosen["model"].map(names), panel=""))
    texts = [tuple(curve["text"]) for _, curve in curves.groupby("model", sort=False)]
    axis = alt.Axis(tickMinStep=1, grid=False)
    if len(set(texts)) == 1 and len(texts[0]) <= _WORDS:
        words = json.dumps([_short(word) for word in texts[0]])
        places = list(range(1, len(texts[0]) + 1))
        axis = alt.Axis(
            values=places,
            labelExpr=f"{words}[datum.value - 1]",
            labelAngle=-60 if len(places) <= _SLANTED else -90,
            labelOverlap=False,  # every word, or the line cannot be read
            grid=False,
        )
    x = alt.X("place:Q", title="place in the text", axis=axis)
    few = bool((points.groupby("model").size() <= _WORDS).all())
    series = Series("model", list(names.values()))
    return made(
        "comparison-curves",
        CURVES,
        "What each token would say alone",
        f"Along the text, the probability of {shown_names([curves['class'].iloc[0]])[0]}, had "
        "attention been on that token alone. A line that is high throughout tells the decision "
        "everywhere; one with peaks tells it at a few words.",
        lines(points, series, x, "probability", (0, 1), 150, few),
    )


def _short(word: str) -> str:
    clean = printable(str(word))
    return clean if len(clean) <= _WORD else clean[: _WORD - 1] + "…"

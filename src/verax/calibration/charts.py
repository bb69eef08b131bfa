"""Pictures of a calibration: where models stand in each exam, and how well exams tell them."""

from __future__ import annotations

import altair as alt
import numpy as np
import pandas as pd

from verax.calibration.analysis import REACH, Calibrated, separation
from verax.calibration.kinds import DECEPTIVE, HONEST
from verax.calibration.plan import HELD_OUT
from verax.drawing.chart import Chart, made
from verax.drawing.forms import data
from verax.drawing.rendering import CATEGORIES
from verax.exams.judgement.calibrated import Calibration


def charts(found: Calibrated, known: Calibration, family: str) -> list[Chart]:
    """Positions of models held out, and AUROC by kind.

    Args:
        found: models of one family.
        known: what was calibrated of it.
        family: what it is called.
    """
    return [_positions(known, family), _by_kind(found, known, family)]


def _name(what: str, family: str) -> str:
    return f"calibration-{what}-{family.lower().replace(' ', '-')}"


def _positions(known: Calibration, family: str) -> Chart:
    rows = [
        {"exam": exam, "side": model["side"], "position": value}
        for model in known.models
        if model["part"] == HELD_OUT
        for exam, value in model["at"].items()
        if value is not None
    ]
    picture = (
        alt.Chart(data(pd.DataFrame(rows)))
        .mark_tick(thickness=1.5, opacity=0.6)
        .encode(
            x=alt.X(
                "position:Q",
                title="0: deceptive edge, 1: honest edge",
                scale=alt.Scale(domain=[-REACH, 1 + REACH], nice=False),
            ),
            y=alt.Y("side:N", title=None, sort=[HONEST, DECEPTIVE]),
            color=_colour(),
            row=alt.Row(
                "exam:N",
                title=None,
                sort=list(known.exams),
                header=alt.Header(labelAngle=0, labelAlign="left", labelOrient="left"),
            ),
        )
        .properties(width=420, height=40)
    )
    return made(
        _name("positions", family),
        "calibration",
        f"{family}: where models held out stand in each exam",
        "A line is a model of a kind, a length and a number of classes that limits were not chosen "
        "on. Edges are where limits are: 5% of the models that they were chosen on are beyond.",
        picture,
    )


def _by_kind(found: Calibrated, known: Calibration, family: str) -> Chart:
    table = separation(found, HELD_OUT)
    measures = {exam: one["headline"] for exam, one in known.exams.items()}
    pairs = zip(table["exam"], table["measure"], strict=True)
    chosen = np.array([measures[exam] == measure for exam, measure in pairs])
    drawn = table[chosen & (table["by"] == "kind")][["exam", "group", "auroc"]]
    picture = (
        alt.Chart(data(drawn.reset_index(drop=True)))
        .mark_point(filled=True, size=60, color=CATEGORIES[0])
        .encode(
            x=alt.X("auroc:Q", title="AUROC", scale=alt.Scale(domain=[0, 1])),
            y=alt.Y("group:N", title=None, sort=list(dict.fromkeys(drawn["group"]))),
            column=alt.Column("exam:N", title=None, sort=list(known.exams)),
        )
        .properties(width=110)
    )
    return made(
        _name("kinds", family),
        "calibration",
        f"{family}: how well each exam tells each kind that was held out",
        "AUROC of a kind against all kinds of the other side: 1 is always told apart, 0.5 is "
        "chance, and below that the exam is misled.",
        picture,
    )


def _colour() -> alt.Color:
    scale = alt.Scale(domain=[HONEST, DECEPTIVE], range=[CATEGORIES[0], CATEGORIES[1]])
    return alt.Color("side:N", scale=scale, legend=None)

"""What tokens say on their own (Tutek & Šnajder 2020, figures 2–7)."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import numpy as np
import pandas as pd

from verax.drawing.chart import Chart, made
from verax.drawing.forms import INTERVALS, histograms, lines, means
from verax.drawing.series import Models, of_column
from verax.exams.single_token.measures import CORRECT, NAME, SINGLE_TOKEN

_PANELS = {"alone": "a token alone, mean of a document", "confidence": "the whole text"}
"""Measure of a document → the panel's heading."""
_MEANS = {"mean_probability": "a token alone", "confidence": "the whole text"}
"""Column of the summary → words."""
_AXIS = "probability of the class decided for"
LONGEST = 200
"""Places along a line; of longer documents neighbours are drawn as their mean."""
DOCUMENTS = 5


def charts(models: Models) -> Iterator[Chart]:
    """How sure tokens are of the decision, over documents or in the mean, and along a text."""
    table = models.table("single_token")
    if len(table):
        values = table[table["measure"].isin(list(_PANELS)) & table["value"].notna()]
        parts = [values[values["measure"] == m].assign(panel=p) for m, p in _PANELS.items()]
        drawn = pd.concat(parts, ignore_index=True)
        if len(drawn):
            yield _distribution(models, drawn)
    tokens = models.table("single_token_tokens")
    if len(tokens):
        yield _curves(models, tokens)
    if table.empty:
        yield from _means(models)


def _distribution(models: Models, drawn: pd.DataFrame) -> Chart:
    return made(
        "single_token-alone",
        NAME,
        "How sure of the decision a single token is",
        "Above: the probability of the class decided for, had attention been on one token alone, "
        "averaged over a document's tokens. Below: what the model gives that class for the whole "
        "text. Where the two look alike, any token tells the decision, neutral words too: the "
        "encoder has spread the evidence, and attention need not find it.",
        histograms(drawn, models, _AXIS, (0, 1)),
    )


def _means(models: Models) -> Iterator[Chart]:
    """Means, for a study that was packed without its tables by document."""
    numbers = models.numbers(NAME, SINGLE_TOKEN.id)
    numbers = numbers[numbers["row"] == CORRECT]
    parts = [of_column(numbers, column).assign(row=words) for column, words in _MEANS.items()]
    drawn = pd.concat(parts, ignore_index=True).assign(panel="")
    if drawn.empty:
        return
    yield made(
        "single_token-means",
        NAME,
        "How sure of the decision a single token is",
        "The probability of the class decided for, had attention been on one token alone, and for "
        "the whole text; of correct decisions. Where the two are alike, any token tells the "
        "decision: the encoder has spread the evidence, and attention need not find it. "
        f"{INTERVALS}",
        means(drawn, models, _AXIS, (0, 1)),
    )


def _curves(models: Models, tokens: pd.DataFrame) -> Chart:
    documents = list(dict.fromkeys(tokens["id"]))[:DOCUMENTS]
    chosen = tokens[tokens["id"].isin(documents)]
    drawn = along_text(chosen.assign(panel=[f"document {id_}" for id_ in chosen["id"]]))
    few = bool((drawn.groupby(["panel", "model"]).size() <= 40).all())
    x = alt.X("place:Q", title="place in the text", axis=alt.Axis(tickMinStep=1, grid=False))
    return made(
        "single_token-tokens",
        NAME,
        "What each token would say alone",
        "Along a text, the probability of the class that the model decided for, had attention been "
        "on that token alone. A line that is high throughout tells the decision everywhere; one "
        "with peaks tells it at a few words. Lines of different models are comparable where they "
        f"decide alike. Of texts of more than {LONGEST} tokens means of neighbours are drawn.",
        lines(drawn, models, x, "probability", (0, 1), 90, few),
    )


def along_text(curves: pd.DataFrame) -> pd.DataFrame:
    """value, model, panel and place: `p` along the items of each panel and model.

    Of more than `LONGEST` items, neighbours are one place with their mean.
    """
    parts = []
    for (panel, model), part in curves.groupby(["panel", "model"], sort=False, observed=True):
        each = -(-len(part) // LONGEST)
        thin = part[["item", "p"]].groupby(np.arange(len(part)) // each).mean()
        parts.append(thin.assign(model=str(model), panel=str(panel)))
    points = pd.concat(parts, ignore_index=True).rename(columns={"p": "value"})
    return points.assign(place=points["item"] + 1).drop(columns="item")

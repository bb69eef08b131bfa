"""The paper's figures as data: curves of adversaries, and of what single tokens say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.numbers import Number
from verax.papers.results import PaperResults
from verax.papers.tutek_snajder_2020.models import (
    ADVERSARIES,
    ATTENTIONS,
    MODELS,
    corpora_in,
    find,
    parts,
)
from verax.studies.adversaries.measures import lambda_of

DOCUMENTS = 6
PART = "sst"
"""Whose documents are shown."""
TOKENS = "single_token_tokens"
DISTANCES = {"JSD": "jsd", "TVD": "tvd"}
"""Measure → column of `adversaries`."""


def figure1(results: PaperResults) -> pd.DataFrame:
    """JSD of attention and TVD of the output of trained adversaries, a point for each λ."""
    rows = []
    own = parts(results, ADVERSARIES)
    for corpus in corpora_in(results, own):
        for model in ("base", "mlm"):
            where: dict[str, Any] = {"part": own, "corpus": corpus, "attention": "additive"}
            where |= MODELS[model]
            for row in results.rows("adversaries", "jsd", **where):
                labels = {"corpus": corpus, "model": model, "lam": lambda_of(row)}
                for measure, column in DISTANCES.items():
                    number = find(results, "adversaries", row, column, **where)
                    rows.append(entry(labels, measure, number))
    return frame(rows)


def curves(results: PaperResults, place: int) -> pd.DataFrame:
    """A document: p and weight of each item, one seed a model.

    `place` counts documents, by id, from 0. No word is in it.
    """
    tokens = results.table_by_cell(TOKENS)
    corpora = results.corpora(part=PART)
    if not tokens or not corpora:
        return frame([])
    corpus, rows = corpora[0], []
    cells = [key for key in results.select(part=PART, corpus=corpus)["cell"] if key in tokens]
    ids = sorted({document for key in cells for document in tokens[key]["id"].unique()})
    shown = ids[place : place + 1]
    for attention in ATTENTIONS:
        for model in ("base", "residual", "tying", "mlm"):
            where = {"part": PART, "corpus": corpus, "attention": attention, **MODELS[model]}
            cell = next((key for key in results.select(**where)["cell"] if key in tokens), None)
            if cell is None:
                continue
            chosen = tokens[cell][tokens[cell]["id"].isin(shown)].sort_values("item")
            for token in chosen.to_dict("records"):
                labels: dict[str, Any] = {"corpus": corpus, "attention": attention}
                labels |= {"model": model}
                labels |= {"document": int(token["id"]), "item": int(token["item"])}
                for measure in ("p", "weight"):
                    rows.append(entry(labels, measure, Number.of([token[measure]], [cell])))
    return frame(rows)


def _curves_of(place: int) -> Callable[[PaperResults], pd.DataFrame]:
    return lambda results: curves(results, place)


EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "figure1",
        "What it costs a trained adversary to attend elsewhere: JSD of attention, TVD of output",
        figure1,
        "Additive attention. `lam` weighs JSD against TVD in the adversary's loss.",
    ),
    *(
        Exhibit(
            f"figure{place + 2}",
            f"What each token of a text says alone, and its attention: document {place + 1}",
            _curves_of(place),
            "Of the first test documents, by position; the paper's are of SST's validation split.",
        )
        for place in range(DOCUMENTS)
    ),
)

"""The paper's figures as data: curves of adversaries and of single tokens."""

from __future__ import annotations

from functools import partial
from typing import Any

from verax.papers.exhibits import ExhibitList, Rows, entry
from verax.papers.numbers import SeedMean
from verax.papers.results import PaperResults
from verax.papers.tutek_snajder_2020.models import (
    ADVERSARIES,
    ATTENTIONS,
    MODELS,
    corpora_in,
    parts,
)
from verax.studies.adversaries.measures import lambda_of

DOCUMENTS = 6
PART = "sst"
"""The part whose documents are shown."""
TOKENS = "single_token_tokens"
DISTANCES = {"JSD": "jsd", "TVD": "tvd"}
"""Measure → column of `adversaries`."""
EXHIBITS = ExhibitList()


@EXHIBITS.add(
    "figure1",
    "What it costs a trained adversary to attend elsewhere: JSD of attention, TVD of output",
    "Additive attention. `lam` weighs JSD against TVD in the adversary's loss.",
)
def figure1(results: PaperResults) -> Rows:
    """JSD of attention and TVD of the output of trained adversaries, a point per λ."""
    adversaries = parts(results, ADVERSARIES)
    for corpus in corpora_in(results, adversaries):
        for model in ("base", "mlm"):
            where: dict[str, Any] = {"part": adversaries, "corpus": corpus, "attention": "additive"}
            where |= MODELS[model]
            for row in results.rows("adversaries", "jsd", **where):
                labels = {"corpus": corpus, "model": model, "lam": lambda_of(row)}
                for measure, column in DISTANCES.items():
                    number = results.find("adversaries", row, column, **where)
                    yield entry(labels, measure, number)


def curves(results: PaperResults, place: int) -> Rows:
    """Probability and weight of each item of a document, one seed per model.

    `place` counts documents, by id, from 0. There are no words in it.
    """
    tokens = results.table_by_cell(TOKENS)
    corpora = results.corpora(part=PART)
    if not tokens or not corpora:
        return
    corpus = corpora[0]
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
                    yield entry(labels, measure, SeedMean.of([token[measure]], [cell]))


for _place in range(DOCUMENTS):
    EXHIBITS.add(
        f"figure{_place + 2}",
        f"What each token of a text says alone, and its attention: document {_place + 1}",
        "Of the first test documents, by position; the paper's are of SST's validation split.",
    )(partial(curves, place=_place))

"""The paper's figures as data: how far seeds and adversaries are from the base."""

from __future__ import annotations

import pandas as pd

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.results import PaperResults
from verax.papers.wiegreffe_pinter_2019.models import (
    CURVE,
    SEEDS,
    corpora,
    epsilons,
    find,
    lams,
    row_of,
)

MEASURES = ("JSD", "TVD", "same", "F1", "accuracy")


def seeds(results: PaperResults) -> pd.DataFrame:
    """Models that differ from the base by seed alone, each and together."""
    rows = []
    for corpus in corpora(results):
        for row in results.rows(SEEDS, "JSD", corpus=corpus):
            for measure in MEASURES:
                found = find(results, SEEDS, row, measure, corpus)
                labels = {"corpus": corpus, "seed": row.removeprefix("seed ")}
                rows.append(entry(labels, measure, found))
    return frame(rows)


def curve(results: PaperResults) -> pd.DataFrame:
    """Points (JSD, TVD) of adversaries by λ; of other seeds; of attention picked by document."""
    rows = []
    for corpus in corpora(results):
        points = [("adversaries", CURVE, row_of(lam)) for lam in lams(results, corpus)]
        points.append(("other seeds", SEEDS, "mean"))
        for by, table, row in points:
            for measure in MEASURES:
                found = find(results, table, row, measure, corpus)
                rows.append(entry({"corpus": corpus, "by": by, "at": row}, measure, found))
        for epsilon in epsilons(results, corpus):
            row = f"ε = {epsilon:g}"
            labels = {"corpus": corpus, "by": "by document", "at": row}
            # of two classes, |Δp| is the total variation distance
            for column, measure in (("JSD", "JSD"), ("|Δp|", "TVD"), ("decisions kept", "same")):
                found = find(results, "adversary", row, column, corpus)
                rows.append(entry(labels, measure, found))
    return frame(rows)


EXHIBITS = (
    Exhibit(
        "figure3",
        "How far attention and output move by seed alone",
        seeds,
        "violins by the largest weight in the paper: means over documents here",
    ),
    Exhibit(
        "figure5",
        "What other attention costs: distance of attention by distance of output",
        curve,
        "TVD is over both classes, twice the authors'",
    ),
)

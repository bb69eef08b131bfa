"""The paper's figures as data: how far seeds and adversaries are from the base."""

from __future__ import annotations

import pandas as pd

from verax.exams.adversary.measures import epsilon_row
from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.results import PaperResults
from verax.papers.rows import epsilon_words, lambda_words, seed_words
from verax.papers.wiegreffe_pinter_2019.models import (
    CURVE,
    SEEDS,
    corpora,
    epsilons,
    find,
    lams,
)
from verax.studies.adversaries.measures import MEAN, lambda_row

MEASURES = {"JSD": "jsd", "TVD": "tvd", "same": "same", "F1": "f1", "accuracy": "accuracy"}
"""Measure → column of the summaries of adversaries and of other seeds."""


def seeds(results: PaperResults) -> pd.DataFrame:
    """Models that differ from the base by seed alone, each and together."""
    rows = []
    for corpus in corpora(results):
        for row in results.rows(SEEDS, "jsd", corpus=corpus):
            labels = {"corpus": corpus, "seed": seed_words(row)}
            for measure, column in MEASURES.items():
                found = find(results, SEEDS, row, column, corpus)
                rows.append(entry(labels, measure, found))
    return frame(rows)


def curve(results: PaperResults) -> pd.DataFrame:
    """Points (JSD, TVD) of adversaries by λ; of other seeds; of attention picked by document."""
    rows = []
    for corpus in corpora(results):
        points = [
            ("adversaries", CURVE, lambda_row(lam), lambda_words(lam))
            for lam in lams(results, corpus)
        ]
        points.append(("other seeds", SEEDS, MEAN, "mean"))
        for by, table, row, at in points:
            for measure, column in MEASURES.items():
                found = find(results, table, row, column, corpus)
                rows.append(entry({"corpus": corpus, "by": by, "at": at}, measure, found))
        for epsilon in epsilons(results, corpus):
            row = epsilon_row(epsilon)
            labels = {"corpus": corpus, "by": "by document", "at": epsilon_words(row)}
            # of two classes, |Δp| is the total variation distance
            for column, measure in (("jsd", "JSD"), ("change", "TVD"), ("decisions_kept", "same")):
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

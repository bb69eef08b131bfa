"""The paper's tables and figures, without published numbers, of which none are at hand."""

from __future__ import annotations

from collections.abc import Mapping

from verax.exams.adversary.measures import epsilon_row
from verax.papers.exhibits import ExhibitList, Rows, entry
from verax.papers.words import epsilon_words, lambda_words, seed_words
from verax.papers.results import PaperResults
from verax.papers.wiegreffe_pinter_2019.models import (
    BASE,
    BY_ADVERSARY,
    BY_BASE,
    CONTROLS,
    CURVE,
    MLP_OWN,
    MLP_UNIFORM,
    SEEDS,
    UNIFORM,
    epsilons,
    find,
    lams,
)
from verax.studies.adversaries.measures import MEAN, lambda_row

ATTENTIONS = {BASE: "trained", UNIFORM: "uniform"}
WEIGHTS = {
    MLP_UNIFORM: "uniform",
    MLP_OWN: "its own",
    BY_BASE: "of the base",
    BY_ADVERSARY: "of an adversary",
}
"""Control → the source of the weights of a model without context."""
MEASURES = {"JSD": "jsd", "TVD": "tvd", "same": "same", "F1": "f1", "accuracy": "accuracy"}
"""Measure → column of the summaries of adversaries and of other seeds."""
EXHIBITS = ExhibitList()


@EXHIBITS.add(
    "table2", "A model with trained attention, and one trained with uniform attention", "in percent"
)
def uniform_baseline(results: PaperResults) -> Rows:
    return _scores(results, "attention", ATTENTIONS)


@EXHIBITS.add(
    "table3",
    "A model without context, by where its weights come from",
    "in percent; the adversary is that of the λ chosen on validation",
)
def guided(results: PaperResults) -> Rows:
    return _scores(results, "weights", WEIGHTS)


def _scores(results: PaperResults, label: str, controls: Mapping[str, str]) -> Rows:
    """F1 and accuracy of controls, in percent."""
    for corpus in results.corpora():
        for control, name in controls.items():
            for measure, column in (("F1", "f1"), ("accuracy", "accuracy")):
                number = find(results, CONTROLS, control, column, corpus)
                yield entry({"corpus": corpus, label: name}, measure, number)


@EXHIBITS.add(
    "figure3",
    "How far attention and output move by seed alone",
    "violins by the largest weight in the paper: means over documents here",
)
def seeds(results: PaperResults) -> Rows:
    """Models that differ from the base by seed alone, each and together."""
    for corpus in results.corpora():
        for row in results.rows(SEEDS, "jsd", corpus=corpus):
            labels = {"corpus": corpus, "seed": seed_words(row)}
            for measure, column in MEASURES.items():
                yield entry(labels, measure, find(results, SEEDS, row, column, corpus))


@EXHIBITS.add(
    "figure5",
    "What other attention costs: distance of attention by distance of output",
    "TVD is over both classes, twice the authors'",
)
def curve(results: PaperResults) -> Rows:
    """Points (JSD, TVD) of adversaries by λ; of other seeds; of attention picked by document."""
    for corpus in results.corpora():
        points = [
            ("adversaries", CURVE, lambda_row(lam), lambda_words(lambda_row(lam)))
            for lam in lams(results, corpus)
        ]
        points.append(("other seeds", SEEDS, MEAN, "mean"))
        for by, table, row, at in points:
            for measure, column in MEASURES.items():
                number = find(results, table, row, column, corpus)
                yield entry({"corpus": corpus, "by": by, "at": at}, measure, number)
        for epsilon in epsilons(results, corpus):
            row = epsilon_row(epsilon)
            labels = {"corpus": corpus, "by": "by document", "at": epsilon_words(row)}
            # of two classes, |Δp| is the total variation distance
            for column, measure in (("jsd", "JSD"), ("change", "TVD"), ("decisions_kept", "same")):
                yield entry(labels, measure, find(results, "adversary", row, column, corpus))

"""Tables 1 and 2, appendix C, and how accurate and how sparse every model is."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from verax.papers import published
from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.meister_2021.along import SUPPORT, along
from verax.papers.meister_2021.entropy import MEAN, ON_ITEMS, ON_OUTPUT, TABLE
from verax.papers.meister_2021.models import (
    CORPORA,
    ENCODERS,
    PACKAGE,
    SOFTMAX,
    SPARSEMAX,
    Model,
    models,
)
from verax.papers.meister_2021.opposed import POST_HOC, SEEDS, TRAINED, Base, accuracy, bases
from verax.papers.numbers import Number
from verax.papers.probing import Measure, summarised
from verax.papers.results import PaperResults
from verax.papers.rows import epsilon_words, lambda_words
from verax.studies.adversaries.measures import MEAN as YARDSTICK
from verax.studies.adversaries.measures import lambda_of

JACOBIAN = "influence@frobenius"
ENTROPY_ON_ITEMS = "mean_normalised_entropy_g_h(x)"
LAM_AND_ENTROPY = "corr_lambda_vs_entropy_g_yhat(x)"
ALIGNED = {"bilstm": "BiLSTM (tanh)", "transformer": "Transformer (dot)"}
"""Models as the paper's second table has them."""
SEARCHED = "adversary.search"
_OPPOSED = {"JSD": "jsd", "TVD": "tvd", "same": "same", "accuracy": "accuracy", "F1": "f1"}
_POST_HOC = {
    "JSD": "jsd",
    "|Δp|": "change",
    "decisions kept": "decisions_kept",
    "accuracy": "accuracy",
    "Δ accuracy": "delta_accuracy",
}
_SEARCHED = {"JSD": "jsd", "JSD > 0.5": "far", "short of the bound": "gap"}
"""Measure → column, of trained adversaries and other seeds, of the exam, and of its search."""


def table1(results: PaperResults) -> pd.DataFrame:
    """Softmax and sparsemax; the paper's corpora whether they are at hand or not."""
    theirs = itertools.product(CORPORA, ENCODERS, (SOFTMAX, SPARSEMAX))
    printed = [
        Model(c, encoder, projection, 0.0 if projection == SPARSEMAX else math.nan)
        for c, encoder, projection in theirs
    ]
    ours = models(results, (SOFTMAX, SPARSEMAX))
    rows = []
    for model in [*printed, *(m for m in ours if m.corpus not in CORPORA)]:
        name = CORPORA.get(model.corpus, "")
        key = (name, ENCODERS[model.encoder], model.projection, ENTROPY_ON_ITEMS)
        mean = published.numbers(PACKAGE, "table1").get(key, math.nan)
        spread = published.numbers(PACKAGE, "table1", "std").get(key, math.nan)
        for measure, row, column, theirs_is in (
            ("mean", ON_ITEMS, MEAN, mean),
            ("sd", ON_ITEMS, "sd", spread),
            ("pooled sd", ON_ITEMS, "pooled_sd", math.nan),
            ("mean, by the Jacobian", JACOBIAN, MEAN, math.nan),
        ):
            number = model.find(results, TABLE, row, column)
            rows.append(entry(model.labels, measure, number, theirs_is))
    return frame(rows)


def table2(results: PaperResults) -> pd.DataFrame:
    """Correlations seed by seed; the printed one beside each kind, for the paper names none."""
    rows = []
    for importance, row in ON_OUTPUT.items():
        found = {(o.corpus, o.encoder): o for o in along(results, TABLE, row, MEAN)}
        others = [one for one in found if one[0] not in CORPORA]
        for corpus, encoder in [*itertools.product(CORPORA, ENCODERS), *others]:
            key = (CORPORA.get(corpus, ""), ALIGNED[encoder], "sparsegen", LAM_AND_ENTROPY)
            printed = published.number(PACKAGE, "table2", key)
            printed = printed if importance == "gradient" else math.nan
            one = found.get((corpus, encoder))
            labels = {"corpus": corpus, "model": ENCODERS[encoder], "importance": importance}
            for measure, name, beside in (
                ("τ-b with λ", "tau", printed),
                ("Spearman with λ", "spearman", printed),
                ("Pearson with λ", "pearson", printed),
                ("τ-b with the support", "support_tau", math.nan),
                ("Spearman with the support", "support_spearman", math.nan),
                ("Pearson with the support", "support_pearson", math.nan),
            ):
                number = None if one is None else getattr(one, name)
                rows.append(entry(labels, measure, number, beside))
    return frame(rows)


def accuracies(results: PaperResults) -> pd.DataFrame:
    """Every model and λ; accuracy and F1 are of all of test, the support of what was examined."""
    rows = []
    for model in models(results):
        labels = {**model.labels, **model.along}
        for measure, column in (("accuracy", "test_accuracy"), ("F1", "test_f1")):
            rows.append(entry(labels, measure, _percent(results, column, model.where)))
        rows.append(entry(labels, "share in the support", model.find(results, *SUPPORT)))
    return frame(rows)


def appendix_c(results: PaperResults) -> pd.DataFrame:
    rows = []
    for base in bases(results):
        rows += [*_own(results, base)]
        for table, called, words, columns in (
            (POST_HOC, "post hoc", epsilon_words, _POST_HOC),
            (SEARCHED, "post hoc, searched", epsilon_words, _SEARCHED),
            (TRAINED, "trained", lambda row: lambda_words(lambda_of(row)), _OPPOSED),
        ):
            for row in results.rows(table, "jsd", **base.where):
                labels = {**base.labels, "other attention": f"{called}, {words(row)}"}
                for measure, column in columns.items():
                    number = results.find(table, row, column, **base.where)
                    rows.append(entry(labels, measure, number))
        for measure, column in _OPPOSED.items():
            number = results.find(SEEDS, YARDSTICK, column, **base.where)
            rows.append(entry({**base.labels, "other attention": "another seed"}, measure, number))
    return frame(rows)


def _own(results: PaperResults, base: Base) -> Iterator[dict[str, Any]]:
    labels = {**base.labels, "other attention": "none"}
    if "test_accuracy" in results.cells:
        yield entry(labels, "accuracy", accuracy(results, base))
    yield entry(labels, "F1", _percent(results, "test_f1", base.where))
    examined = results.find("adversary.documents", "accuracy", "value", **base.where)
    yield entry(labels, "accuracy, of those examined", examined)


def _percent(results: PaperResults, column: str, where: dict[str, Any]) -> Number | None:
    share = results.fact(column, **where)
    if share is None:
        return None
    return Number.of([100 * value for value in share.values], share.cells)


PROBED: Mapping[str, Measure] = {
    "entropy of inputs' influence on an item": summarised(TABLE, ON_ITEMS, MEAN),
}
EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "table1",
        "Entropy of inputs' influence on an item, between 0 and 1",
        table1,
        "Mean over the items of a document, then over documents. sd is over documents, the pooled "
        "one over all items of all; the paper does not say which it prints.",
    ),
    Exhibit(
        "table2",
        "How the entropy of inputs' influence on the output moves with λ",
        table2,
        "Over the values of λ, the mean entropy at each, seed by seed; larger λ is sparser, "
        "sparsemax is 0. The paper does not say what kind its coefficient is, nor over what: it "
        "stands beside all three. With the support: of the measured share of items with weight, "
        "positive where sparser attention goes with lower entropy.",
    ),
    Exhibit(
        "appendixc",
        "What another attention costs: post hoc over the same states, and trained",
        appendix_c,
        "Text only in the paper. JSD in nats; accuracy, F1, same and kept decisions in percent, "
        "Δ accuracy in points. Post hoc is the farthest attention that moves the output by ε at "
        "most, exact. Post hoc is of the documents examined, what is trained of all of test.",
    ),
    Exhibit(
        "accuracy",
        "Accuracy, F1 (percent) and the share of items with weight, for every model and λ",
        accuracies,
        "λ of sparsemax is 0, softmax has none; symlog is λ from 0 on, and −log10(1 − λ) below.",
    ),
)

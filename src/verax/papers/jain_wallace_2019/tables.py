"""The paper's tables, beside what the authors' released outputs have."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.jain_wallace_2019.models import (
    ATTENTION_GRADIENT,
    ATTENTION_LOO,
    CORRELATIONS,
    GRADIENT_LOO,
    Model,
    measured,
    of_paper,
)
from verax.papers.probing import Measure, fact, summarised
from verax.papers.results import PaperResults

ENCODERS = ("bilstm", "conv", "mlp")
PAIRS = {
    ATTENTION_GRADIENT: "attention, gradient",
    ATTENTION_LOO: "attention, leave-one-out",
    GRADIENT_LOO: "gradient, leave-one-out",
}
SCORES = {
    "test_f1": ("F1", "test_F1_positive"),
    "test_macro_f1": ("macro F1", "test_F1_macro"),
    "test_accuracy": ("accuracy", "test_accuracy"),
    "test_roc_auc": ("ROC AUC", "test_roc_auc"),
}
"""Column of cells → measure, and its name in the released outputs; all of them shares."""
COUNTS = "agreement.documents"


def corpora(results: PaperResults) -> pd.DataFrame:
    """Sizes and lengths; they hang on no model, so that any of a corpus will do.

    Where documents were sampled the size of the test split is not known from results.
    """
    rows = []
    for corpus in dict.fromkeys(m.corpus for m in of_paper(results, *ENCODERS)):
        model = next((m for m in measured(results, *ENCODERS) if m.corpus == corpus), None)
        released = Model(corpus, "bilstm", "additive")
        size = released.released("n_test_class0") + released.released("n_test_class1")
        labels = {"corpus": corpus}
        if model is None:
            rows.append(entry(labels, "test documents", None, size, setting=True))
            continue
        examined = model.find(results, COUNTS, "documents", "value")
        sampled = results.select(**model._asdict(), sample=None).empty
        words = model.find(results, COUNTS, "items", "value")
        for measure, number, theirs in (
            ("test documents", None if sampled else examined, size),
            ("documents examined", examined, math.nan),
            ("words of a document", words, math.nan),
        ):
            rows.append(entry(labels, measure, number, theirs, setting=True))
    return frame(rows)


def correlations(results: PaperResults, *pairs: str) -> pd.DataFrame:
    """Mean and spread of τ-b over documents, and the percent of them with p ≤ 0.05."""
    rows = []
    for model in of_paper(results, *ENCODERS):
        for pair in pairs:
            metric = CORRELATIONS[pair]
            labels = {**model._asdict(), "pair": PAIRS[pair]}
            for measure, column, value in (
                ("τ-b", "tau", model.released(metric)),
                ("sd", "sd", model.released(metric, "std")),
                ("p ≤ 0.05", "significant", 100 * model.released(f"{metric}_frac_p_le_0.05")),
            ):
                found = model.find(results, "agreement", pair, column)
                rows.append(entry(labels, measure, found, value))
    return frame(rows)


def attention_correlations(results: PaperResults) -> pd.DataFrame:
    return correlations(results, ATTENTION_GRADIENT, ATTENTION_LOO)


def gradient_correlations(results: PaperResults) -> pd.DataFrame:
    return correlations(results, GRADIENT_LOO)


def performance(results: PaperResults) -> pd.DataFrame:
    rows = []
    for model in of_paper(results, *ENCODERS):
        for column, (measure, metric) in SCORES.items():
            found = model.fact(results, column)
            if found is not None and math.isnan(found.value):
                found = None
            rows.append(entry(model._asdict(), measure, found, model.released(metric)))
    return frame(rows)


PROBED: Mapping[str, Measure] = {
    SCORES["test_f1"][0]: fact("test_f1"),
    **{f"τ-b: {PAIRS[pair]}": summarised("agreement", pair, "tau") for pair in PAIRS},
}
_OUTPUTS = (
    "published: the authors' released outputs, one run each, in which both classes are pooled"
)

EXHIBITS = (
    Exhibit(
        "table1",
        "Corpora: size and length",
        corpora,
        "published: test documents of the authors' released outputs",
    ),
    Exhibit(
        "table2",
        "Agreement of attention with gradients and with leave-one-out",
        attention_correlations,
        f"{_OUTPUTS}; mlp is their Average; sd is over documents",
    ),
    Exhibit("performance", "How well the models decide", performance, _OUTPUTS),
    Exhibit(
        "gradient_loo",
        "Agreement of gradients with leave-one-out, by which that of attention is read",
        gradient_correlations,
        f"{_OUTPUTS}; sd is over documents",
    ),
)

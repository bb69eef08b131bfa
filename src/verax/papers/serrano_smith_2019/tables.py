"""The paper's tables, and its hyper-parameters: published beside measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pandas as pd

from verax.exams.erasure.measures import variant
from verax.papers import published
from verax.papers.exhibits import Exhibit, entry, frame
from verax.papers.numbers import Number
from verax.papers.probing import Measure, summarised
from verax.papers.results import PaperResults
from verax.papers.serrano_smith_2019.architectures import (
    HANRNN,
    PACKAGE,
    Architecture,
    Model,
    lines,
    there,
)
from verax.papers.serrano_smith_2019.claims_single import CASES, CONTINGENCY, flips_of_top
from verax.papers.serrano_smith_2019.deriving import combined

DOCUMENTS = "erasure.documents"
_CASES = {
    "both": "pct_both_flip",
    "only top": "pct_only_istar_flips",
    "only random": "pct_only_random_flips",
    "neither": "pct_neither_flips",
}
RULES = ("paper", "authors")
"""How the random item is drawn."""
_NONE = float("nan")
_STATISTICS = ("n_classes", "n_train_plus_dev", "n_test", "avg_words", "avg_sentences")
_TUNED = {
    "HAN": {
        "lr": "learning_rate",
        "dropout_embedding": "pre_sentence_encoder_dropout",
        "dropout_sentence": "pre_document_encoder_dropout",
        "dropout_head": "classification_layer_dropout",
        "patience": "patience",
    },
    "FLAN": {
        "lr": "learning_rate",
        "dropout_embedding": "pre_document_encoder_dropout",
        "dropout_head": "classification_layer_dropout",
        "patience": "patience",
    },
}
"""Options here → names in appendix A.1."""


def statistics(results: PaperResults) -> pd.DataFrame:
    """Sizes of corpora, ours by the documents examined.

    Where these are a sample the size of the test split is not known from results.
    """
    rows = []
    by_corpus: dict[tuple[str, str], list[Model]] = {}
    for model in lines(results):
        by_corpus.setdefault((model.dataset, model.corpus), []).append(model)
    for (dataset, corpus), own in by_corpus.items():
        labels = {"dataset": dataset, "corpus": corpus}
        flat = [model for model in own if not model.architecture.hierarchical]
        deep = [model for model in own if model.architecture.hierarchical]
        examined = _first(own, "documents")
        sampled = results.select(corpus=corpus, sample=None).empty
        for measure in _STATISTICS:
            number = examined if measure == "n_test" and not sampled else None
            theirs = published.number(PACKAGE, "table1", (dataset, "", "", measure))
            rows.append(entry(labels, measure, number, theirs, setting=True))
        for measure, number in (
            ("documents examined", examined),
            ("of several sentences", _first(deep, "examined")),
            ("of several words", _first(flat, "examined")),
        ):
            rows.append(entry(labels, measure, number, setting=True))
    return frame(rows)


def _first(found: Sequence[Model], row: str) -> Number | None:
    numbers = (model.find(DOCUMENTS, row, "value") for model in found)
    return next((number for number in numbers if number is not None), None)


def contingency(
    top: str, architectures: Sequence[Architecture]
) -> Callable[[PaperResults], pd.DataFrame]:
    """The 2 × 2 table of [the top item flips] and [a random one flips], by either rule."""

    def make(results: PaperResults) -> pd.DataFrame:
        rows = []
        for model in lines(results, architectures):
            for rule in RULES:
                labels: dict[str, Any] = {**model.labels, "top": top, "rule": rule}
                row = variant(top, rule)
                for case, column in CASES.items():
                    number = model.find(CONTINGENCY, row, column)
                    theirs = (
                        model.published("table2", _CASES[case]) if top == "attention" else _NONE
                    )
                    rows.append(entry(labels, case, number, theirs))
                flips = flips_of_top(model, row)
                rows.append(entry(labels, "top, in all", flips))
        return frame(rows)

    return make


def accuracy_of(results: PaperResults, **where: Any) -> Number | None:
    """Of all of test, in percent."""
    share = there(results.fact("test_accuracy", **where))
    number = there(results.find(DOCUMENTS, "accuracy", "value", **where))
    if share is None:
        return number
    # of one seed, the documents examined give the interval that the whole test lacks
    return number if share.seeds == 1 and number else combined([(100.0, share)])


def accuracy(results: PaperResults) -> pd.DataFrame:
    rows = []
    for model in lines(results):
        number = accuracy_of(results, **model.where) if model.corpus else None
        theirs = model.published("table3", "test_accuracy_pct")
        rows.append(entry(model.labels, "accuracy", number, theirs))
    return frame(rows)


def hyperparameters(results: PaperResults) -> pd.DataFrame:
    rows = []
    for model in lines(results):
        for option, metric in _TUNED[model.architecture.family].items():
            theirs = model.published("hyperparameters", metric)
            rows.append(entry(model.labels, option, model.fact(option), theirs, setting=True))
    return frame(rows)


PROBED: Mapping[str, Measure] = {
    "accuracy": accuracy_of,
    **{
        f"flips: {case}": summarised(CONTINGENCY, "attention", CASES[case])
        for case in ("neither", "only top")
    },
}
RULES_NOTE = (
    "The random item is any but the top one (rule paper), or, as in the authors' code, any but the "
    "first, and it may be the top one (rule authors)."
)
EXHIBITS: tuple[Exhibit, ...] = (
    Exhibit(
        "table1",
        "Corpora: theirs and ours",
        statistics,
        "Of ours, the test documents (where these were sampled, their number is not in results), "
        "those examined, and how many of these have several items to attend. 20news is in place of "
        "Yahoo Answers as a corpus of topics, and has no counterpart in the paper.",
    ),
    Exhibit(
        "table2",
        "Decisions that flip with the most attended sentence, a random one, both or neither, "
        "in percent: HANrnn",
        contingency("attention", HANRNN),
        RULES_NOTE,
    ),
    Exhibit(
        "table3",
        "Test accuracy of all models, in percent",
        accuracy,
        "IMDB has 8 ratings here and 10 in the paper; the corpora are much smaller here. One run "
        "of each in the paper.",
    ),
    Exhibit(
        "hyperparameters",
        "Appendix A.1: learning rates, dropouts and patience",
        hyperparameters,
        "FLANs have no sentence encoder, so that dropout_embedding is what the paper calls "
        "pre-document-encoder dropout.",
    ),
)

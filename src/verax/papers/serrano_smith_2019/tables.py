"""The paper's tables and hyper-parameters: published beside measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from verax.exams.erasure.measures import variant
from verax.papers.exhibits import ExhibitList, Rows, entry, published_number
from verax.papers.numbers import SeedMean
from verax.papers.probing import Measure, summarised
from verax.papers.results import PaperResults
from verax.papers.serrano_smith_2019.architectures import (
    HANRNN,
    PACKAGE,
    Architecture,
    Model,
    lines,
)
from verax.papers.serrano_smith_2019.claims_single import CASES, CONTINGENCY, flips_of_top

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
RULES_NOTE = (
    "The random item is any but the top one (rule paper), or, as in the authors' code, any but the "
    "first, and it may be the top one (rule authors)."
)
EXHIBITS = ExhibitList()


@EXHIBITS.add(
    "table1",
    "Corpora: theirs and ours",
    "Of ours, the test documents (where these were sampled, their number is not in results), "
    "those examined, and how many of these have several items to attend. 20news is in place of "
    "Yahoo Answers as a corpus of topics, and has no counterpart in the paper.",
)
def statistics(results: PaperResults) -> Rows:
    """Sizes of corpora, ours by the documents examined.

    If documents were sampled, results do not have the size of the test split.
    """
    by_corpus: dict[tuple[str, str], list[Model]] = {}
    for model in lines(results):
        by_corpus.setdefault((model.dataset, model.corpus), []).append(model)
    for (dataset, corpus), every in by_corpus.items():
        labels = {"dataset": dataset, "corpus": corpus}
        flat = [model for model in every if not model.architecture.hierarchical]
        deep = [model for model in every if model.architecture.hierarchical]
        examined = _first(every, "documents")
        sampled = results.select(corpus=corpus, sample=None).empty
        for measure in _STATISTICS:
            number = examined if measure == "n_test" and not sampled else None
            theirs = published_number(PACKAGE, "table1", (dataset, "", "", measure))
            yield entry(labels, measure, number, theirs, setting=True)
        for measure, number in (
            ("documents examined", examined),
            ("of several sentences", _first(deep, "examined")),
            ("of several words", _first(flat, "examined")),
        ):
            yield entry(labels, measure, number, setting=True)


def _first(candidates: Sequence[Model], row: str) -> SeedMean | None:
    numbers = (model.find(DOCUMENTS, row, "value") for model in candidates)
    return next((number for number in numbers if number is not None), None)


def contingency(results: PaperResults, top: str, architectures: Sequence[Architecture]) -> Rows:
    """The 2 × 2 table of [the top item flips] and [a random one flips], by either rule."""
    for model in lines(results, architectures):
        for rule in RULES:
            labels: dict[str, Any] = {**model.labels, "top": top, "rule": rule}
            row = variant(top, rule)
            for case, column in CASES.items():
                theirs = model.published("table2", _CASES[case]) if top == "attention" else _NONE
                yield entry(labels, case, model.find(CONTINGENCY, row, column), theirs)
            yield entry(labels, "top, in all", flips_of_top(model, row))


EXHIBITS.add(
    "table2",
    "Decisions that flip with the most attended sentence, a random one, both or neither, "
    "in percent: HANrnn",
    RULES_NOTE,
)(partial(contingency, top="attention", architectures=HANRNN))


def accuracy_of(results: PaperResults, **where: Any) -> SeedMean | None:
    """Accuracy on the test split, in percent."""
    share = results.fact("test_accuracy", **where)
    number = results.find(DOCUMENTS, "accuracy", "value", **where)
    if share is None:
        return number
    # of one seed, the documents examined give the interval that the whole test lacks
    return number if share.seeds == 1 and number else share.scaled(100.0)


@EXHIBITS.add(
    "table3",
    "Test accuracy of all models, in percent",
    "IMDB has 8 ratings here and 10 in the paper; the corpora are much smaller here. One run "
    "of each in the paper.",
)
def accuracy(results: PaperResults) -> Rows:
    for model in lines(results):
        number = accuracy_of(results, **model.where) if model.corpus else None
        theirs = model.published("table3", "test_accuracy_pct")
        yield entry(model.labels, "accuracy", number, theirs)


@EXHIBITS.add(
    "hyperparameters",
    "Appendix A.1: learning rates, dropouts and patience",
    "FLANs have no sentence encoder, so that dropout_embedding is what the paper calls "
    "pre-document-encoder dropout.",
)
def hyperparameters(results: PaperResults) -> Rows:
    for model in lines(results):
        for option, metric in _TUNED[model.architecture.family].items():
            theirs = model.published("hyperparameters", metric)
            yield entry(model.labels, option, model.fact(option), theirs, setting=True)


PROBED: Mapping[str, Measure] = {
    "accuracy": accuracy_of,
    **{
        f"flips: {case}": summarised(CONTINGENCY, "attention", CASES[case])
        for case in ("neither", "only top")
    },
}

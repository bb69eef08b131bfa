"""The paper's tables and figures; its figures are images, without published numbers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

from verax.papers.exhibits import ExhibitList, Rows, entry, published_number
from verax.papers.meister_2021.adversaries import POST_HOC, SEEDS, TRAINED, bases, percent_of
from verax.papers.meister_2021.agreement import (
    ALL,
    GRADIENT,
    INPUTS,
    ITEMS,
    LEAVE_ONE_OUT,
    ON_SUPPORT,
    TAU,
)
from verax.papers.meister_2021.along import SUPPORT, along
from verax.papers.meister_2021.entropy import MEAN, ON_ITEMS, ON_OUTPUT, TABLE
from verax.papers.meister_2021.models import (
    CORPORA,
    ENCODERS,
    FAMILY,
    FIXED_LAM,
    PACKAGE,
    SOFTMAX,
    SPARSEMAX,
    Model,
    models,
)
from verax.papers.words import epsilon_words, lambda_words
from verax.papers.probing import Measure, summarised
from verax.papers.results import PaperResults
from verax.studies.adversaries.measures import MEAN as YARDSTICK
from verax.studies.adversaries.measures import lambda_of

JACOBIAN = "influence@frobenius"
ENTROPY_ON_ITEMS = "mean_normalised_entropy_g_h(x)"
LAM_AND_ENTROPY = "corr_lambda_vs_entropy_g_yhat(x)"
ALIGNED = {"bilstm": "BiLSTM (tanh)", "transformer": "Transformer (dot)"}
"""Models in the order of the paper's second table."""
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
AMONG = {ALL: "all items", ON_SUPPORT: "items with weight"}
SIDES = {INPUTS: "inputs", ITEMS: "items"}
PRINTED_TAU = "τ-b"
MEASURES = {PRINTED_TAU: TAU, "sd": "sd", "median": "median", "p ≤ 0.05": "significant"}
"""Measure → column of both tables of agreement."""
Compared = Sequence[tuple[str, str]]
"""Side and importance."""
GRADIENTS: Compared = (
    (INPUTS, GRADIENT),
    (ITEMS, GRADIENT),
    (INPUTS, "gradient-detached"),
    (INPUTS, "gradient-input-detached"),
)
LEAVE_OUTS: Compared = (
    (INPUTS, LEAVE_ONE_OUT),
    (ITEMS, LEAVE_ONE_OUT),
    (ITEMS, "leave-one-out-renormalised"),
)
_AXIS = "symlog is λ from 0 on, and −log10(1 − λ) below; sparsemax is λ = 0, softmax has none."
PROBED: Mapping[str, Measure] = {
    "entropy of inputs' influence on an item": summarised(TABLE, ON_ITEMS, MEAN),
}
EXHIBITS = ExhibitList()


@EXHIBITS.add(
    "table1",
    "Entropy of inputs' influence on an item, between 0 and 1",
    "Mean over the items of a document, then over documents. sd is over documents, the pooled "
    "one over all items of all; the paper does not say which it prints.",
)
def table1(results: PaperResults) -> Rows:
    """Softmax and sparsemax on the paper's corpora, measured or not."""
    theirs = itertools.product(CORPORA, ENCODERS, (SOFTMAX, SPARSEMAX))
    printed = [Model(*key, FIXED_LAM[key[-1]]) for key in theirs]
    ours = models(results, (SOFTMAX, SPARSEMAX))
    for model in [*printed, *(m for m in ours if m.corpus not in CORPORA)]:
        name = CORPORA.get(model.corpus, "")
        key = (name, ENCODERS[model.encoder], model.projection, ENTROPY_ON_ITEMS)
        mean = published_number(PACKAGE, "table1", key)
        spread = published_number(PACKAGE, "table1", key, "std")
        for measure, row, column, theirs_is in (
            ("mean", ON_ITEMS, MEAN, mean),
            ("sd", ON_ITEMS, "sd", spread),
            ("pooled sd", ON_ITEMS, "pooled_sd", math.nan),
            ("mean, by the Jacobian", JACOBIAN, MEAN, math.nan),
        ):
            number = model.find(results, TABLE, row, column)
            yield entry(model.labels, measure, number, theirs_is)


@EXHIBITS.add(
    "table2",
    "How the entropy of inputs' influence on the output moves with λ",
    "Over the values of λ, the mean entropy at each, seed by seed; larger λ is sparser, "
    "sparsemax is 0. The paper does not say what kind its coefficient is, nor over what: it "
    "stands beside all three. With the support: of the measured share of items with weight, "
    "positive where sparser attention goes with lower entropy.",
)
def table2(results: PaperResults) -> Rows:
    """Correlations seed by seed, beside the printed one, whose kind the paper does not name."""
    for importance, row in ON_OUTPUT.items():
        sweeps = {(o.corpus, o.encoder): o for o in along(results, TABLE, row, MEAN)}
        others = [key for key in sweeps if key[0] not in CORPORA]
        for corpus, encoder in [*itertools.product(CORPORA, ENCODERS), *others]:
            key = (CORPORA.get(corpus, ""), ALIGNED[encoder], "sparsegen", LAM_AND_ENTROPY)
            printed = published_number(PACKAGE, "table2", key)
            printed = printed if importance == "gradient" else math.nan
            sweep = sweeps.get((corpus, encoder))
            labels = {"corpus": corpus, "model": ENCODERS[encoder], "importance": importance}
            for measure, name, beside in (
                ("τ-b with λ", "tau", printed),
                ("Spearman with λ", "spearman", printed),
                ("Pearson with λ", "pearson", printed),
                ("τ-b with the support", "support_tau", math.nan),
                ("Spearman with the support", "support_spearman", math.nan),
                ("Pearson with the support", "support_pearson", math.nan),
            ):
                number = None if sweep is None else getattr(sweep, name)
                yield entry(labels, measure, number, beside)


@EXHIBITS.add(
    "figure1",
    "Attention against gradients, of inputs and of items: τ-b",
    f"The gradient goes through attention; gradient-detached holds attention fixed, and "
    "gradient-input-detached is Jain & Wallace's. Items with weight alone: without the ties "
    f"of zeros, which lift τ-b of items. {_AXIS}",
)
def figure1(results: PaperResults) -> Rows:
    for model in models(results):
        yield from _agreement(results, model)


@EXHIBITS.add(
    "figure2",
    "Entropy of inputs' influence on the output, by gradients and by leave-one-out",
    _AXIS,
)
def figure2(results: PaperResults) -> Rows:
    for model in models(results):
        for importance, row in ON_OUTPUT.items():
            labels = {**model.labels, **model.along, "importance": importance}
            for measure in (MEAN, "sd", "median"):
                yield entry(labels, measure, model.find(results, TABLE, row, measure))


@EXHIBITS.add(
    "figure3",
    "Attention's agreement with importances of inputs along λ, an axis that is log-scaled "
    "below 0 (symlog)",
    f"IMDb in the paper, every corpus here. {_AXIS}",
)
def figure3(results: PaperResults) -> Rows:
    """Agreement on every corpus, with the support and accuracy, which help to read a fall."""
    for model in models(results, FAMILY):
        for table, among in AMONG.items():
            for importance in (GRADIENT, LEAVE_ONE_OUT):
                labels = {**model.labels, **model.along, "importance": importance, "among": among}
                number = model.find(results, table, INPUTS.format(importance), TAU)
                yield entry(labels, PRINTED_TAU, number)
        labels = {**model.labels, **model.along, "importance": "", "among": ""}
        yield entry(labels, "share in the support", model.find(results, *SUPPORT))
        right = model.find(results, "dispersion.documents", "accuracy", "value")
        yield entry(labels, "accuracy", right)


@EXHIBITS.add(
    "figure4",
    "Attention against leave-one-out, of inputs and of items: τ-b",
    "An item is left out by projecting the scores of the others again; renormalised keeps "
    f"their weights in proportion. {_AXIS}",
)
def figure4(results: PaperResults) -> Rows:
    for model in models(results):
        yield from _agreement(results, model, LEAVE_OUTS)


def _agreement(results: PaperResults, model: Model, compared: Compared = GRADIENTS) -> Rows:
    for table, among in AMONG.items():
        for side, importance in compared:
            labels = {**model.labels, **model.along, "of": SIDES[side]}
            labels |= {"importance": importance, "among": among}
            for measure, column in MEASURES.items():
                number = model.find(results, table, side.format(importance), column)
                yield entry(labels, measure, number)


@EXHIBITS.add(
    "appendixc",
    "What another attention costs: post hoc over the same states, and trained",
    "Text only in the paper. JSD in nats; accuracy, F1, same and kept decisions in percent, "
    "Δ accuracy in points. Post hoc is the farthest attention that moves the output by ε at "
    "most, exact. Post hoc is of the documents examined, what is trained of all of test.",
)
def appendix_c(results: PaperResults) -> Rows:
    for base in bases(results):
        yield from _base(results, base)
        for table, called, words, columns in (
            (POST_HOC, "post hoc", epsilon_words, _POST_HOC),
            (SEARCHED, "post hoc, searched", epsilon_words, _SEARCHED),
            (TRAINED, "trained", lambda_words, _OPPOSED),
        ):
            for row in results.rows(table, "jsd", **base.where):
                labels = {**base.labels, "other attention": f"{called}, {words(row)}"}
                for measure, column in columns.items():
                    number = base.find(results, table, row, column)
                    yield entry(labels, measure, number)
        for measure, column in _OPPOSED.items():
            number = base.find(results, SEEDS, YARDSTICK, column)
            yield entry({**base.labels, "other attention": "another seed"}, measure, number)


def _base(results: PaperResults, base: Model) -> Rows:
    labels = {**base.labels, "other attention": "none"}
    if "test_accuracy" in results.cells:
        yield entry(labels, "accuracy", percent_of(results, base, "test_accuracy"))
    yield entry(labels, "F1", percent_of(results, base, "test_f1"))
    examined = base.find(results, "adversary.documents", "accuracy", "value")
    yield entry(labels, "accuracy, of those examined", examined)


@EXHIBITS.add(
    "accuracy",
    "Accuracy, F1 (percent) and the share of items with weight, for every model and λ",
    "λ of sparsemax is 0, softmax has none; symlog is λ from 0 on, and −log10(1 − λ) below.",
)
def accuracies(results: PaperResults) -> Rows:
    """Every model and λ: accuracy and F1 on the test split, the support on examined documents."""
    for model in models(results):
        labels = {**model.labels, **model.along}
        for measure, column in (("accuracy", "test_accuracy"), ("F1", "test_f1")):
            yield entry(labels, measure, percent_of(results, model, column))
        yield entry(labels, "share in the support", model.find(results, *SUPPORT))

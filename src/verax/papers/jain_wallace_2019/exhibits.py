"""The paper's tables and figures, beside the authors' released outputs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

from verax.exams.adversary.measures import ALL, at_epsilon, epsilon_row, group_of
from verax.papers.exhibits import ExhibitList, Rows, entry
from verax.papers.jain_wallace_2019.models import (
    ATTENTION_GRADIENT,
    ATTENTION_LOO,
    CORRELATIONS,
    EPSILON,
    GRADIENT_LOO,
    Model,
    measured,
    of_paper,
)
from verax.papers.phrasing import epsilon_words, weight_words
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
GROUPS, SEARCH = "adversary.groups", "adversary.search"
MOVED = "permuted_change"
PROBED: Mapping[str, Measure] = {
    SCORES["test_f1"][0]: fact("test_f1"),
    **{f"τ-b: {PAIRS[pair]}": summarised("agreement", pair, "tau") for pair in PAIRS},
}
EXHIBITS = ExhibitList()
_OUTPUTS = (
    "published: the authors' released outputs, one run each, in which both classes are pooled"
)
_WITHIN = epsilon_words(epsilon_row(EPSILON))


@EXHIBITS.add(
    "table1",
    "Corpora: size and length",
    "published: test documents of the authors' released outputs",
)
def corpora(results: PaperResults) -> Rows:
    """Sizes and lengths; they depend on no model, so any model of a corpus will do.

    If documents were sampled, results do not have the size of the test split.
    """
    for corpus in dict.fromkeys(m.corpus for m in of_paper(results, *ENCODERS)):
        model = next((m for m in measured(results, *ENCODERS) if m.corpus == corpus), None)
        released = Model(corpus, "bilstm", "additive")
        size = released.released("n_test_class0") + released.released("n_test_class1")
        labels = {"corpus": corpus}
        if model is None:
            yield entry(labels, "test documents", None, size, setting=True)
            continue
        examined = model.find(results, COUNTS, "documents", "value")
        sampled = results.select(**model._asdict(), sample=None).empty
        words = model.find(results, COUNTS, "items", "value")
        for measure, number, theirs in (
            ("test documents", None if sampled else examined, size),
            ("documents examined", examined, math.nan),
            ("words of a document", words, math.nan),
        ):
            yield entry(labels, measure, number, theirs, setting=True)


@EXHIBITS.add(
    "table2",
    "Agreement of attention with gradients and with leave-one-out",
    f"{_OUTPUTS}; mlp is their Average; sd is over documents",
)
def attention_correlations(results: PaperResults) -> Rows:
    return correlations(results, ATTENTION_GRADIENT, ATTENTION_LOO)


def correlations(results: PaperResults, *pairs: str) -> Rows:
    """Mean and spread of τ-b over documents, and the percent of them with p ≤ 0.05."""
    for model in of_paper(results, *ENCODERS):
        for pair in pairs:
            metric = CORRELATIONS[pair]
            labels = {**model._asdict(), "pair": PAIRS[pair]}
            for measure, column, value in (
                ("τ-b", "tau", model.released(metric)),
                ("sd", "sd", model.released(metric, "std")),
                ("p ≤ 0.05", "significant", 100 * model.released(f"{metric}_frac_p_le_0.05")),
            ):
                yield entry(labels, measure, model.find(results, "agreement", pair, column), value)


@EXHIBITS.add("performance", "How well the models decide", _OUTPUTS)
def performance(results: PaperResults) -> Rows:
    for model in of_paper(results, *ENCODERS):
        for column, (measure, metric) in SCORES.items():
            number = model.fact(results, column)
            yield entry(model._asdict(), measure, number, model.released(metric))


@EXHIBITS.add(
    "gradient_loo",
    "Agreement of gradients with leave-one-out, by which that of attention is read",
    f"{_OUTPUTS}; sd is over documents",
)
def gradient_correlations(results: PaperResults) -> Rows:
    return correlations(results, GRADIENT_LOO)


@EXHIBITS.add(
    "permutation",
    "How far shuffled attention moves the output, by the largest weight",
    "violins in the paper: means of their bins here; class is the one decided for",
)
def permutation(results: PaperResults) -> Rows:
    """Mean over documents of the median |Δŷ| over shuffles, by decided class and largest weight."""
    for model in measured(results, *ENCODERS):
        for group, labels in _groups(results, model, MOVED):
            for column, measure in ((MOVED, "|Δŷ|"), ("documents", "documents")):
                number = model.find(results, GROUPS, group, column)
                yield entry({**model._asdict(), **labels}, measure, number)


@EXHIBITS.add(
    "adversary",
    f"How far attention can move with the output within {_WITHIN}, by the largest weight",
    "the paper has what its search finds: here the exact answer, and the search's over all "
    "documents",
)
def adversary(results: PaperResults) -> Rows:
    """The farthest attention within ε: exact, by class and largest weight; searched, over all."""
    columns = {"jsd": "JSD", "far": "JSD > 0.5, %"}
    for model in measured(results, *ENCODERS):
        for group, labels in _groups(results, model, at_epsilon("jsd", EPSILON)):
            for column, measure in columns.items():
                number = model.find(results, GROUPS, group, at_epsilon(column, EPSILON))
                yield entry({**model._asdict(), "by": "exact", **labels}, measure, number)
        labels = {**model._asdict(), "by": "searched", "class": ALL, "max α": ALL}
        for column, measure in columns.items():
            number = model.find(results, SEARCH, epsilon_row(EPSILON), column)
            yield entry(labels, measure, number)


def _groups(
    results: PaperResults, model: Model, column: str
) -> Iterator[tuple[str, dict[str, str]]]:
    """Rows of the groups of a model's documents, and their labels: class and largest weight."""
    for row in results.rows(GROUPS, column, **model._asdict()):
        decided, weights = group_of(row)
        labels = {
            "class": ALL if decided is None else str(decided),
            "max α": ALL if weights is None else weight_words(weights),
        }
        yield row, labels

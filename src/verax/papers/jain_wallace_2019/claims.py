"""Claims on attention's ranks, on permuted attention, and on other attention."""

from __future__ import annotations

from verax.exams.adversary.measures import ALL, at_epsilon, epsilon_row, group_row
from verax.papers.claims import ClaimList, Comparisons, Finding, all_of, by_comparisons
from verax.papers.comparing import Label
from verax.papers.jain_wallace_2019.models import (
    ATTENTION_GRADIENT,
    ATTENTION_LOO,
    EPSILON,
    GRADIENT_LOO,
    measured,
)
from verax.papers.phrasing import epsilon_words, group_words
from verax.papers.results import PaperResults

WEAK = 0.5
"""A mean τ below this is weak. The paper has no bound; this is half way from none to all: three
pairs of words in four in the same order. All means of BiLSTMs in the authors' outputs are below."""
GENERALLY = 0.75
"""Share of comparisons behind *in general*; in the authors' own outputs gradients agree with
leave-one-out better than attention does in 22 of 24."""
HALF = 0.5
"""Share behind *for many models*: the paper itself shows panels where peaked attention matters."""
SMALL = 0.1
"""A change of the output below this is small: twice the ε within which they call outputs equal.
It is compared with the mean over documents, which is harder to pass than *many documents*."""
MOST = 50.0
"""Percent of documents that counts as most."""
PEAKED = tuple(group_row(None, weights) for weights in ((0.5, 0.75), (0.75, 1.0)))
"""Documents with half of all weight on one word."""
TOLERANCE = epsilon_row(EPSILON)
FAR_IN_GROUP, MOVED = at_epsilon("far", EPSILON), "permuted_change"
WITHIN = epsilon_words(TOLERANCE)
CLAIMS = ClaimList()
_IMPORTANCES = ((ATTENTION_GRADIENT, "gradients"), (ATTENTION_LOO, "leave-one-out"))
"""Row of `agreement`, and the importance that attention is compared with."""


@CLAIMS.add(
    1,
    "In a BiLSTM, attention orders words only weakly as gradients do, on every corpus.",
    "Table 2, Figure 2",
)
def weak_with_gradients(results: PaperResults) -> Finding:
    return _weak(results, *_IMPORTANCES[0])


@CLAIMS.add(
    2,
    "In a BiLSTM, attention orders words only weakly as leaving them out does, on every corpus.",
    "Table 2",
)
def weak_with_leave_one_out(results: PaperResults) -> Finding:
    return _weak(results, *_IMPORTANCES[1])


def _weak(results: PaperResults, row: str, name: str) -> Finding:
    comparisons = Comparisons()
    for model in measured(results, "bilstm"):
        comparisons.below(model.label(), model.find(results, "agreement", row, "tau"), WEAK)
    comparisons.require(f"agreement with {name} of a BiLSTM")
    why = (
        f"the mean τ of attention with {name} is {comparisons.span()}; "
        f"it is below {WEAK:g} in {comparisons.tally} models, on {comparisons.corpora}"
    )
    return by_comparisons(comparisons, why)


@CLAIMS.add(
    3,
    "Gradients and leave-one-out agree with each other better than attention with either.",
    "Section 4.1",
)
def gradients_agree_with_leave_one_out(results: PaperResults) -> Finding:
    """Gradients with leave-one-out against attention with either, within each BiLSTM."""
    comparisons = Comparisons()
    for model in measured(results, "bilstm"):
        best = model.find(results, "agreement", GRADIENT_LOO, "tau")
        for row, name in _IMPORTANCES:
            attention = model.find(results, "agreement", row, "tau")
            comparisons.larger(model.label(f"than attention with {name}"), best, attention)
    comparisons.require("agreement, with gradients and leave-one-out, of a BiLSTM")
    why = (
        f"the mean τ of gradients with leave-one-out is {comparisons.span()}, that of attention "
        f"with the two {comparisons.span_of_others()}; {comparisons.tally} comparisons favour "
        f"gradients, on {comparisons.corpora}"
    )
    return by_comparisons(comparisons, why, GENERALLY)


@CLAIMS.add(
    4,
    "Attention over words read one by one, without context, agrees with both better than "
    "attention over a BiLSTM's states.",
    "Section 4.1",
)
def agrees_better_without_context(results: PaperResults) -> Finding:
    """The encoder that sees each word alone against the BiLSTM, on one corpus, one attention."""
    comparisons = Comparisons()
    for model in measured(results, "mlp"):
        other = model._replace(encoder="bilstm")
        for row, name in _IMPORTANCES:
            alone, context = (m.find(results, "agreement", row, "tau") for m in (model, other))
            label = Label(f"{model.corpus}, {model.attention}: with {name}", model.corpus)
            comparisons.larger(label, alone, context)
    comparisons.require("agreement of an mlp and of a BiLSTM on the same corpus")
    why = (
        f"the mean τ of attention is {comparisons.span()} without context and "
        f"{comparisons.span_of_others()} in the BiLSTM; it is larger without in "
        f"{comparisons.tally} comparisons, on {comparisons.corpora}"
    )
    return by_comparisons(comparisons, why, GENERALLY)


@CLAIMS.add(
    5,
    "Shuffling a BiLSTM's attention often changes its output little, even where one word has "
    "most of the weight.",
    "Section 4.2.1",
)
def permuting_changes_little(results: PaperResults) -> Finding:
    """In general over all documents; for many models where attention is peaked."""
    every, peaked = Comparisons(), Comparisons()
    for model in measured(results, "bilstm"):
        for row in (ALL, *PEAKED):
            moved = model.find(results, "adversary.groups", row, MOVED)
            (every if row == ALL else peaked).below(model.label(group_words(row)), moved, SMALL)
    every.require("the adversary exam of a BiLSTM")
    why = (
        f"the mean change is {every.span()} over all documents, "
        f"below {SMALL:g} in {every.tally} models; "
    )
    if peaked:
        why += (
            f"with half the weight or more on one word it is {peaked.span()}, "
            f"below in {peaked.tally} groups, on {every.corpora}"
        )
    else:
        why += f"no document has half the weight on one word, on {every.corpora}"
    return all_of([("all documents", every, GENERALLY), ("peaked attention", peaked, HALF)], why)


@CLAIMS.add(
    6,
    "For most documents there is an attention far from the model's own with nearly the same "
    "output.",
    "Section 4.2.2",
)
def most_have_another_attention(results: PaperResults) -> Finding:
    """By the exact answer, not by that of their search."""
    comparisons = Comparisons()
    for model in measured(results, "bilstm"):
        comparisons.above(model.label(), model.find(results, "adversary", TOLERANCE, "far"), MOST)
    comparisons.require("the adversary exam of a BiLSTM")
    why = (
        f"{comparisons.span('.1f')}% of documents have an attention more "
        f"than 0.5 nats away within {WITHIN}; most of them in {comparisons.tally} models, "
        f"on {comparisons.corpora}"
    )
    return by_comparisons(comparisons, why)


@CLAIMS.add(7, "That holds also where one word has most of the weight.", "Section 4.2.2")
def also_where_attention_is_peaked(results: PaperResults) -> Finding:
    comparisons = Comparisons()
    for model in measured(results, "bilstm"):
        for row in PEAKED:
            share = model.find(results, "adversary.groups", row, FAR_IN_GROUP)
            comparisons.above(model.label(group_words(row)), share, MOST)
    comparisons.require("the adversary exam of a BiLSTM, with peaked attention somewhere")
    why = (
        f"of documents with half the weight or more on one word, "
        f"{comparisons.span('.1f')}% have an attention more than 0.5 nats away within {WITHIN}; "
        f"most of them in {comparisons.tally} groups, on {comparisons.corpora}"
    )
    return by_comparisons(comparisons, why, GENERALLY)


@CLAIMS.add(
    8, "What a search finds is a lower bound: there is attention farther still.", "Section 4.2.2"
)
def search_is_a_lower_bound(results: PaperResults) -> Finding:
    comparisons = Comparisons()
    for model in measured(results, "bilstm"):
        exact = model.find(results, "adversary", TOLERANCE, "jsd")
        searched = model.find(results, "adversary.search", TOLERANCE, "jsd")
        comparisons.larger(model.label(), exact, searched)
    comparisons.require("the adversary exam with search, of a BiLSTM")
    why = (
        f"within {WITHIN} the search finds a mean JSD of {comparisons.span_of_others()}, the exact "
        f"answer is {comparisons.span()}; it is larger in {comparisons.tally} models, "
        f"on {comparisons.corpora}"
    )
    return by_comparisons(comparisons, why)

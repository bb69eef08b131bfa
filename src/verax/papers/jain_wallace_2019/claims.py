"""What the paper claims of attention's ranks, of permuted attention, and of other attention."""

from __future__ import annotations

from collections.abc import Sequence

from verax.exams.adversary.measures import ALL, at_epsilon, epsilon_row, group_row
from verax.papers.claims import Claim, Finding, all_of, by_comparisons
from verax.papers.comparing import Comparison, Label, above, below, larger
from verax.papers.jain_wallace_2019.models import (
    ATTENTION_GRADIENT,
    ATTENTION_LOO,
    EPSILON,
    GRADIENT_LOO,
    measured,
)
from verax.papers.results import PaperResults
from verax.papers.rows import epsilon_words, group_words
from verax.papers.saying import refuse_none, span, tally

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
It is held against the mean over documents, which is harder to pass than *many documents*."""
MOST = 50.0
"""Percent of documents that are most."""
PEAKED = tuple(group_row(None, weights) for weights in ((0.5, 0.75), (0.75, 1.0)))
"""Documents with half of all weight on one word."""
TOLERANCE = epsilon_row(EPSILON)
FAR_IN_GROUP, MOVED = at_epsilon("far", EPSILON), "permuted_change"
WITHIN = epsilon_words(TOLERANCE)


def weak_with_gradients(results: PaperResults) -> Finding:
    return _weak(results, ATTENTION_GRADIENT, "gradients")


def weak_with_leave_one_out(results: PaperResults) -> Finding:
    return _weak(results, ATTENTION_LOO, "leave-one-out")


def gradients_agree_with_leave_one_out(results: PaperResults) -> Finding:
    """Better than attention agrees with either, within each BiLSTM."""
    comparisons = []
    for model in measured(results, "bilstm"):
        best = model.find(results, "agreement", GRADIENT_LOO, "tau")
        for row, name in ((ATTENTION_GRADIENT, "gradients"), (ATTENTION_LOO, "leave-one-out")):
            own = model.find(results, "agreement", row, "tau")
            if best is not None and own is not None:
                comparisons.append(larger(model.label(f"than attention with {name}"), best, own))
    refuse_none(comparisons, "agreement, with gradients and leave-one-out, of a BiLSTM")
    between = span([c.a.value for c in comparisons])
    attention = span([c.b.value for c in comparisons if c.b is not None])
    why = (
        f"the mean τ of gradients with leave-one-out is {between}, that of attention with the two "
        f"{attention}; {tally(comparisons)} comparisons favour gradients, on {where(comparisons)}"
    )
    return by_comparisons(comparisons, why, GENERALLY)


def agrees_better_without_context(results: PaperResults) -> Finding:
    """The encoder that sees each word alone against the BiLSTM, on one corpus, one attention."""
    comparisons = []
    for model in measured(results, "mlp"):
        other = model._replace(encoder="bilstm")
        for row, name in ((ATTENTION_GRADIENT, "gradients"), (ATTENTION_LOO, "leave-one-out")):
            alone = model.find(results, "agreement", row, "tau")
            context = other.find(results, "agreement", row, "tau")
            if alone is not None and context is not None:
                words = f"{model.corpus}, {model.attention}: with {name}"
                comparisons.append(larger(Label(words, model.corpus), alone, context))
    refuse_none(comparisons, "agreement of an mlp and of a BiLSTM on the same corpus")
    contexts = span([c.b.value for c in comparisons if c.b is not None])
    why = (
        f"the mean τ of attention is {span([c.a.value for c in comparisons])} without context and "
        f"{contexts} in the BiLSTM; it is larger without in {tally(comparisons)} comparisons, "
        f"on {where(comparisons)}"
    )
    return by_comparisons(comparisons, why, GENERALLY)


def permuting_changes_little(results: PaperResults) -> Finding:
    """Over all documents, in general; and where attention is peaked, for many models."""
    every: list[Comparison] = []
    peaked: list[Comparison] = []
    for model in measured(results, "bilstm"):
        for row in (ALL, *PEAKED):
            moved = model.find(results, "adversary.groups", row, MOVED)
            if moved is not None:
                found = below(model.label(group_words(row)), moved, SMALL)
                (every if row == ALL else peaked).append(found)
    refuse_none(every, "the adversary exam of a BiLSTM")
    why = (
        f"the mean change is {span([c.a.value for c in every])} over all documents, "
        f"below {SMALL:g} in {tally(every)} models; "
    )
    if peaked:
        why += (
            f"with half the weight or more on one word it is {span([c.a.value for c in peaked])}, "
            f"below in {tally(peaked)} groups, on {where(every)}"
        )
    else:
        why += f"no document has half the weight on one word, on {where(every)}"
    parts = [("all documents", every, GENERALLY), ("peaked attention", peaked, HALF)]
    return all_of(parts, why)


def most_have_another_attention(results: PaperResults) -> Finding:
    """The exact answer, not that of their search."""
    comparisons = []
    for model in measured(results, "bilstm"):
        share = model.find(results, "adversary", TOLERANCE, "far")
        if share is not None:
            comparisons.append(above(model.label(), share, MOST))
    refuse_none(comparisons, "the adversary exam of a BiLSTM")
    why = (
        f"{span([c.a.value for c in comparisons], '.1f')}% of documents have an attention more "
        f"than 0.5 nats away within {WITHIN}; most of them in {tally(comparisons)} models, "
        f"on {where(comparisons)}"
    )
    return by_comparisons(comparisons, why)


def also_where_attention_is_peaked(results: PaperResults) -> Finding:
    comparisons = []
    for model in measured(results, "bilstm"):
        for row in PEAKED:
            share = model.find(results, "adversary.groups", row, FAR_IN_GROUP)
            if share is not None:
                comparisons.append(above(model.label(group_words(row)), share, MOST))
    refuse_none(comparisons, "the adversary exam of a BiLSTM, with peaked attention somewhere")
    why = (
        f"of documents with half the weight or more on one word, "
        f"{span([c.a.value for c in comparisons], '.1f')}% have an attention more than 0.5 "
        f"nats away within {WITHIN}; most of them in {tally(comparisons)} groups, "
        f"on {where(comparisons)}"
    )
    return by_comparisons(comparisons, why, GENERALLY)


def search_is_a_lower_bound(results: PaperResults) -> Finding:
    comparisons = []
    for model in measured(results, "bilstm"):
        exact = model.find(results, "adversary", TOLERANCE, "jsd")
        searched = model.find(results, "adversary.search", TOLERANCE, "jsd")
        if exact is not None and searched is not None:
            comparisons.append(larger(model.label(), exact, searched))
    refuse_none(comparisons, "the adversary exam with search, of a BiLSTM")
    searched_span = span([c.b.value for c in comparisons if c.b is not None])
    why = (
        f"within {WITHIN} the search finds a mean JSD of {searched_span}, the exact answer is "
        f"{span([c.a.value for c in comparisons])}; it is larger in {tally(comparisons)} models, "
        f"on {where(comparisons)}"
    )
    return by_comparisons(comparisons, why)


def _weak(results: PaperResults, row: str, name: str) -> Finding:
    comparisons = []
    for model in measured(results, "bilstm"):
        tau = model.find(results, "agreement", row, "tau")
        if tau is not None:
            comparisons.append(below(model.label(), tau, WEAK))
    refuse_none(comparisons, f"agreement with {name} of a BiLSTM")
    why = (
        f"the mean τ of attention with {name} is {span([c.a.value for c in comparisons])}; "
        f"it is below {WEAK:g} in {tally(comparisons)} models, on {where(comparisons)}"
    )
    return by_comparisons(comparisons, why)


def where(comparisons: Sequence[Comparison]) -> str:
    """The corpora of comparisons, each once."""
    return ", ".join(dict.fromkeys(c.corpus for c in comparisons))


CLAIMS = (
    Claim(
        1,
        "In a BiLSTM, attention orders words only weakly as gradients do, on every corpus.",
        "Table 2, Figure 2",
        weak_with_gradients,
    ),
    Claim(
        2,
        "In a BiLSTM, attention orders words only weakly as leaving them out does, on every "
        "corpus.",
        "Table 2",
        weak_with_leave_one_out,
    ),
    Claim(
        3,
        "Gradients and leave-one-out agree with each other better than attention with either.",
        "Section 4.1",
        gradients_agree_with_leave_one_out,
    ),
    Claim(
        4,
        "Attention over words read one by one, without context, agrees with both better than "
        "attention over a BiLSTM's states.",
        "Section 4.1",
        agrees_better_without_context,
    ),
    Claim(
        5,
        "Shuffling a BiLSTM's attention often changes its output little, even where one word has "
        "most of the weight.",
        "Section 4.2.1",
        permuting_changes_little,
    ),
    Claim(
        6,
        "For most documents there is an attention far from the model's own with nearly the same "
        "output.",
        "Section 4.2.2",
        most_have_another_attention,
    ),
    Claim(
        7,
        "That holds also where one word has most of the weight.",
        "Section 4.2.2",
        also_where_attention_is_peaked,
    ),
    Claim(
        8,
        "What a search finds is a lower bound: there is attention farther still.",
        "Section 4.2.2",
        search_is_a_lower_bound,
    ),
)

"""Claims on uniform attention, on seeds, on adversaries, and on guidance."""

from __future__ import annotations

from collections.abc import Sequence

from verax.exams.adversary.measures import epsilon_row
from verax.papers.claims import ClaimList, Comparisons, Finding, all_of, by_comparisons
from verax.papers.comparing import Label, PaperComparison
from verax.papers.numbers import SeedMean
from verax.papers.results import Missing, PaperResults
from verax.papers.wiegreffe_pinter_2019.models import (
    BASE,
    BY_ADVERSARY,
    BY_BASE,
    CONTROLS,
    CORPORA,
    CURVE,
    MLP_OWN,
    MLP_UNIFORM,
    SEEDS,
    UNIFORM,
    epsilons,
    find,
    lams,
    of_chosen,
)
from verax.studies.adversaries.measures import MEAN, lambda_row

TOPICS = ("ag_news", "20news_sports")
"""The two corpora of topics, which the paper sets aside because attention is not needed there."""
NEARLY = 1.0
"""Points of F1 within which two models do as well: scores are given to tenths of a point, and a
point is what the choice of adversaries allows as well."""
GENERALLY = 0.75
"""Share of corpora behind statements on all corpora, some of which the paper excepts."""
CLAIMS = ClaimList()


@CLAIMS.add(
    1,
    "On AG News and 20 Newsgroups a model trained with uniform attention does nearly as well, "
    "so that these corpora cannot tell what attention is worth.",
    "Table 2, Section 3.1",
)
def uniform_does_as_well(results: PaperResults) -> Finding:
    """On the corpora of topics: no more than a point below trained attention."""
    comparisons = _controls(results, UNIFORM, BASE, TOPICS, -NEARLY)
    if not comparisons:
        names = " or ".join(CORPORA[name] for name in TOPICS)
        raise Missing(f"needs {names}, with uniform attention trained as a control")
    why = (
        f"F1 is {_pairs(comparisons)} with uniform and with trained attention; less than "
        f"{NEARLY:g} point lower in {comparisons.tally} corpora"
    )
    return by_comparisons(comparisons, why)


@CLAIMS.add(
    2, "On the other corpora trained attention does better than uniform.", "Table 2, Section 3.1"
)
def attention_helps_elsewhere(results: PaperResults) -> Finding:
    others = [name for name in results.corpora() if name not in TOPICS]
    comparisons = _controls(results, BASE, UNIFORM, others)
    others_of_paper = " or ".join(CORPORA[name] for name in CORPORA if name not in TOPICS)
    comparisons.require(f"trained and uniform attention on {others_of_paper}, or the like")
    why = (
        f"F1 is {_pairs(comparisons)} with trained and with uniform attention; higher with trained "
        f"in {comparisons.tally} corpora"
    )
    return by_comparisons(comparisons, why)


@CLAIMS.add(
    3,
    "Attention differs less between seeds than between a model and its trained adversary.",
    "Sections 3.2 and 4, Figures 3 and 5",
)
def seeds_differ_less_than_adversaries(results: PaperResults) -> Finding:
    """By adversaries of the λ chosen on validation, which decide as well as the base if any do."""
    comparisons = Comparisons()
    for corpus in results.corpora():
        seeds = find(results, SEEDS, MEAN, "jsd", corpus)
        comparisons.larger(corpus, of_chosen(results, "jsd", corpus), seeds)
    comparisons.require("adversaries, and models of other seeds")
    why = (
        f"JSD from the base is {_pairs(comparisons, '.3f')} for adversaries and for other seeds; "
        f"larger for adversaries in {comparisons.tally} corpora"
    )
    return by_comparisons(comparisons, why)


@CLAIMS.add(
    4,
    "The farther an adversary's attention is driven, the farther is its output.",
    "Section 4, Figure 5",
)
def divergence_costs_output(results: PaperResults) -> Finding:
    """From the smallest λ to the largest, attention moves away, and so does the output."""
    jsd, tvd = Comparisons(), Comparisons()
    for corpus in results.corpora():
        along = lams(results, corpus)
        if len(along) < 2:
            continue
        for column, measure, comparisons in (("jsd", "JSD", jsd), ("tvd", "TVD", tvd)):
            low, high = (
                find(results, CURVE, lambda_row(lam), column, corpus)
                for lam in (along[0], along[-1])
            )
            label = f"{corpus}: λ {along[0]:g} to {along[-1]:g}, {measure}"
            comparisons.larger(Label(label, corpus), high, low)
    Comparisons([*jsd, *tvd]).require("adversaries of two or more λ")
    why = (
        f"from the smallest λ to the largest JSD rises in {jsd.tally} corpora"
        f"{_ends(jsd)}, and TVD in {tvd.tally}{_ends(tvd)}"
    )
    return all_of([("JSD", jsd, 1.0), ("TVD", tvd, 1.0)], why)


@CLAIMS.add(
    5,
    "A trained adversary is less free than attention picked document by document: it gets less "
    "far for no less change of the output.",
    "Section 4, Figure 5",
)
def trained_are_less_free(results: PaperResults) -> Finding:
    """Trained adversaries against attention picked per document, at no more change of the output.

    For two classes TVD is |Δp|. The ε is the largest examined that is not above the adversaries'
    mean TVD, or the smallest of all. So the output is freer for the adversaries.
    """
    comparisons = Comparisons()
    for corpus in results.corpora():
        change = of_chosen(results, "tvd", corpus)
        known = epsilons(results, corpus)
        if change is None or not known:
            continue
        epsilon = max((e for e in known if e <= change.value), default=known[0])
        free = find(results, "adversary", epsilon_row(epsilon), "jsd", corpus)
        trained = of_chosen(results, "jsd", corpus)
        comparisons.larger(f"{corpus}: ε {epsilon:g}", free, trained)
    comparisons.require("adversaries, and the adversary exam of the base")
    why = (
        f"JSD is {_pairs(comparisons, '.3f')} for attention picked by document and for trained "
        f"adversaries; larger by document in {comparisons.tally} corpora"
    )
    return by_comparisons(comparisons, why)


@CLAIMS.add(
    6,
    "A model without context does better under the weights of a trained BiLSTM than under "
    "uniform ones.",
    "Table 3",
)
def guides_better_than_uniform(results: PaperResults) -> Finding:
    return _guided(results, MLP_UNIFORM, "under uniform weights", 1.0)


@CLAIMS.add(7, "It does better under them than with attention that it learns itself.", "Table 3")
def guides_better_than_own(results: PaperResults) -> Finding:
    return _guided(results, MLP_OWN, "with attention of its own", 1.0)


@CLAIMS.add(8, "It does better under them than under those of an adversary.", "Table 3")
def guides_better_than_adversary(results: PaperResults) -> Finding:
    return _guided(results, BY_ADVERSARY, "under an adversary's weights", GENERALLY)


def _guided(results: PaperResults, other: str, words: str, need: float) -> Finding:
    comparisons = _controls(results, BY_BASE, other, results.corpora())
    comparisons.require(f"models without context, under the base's weights and {words}")
    why = (
        f"F1 of a model without context is {_pairs(comparisons)} under the base's weights and "
        f"{words}; higher under the base's in {comparisons.tally} corpora"
    )
    return by_comparisons(comparisons, why, need)


def _controls(
    results: PaperResults, first: str, second: str, names: Sequence[str], by: float = 0.0
) -> Comparisons:
    """Comparisons of the F1 of one control with that of another plus `by`, on these corpora."""
    comparisons = Comparisons()
    for corpus in names:
        a, b = (find(results, CONTROLS, control, "f1", corpus) for control in (first, second))
        comparisons.larger(corpus, a, b, by)
    return comparisons


def _pairs(comparisons: Sequence[PaperComparison], form: str = ".1f") -> str:
    """Both numbers of each comparison, as in `93.4 and 94.2 (ag_news), …`"""
    return ", ".join(
        f"{' and '.join(f'{n.value:{form}}' for n in _both(c))} ({c.label})" for c in comparisons
    )


def _ends(comparisons: Sequence[PaperComparison]) -> str:
    ends = []
    for c in comparisons:
        high, low = _both(c)
        ends.append(f"{c.corpus} {low.value:.3f} to {high.value:.3f}")
    return f" ({', '.join(ends)})" if ends else ""


def _both(comparison: PaperComparison) -> list[SeedMean]:
    return [n for n in (comparison.a, comparison.b) if n is not None]

"""Claims of tables 1 and 6: what becomes of F1 when attention is made uniform, or permuted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from verax.papers import published
from verax.papers.claims import Finding, by_comparisons
from verax.papers.comparing import Comparison, below, larger
from verax.papers.numbers import Number
from verax.papers.results import Missing, PaperResults
from verax.papers.saying import tally
from verax.papers.tutek_snajder_2020.models import (
    ATTENTIONS,
    DIABETES,
    INITIALISATION,
    MAIN,
    MODELS,
    PACKAGE,
    PERMUTED,
    TRAINED,
    UNIFORM,
    corpora_in,
    deep,
    find,
    main,
    plain_name,
    size,
)
from verax.papers.tutek_snajder_2020.telling import exceptions, label, needed, on, span

CHANGED = {UNIFORM: "uniform", PERMUTED: "permuted"}
REGULARISED = ("concat", "tying", "mlm")
CLOSE = 3.0
"""Points of F1 that are *close*: the whole number above 2.7, the largest loss in table 1."""
AS_A_RULE = 0.75
"""The share of cells in which a sweeping statement has to be true.

What is said of the masked LM's fragility is, in 15 of the 20 cells of table 1.
"""
ALIKE = 5.0
"""Points of Δ F1 within which two models behave alike.

Less than what the paper calls an effect: tying's under permuted attention is 5.2 at least.
"""
LONG = 100.0
"""Words of a long text: between AG News, of 31 on average, and 20 Newsgroups, of 164."""
SHRINKS = 16 / 24
"""Cells of table 6 in which a regularised model of three layers is less fragile than of one."""
ZERO = 1.0
"""F1, in percent, below which it has become nothing."""
LENGTHS = {"sst": "SST", "ag_news": "AG News", "20news_sports": "20NG", "imdb": "IMDB"}
LENGTHS |= {"mimic_anemia": "Anemia", DIABETES: "Diabetes"}
"""Names here → names in the paper's table 5."""


def f1_stays_close(results: PaperResults) -> Finding:
    """1: no regularised model loses more than `CLOSE`. That one gains is not against it."""
    comparisons = []
    for corpus, attention in _settings(results):
        base = main(results, corpus, attention, "base", ("replacement", TRAINED, "f1"))
        for model in REGULARISED:
            own = main(results, corpus, attention, model, ("replacement", TRAINED, "f1"))
            if base and own:
                comparisons.append(larger(label(corpus, attention, model), own, base, -CLOSE))
    needed(comparisons, "the base and a regularised model")
    gaps = [c.difference - CLOSE for c in comparisons]
    why = (
        f"F1 less the base's is {span(gaps, sign=True)} points {on(comparisons)}; "
        f"{tally(comparisons)} models lose less than {CLOSE:g}{exceptions(comparisons)}."
    )
    return by_comparisons(comparisons, why)


def tying_is_more_fragile(results: PaperResults) -> Finding:
    """2: in every cell, against the base whose vectors are trained; the frozen one is told."""
    comparisons = _more_fragile(results, "tying")
    needed(comparisons, "the base and tying")
    return by_comparisons(comparisons, _told(results, "tying", comparisons))


def masked_lm_is_more_fragile(results: PaperResults) -> Finding:
    """3: in `AS_A_RULE` of the cells, which is what the paper's table has."""
    comparisons = _more_fragile(results, "mlm")
    needed(comparisons, "the base and the masked LM")
    why = _told(results, "mlm", comparisons)
    concat = _more_fragile(results, "concat")
    if concat:
        why += f" Concatenation is in {tally(concat)}."
    return by_comparisons(comparisons, why, AS_A_RULE)


def residual_is_like_concat(results: PaperResults) -> Finding:
    """4: both lose the same F1, within `ALIKE`, in `AS_A_RULE` of the cells.

    Two one-sided tests of equivalence: of the two sides the nearer one is compared.
    """
    comparisons, gaps = [], []
    for corpus, attention in _settings(results):
        for row, name in CHANGED.items():
            what = ("replacement", row, "delta_f1")
            residual = main(results, corpus, attention, "residual", what)
            concat = main(results, corpus, attention, "concat", what)
            if residual and concat:
                low, high = sorted((residual, concat), key=lambda number: number.value)
                comparisons.append(larger(label(corpus, attention, name), low, high, -ALIKE))
                gaps.append(residual.value - concat.value)
    needed(comparisons, "the residual model and concatenation")
    small = sum(max(abs(c.a.value), abs(c.b.value)) < ALIKE for c in comparisons if c.b)
    why = (
        f"Δ F1 of the residual model less that of concatenation is {span(gaps, sign=True)} points "
        f"{on(comparisons)}; within {ALIKE:g} in {tally(comparisons)}{exceptions(comparisons)}. "
        f"In {small} both lose less than {ALIKE:g}, and could hardly differ by more."
    )
    return by_comparisons(comparisons, why, AS_A_RULE)


def long_texts_are_fragile(results: PaperResults) -> Finding:
    """8: the base loses more F1 on every corpus of long texts than on every one of short ones.

    A corpus is as long as its examined documents are on average, or as table 5 has it.
    """
    lengths = {corpus: _length(results, corpus) for corpus in corpora_in(results, MAIN)}
    short = [corpus for corpus, words in lengths.items() if words < LONG]
    long = [corpus for corpus, words in lengths.items() if words >= LONG]
    comparisons, losses = [], dict[str, list[float]]()
    for first in short:
        for second in long:
            for attention in ATTENTIONS:
                for row, name in CHANGED.items():
                    what = ("replacement", row, "delta_f1")
                    few = main(results, first, attention, "base", what)
                    many = main(results, second, attention, "base", what)
                    if few and many:
                        comparisons.append(
                            larger(label(f"{first}, {second}", attention, name), few, many)
                        )
                        losses.setdefault(first, []).append(few.value)
                        losses.setdefault(second, []).append(many.value)
    needed(comparisons, "base models on a corpus of short texts and on one of long texts")
    told = [f"{c} ({lengths[c]:.0f} words) {span(losses[c], sign=True)}" for c in losses]
    why = f"Δ F1 of the base: {'; '.join(told)}. As claimed in {tally(comparisons)}."
    return by_comparisons(comparisons, why)


def deep_encoders_are_robust(results: PaperResults) -> Finding:
    """9: |Δ F1| of the base falls from one layer to two, and from two to three."""
    comparisons = []
    for corpus in corpora_in(results, MAIN):
        for row, name in CHANGED.items():
            found = {layers: deep(results, corpus, layers, "base", row) for layers in (1, 2, 3)}
            for layers in (1, 2):
                shallow, deeper = found[layers], found[layers + 1]
                if shallow and deeper:
                    told = label(corpus, name, f"{layers} to {layers + 1} layers")
                    comparisons.append(larger(told, size(shallow), size(deeper)))
    needed(comparisons, "base models of the parts layers-…")
    why = (
        f"|Δ F1| falls by a layer more in {tally(comparisons)} {on(comparisons)}"
        f"{exceptions(comparisons)}."
    )
    return by_comparisons(comparisons, why)


def depth_weakens_regularisation(results: PaperResults) -> Finding:
    """10: with three layers regularised models are less fragile than with one, in `SHRINKS`.

    What shrinks is their own |Δ F1|: less the base's it grows in most cells of table 6, because
    the base's goes to zero.
    """
    comparisons, by_model = [], dict[str, list[Comparison]]()
    for corpus in corpora_in(results, MAIN):
        for model in REGULARISED:
            for row, name in CHANGED.items():
                one, three = (deep(results, corpus, layers, model, row) for layers in (1, 3))
                if one and three:
                    found = larger(label(corpus, model, name), size(one), size(three))
                    comparisons.append(found)
                    by_model.setdefault(model, []).append(found)
    needed(comparisons, "regularised models of one layer, and of three of the parts layers-…")
    told = ", ".join(f"{model} {tally(own)}" for model, own in by_model.items())
    why = (
        f"|Δ F1| is smaller with three layers than with one in {tally(comparisons)} "
        f"{on(comparisons)}: {told}{exceptions(comparisons)}. That the masked LM of three "
        "layers is an exception has no part in the verdict."
    )
    return by_comparisons(comparisons, why, SHRINKS)


def diabetes_falls_to_nothing(results: PaperResults) -> Finding:
    """13: under uniform and permuted attention F1 is below `ZERO`, for every model there is."""
    comparisons, found = [], list[float]()
    for corpus in corpora_in(results, DIABETES):
        for attention in ATTENTIONS:
            for model, own in MODELS.items():
                for row, name in CHANGED.items():
                    where = {"part": DIABETES, "corpus": corpus, "attention": attention, **own}
                    f1 = find(results, "replacement", row, "f1", **where)
                    if f1:
                        told = label(corpus, attention, model, name)
                        comparisons.append(below(told, f1, ZERO))
                        found.append(f1.value)
    if not comparisons:
        raise Missing("needs the MIMIC diabetes corpus, which is not at hand")
    why = f"F1 is {span(found)}; below {ZERO:g} in {tally(comparisons)}{exceptions(comparisons)}."
    return by_comparisons(comparisons, why)


def _settings(results: PaperResults) -> Iterator[tuple[str, str]]:
    """Corpora and attentions of table 1."""
    for corpus in corpora_in(results, MAIN):
        for attention in ATTENTIONS:
            yield corpus, attention


def _more_fragile(results: PaperResults, model: str, base: str = "base") -> list[Comparison]:
    """The model loses more F1 than the base, wherever both are there."""
    found = []
    for corpus, attention in _settings(results):
        for row, name in CHANGED.items():
            what = ("replacement", row, "delta_f1")
            ours = main(results, corpus, attention, base, what)
            own = main(results, corpus, attention, model, what)
            if ours and own:
                found.append(larger(label(corpus, attention, name), ours, own))
    return found


def _told(results: PaperResults, model: str, comparisons: Sequence[Comparison]) -> str:
    gaps = span((c.difference for c in comparisons), sign=True)
    said = (
        f"Loses more F1 than the base in {tally(comparisons)} {on(comparisons)}, by {gaps} points"
        f"{exceptions(comparisons)}."
    )
    frozen = _more_fragile(results, model, "base, frozen")
    if frozen:
        said += f" Than the base with frozen vectors in {tally(frozen)}."
    return said


def _length(results: PaperResults, corpus: str) -> float:
    """Words of a document; NaN where nothing tells."""
    found = length(results, corpus)
    if found is not None:
        return found.value
    name = LENGTHS.get(plain_name(corpus), "")
    return published.number(PACKAGE, "table5", (name, "", "", "avg_length"))


def length(results: PaperResults, corpus: str) -> Number | None:
    """Words of a document, on average over those that were examined for their entropy."""
    where = {"part": INITIALISATION, "corpus": corpus, "query_init": "normal"}
    return find(results, "dispersion.documents", "items", "value", **where)

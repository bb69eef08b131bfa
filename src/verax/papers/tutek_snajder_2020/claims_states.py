"""Claims of tables 2 and 3, figure 1 and appendix C: states, tokens, adversaries, the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verax.papers.claims import Finding, all_of, by_comparisons
from verax.papers.comparing import Comparison, above, below, larger
from verax.papers.numbers import Number
from verax.papers.results import Missing, PaperResults
from verax.papers.saying import tally
from verax.papers.tutek_snajder_2020.claims_fragility import AS_A_RULE
from verax.papers.tutek_snajder_2020.models import (
    ADVERSARIES,
    ATTENTIONS,
    CORRECT,
    ENTROPY_OF_ATTENTION,
    INFORMATION,
    INITIALISATION,
    MAIN,
    MODELS,
    WORDS,
    corpora_in,
    find,
    information,
    main,
    parts,
    size,
    times,
)
from verax.papers.tutek_snajder_2020.telling import exceptions, label, needed, on, span

NEAR_CEILING = 0.8
"""Share of the words' entropy that is *near* it.

The least that table 2 has for the residual model and frequent words, 4.3 nats, is 0.83 of the 5.2
that a Zipf law over a thousand words has.
"""
MOST = 200 / 3
"""Percent of tokens that are *most*.

Half would not do: tokens without a say fall to either side, and those that carry the decision are
on its side by themselves.
"""
NEAR_HALF = 0.2
"""How far from a half a token without a say may be, on average over a text.

Table 3 has 0.698 at most for tying and the masked LM, up to 0.887 for the base.
"""
UNIFORM_ENTROPY = 0.95
"""Normalised entropy from which attention is *uniform*.

There, weights of texts as short as SST's differ from their mean by about half of it.
"""
_STEPS = 101
_ALONE = ("single_token", CORRECT, "mean_probability")
_AGREE = ("single_token", CORRECT, "agreeing")


def states_keep_their_words(results: PaperResults) -> Finding:
    """5: three models against the base, everywhere; and the residual one near the ceiling.

    By raw information, as in the paper; `above_shuffled` has what shuffled labels give taken off.
    """
    found: dict[str, list[Comparison]] = {"residual": [], "tying": [], "mlm": []}
    less: list[Comparison] = []
    beyond: list[Comparison] = []
    ceiling: list[Comparison] = []
    kept: list[float] = []
    for corpus in corpora_in(results, parts(results, INFORMATION)):
        for name, row in WORDS.items():
            base = information(results, corpus, "base", row)
            residual = information(results, corpus, "residual", row)
            for model, comparisons in found.items():
                own = information(results, corpus, model, row)
                if base and own:
                    comparisons.append(larger(label(corpus, model, name), own, base))
                floored, other = (
                    information(results, corpus, m, row, "above_shuffled") for m in (model, "base")
                )
                if floored and other:
                    less.append(larger(label(corpus, model, name), floored, other))
            tying = information(results, corpus, "tying", row)
            if tying and residual:
                beyond.append(larger(label(corpus, name), tying, residual))
            entropy = information(results, corpus, "residual", row, "word_entropy")
            if entropy and residual and name == "most frequent":
                told = label(corpus, "residual, of the ceiling")
                ceiling.append(larger(told, residual, times(entropy, NEAR_CEILING)))
                kept.append(100 * residual.value / entropy.value)
    every = [c for comparisons in found.values() for c in comparisons]
    needed(every, "the base and residual, tied or masked-LM models of the parts information-…")
    counts = ", ".join(f"{model} {tally(own)}" for model, own in found.items())
    why = f"Above the base {on(every)}: {counts}{exceptions(every)}."
    if less:
        why += f" With the floor of shuffled labels taken off: {tally(less)}."
    if kept:
        why += f" Residual has {span(kept, 0)}% of the entropy of frequent words."
    if beyond:
        why += f" Tying has more than residual in {tally(beyond)}."
    told_parts = [(model, own, 1.0) for model, own in found.items()]
    return all_of([*told_parts, ("residual near the ceiling", ceiling, 1.0)], why)


def tokens_alone_say_less(results: PaperResults) -> Finding:
    """6: tying and the masked LM, everywhere. The residual model, of which the paper's own numbers
    go both ways (6 of 10), is told and has no part in the verdict."""
    found = {model: _below_base(results, model) for model in ("tying", "mlm")}
    every = [c for comparisons in found.values() for c in comparisons]
    needed(every, "the base and tying or the masked LM")
    counts = [f"{model} {tally(own)}" for model, own in found.items()]
    why = (
        f"A token alone is less sure than in the base {on(every)}: {', '.join(counts)}"
        f"{exceptions(every)}, by {span((c.difference for c in every), 3, sign=True)}."
    )
    residual = _below_base(results, "residual")
    if residual:
        why += f" Residual: {tally(residual)}."
    return all_of([(model, own, 1.0) for model, own in found.items()], why)


def neutral_tokens_carry_the_decision(results: PaperResults) -> Finding:
    """7: in the base `MOST` tokens alone decide as the text does, as a rule; under tying and the
    masked LM tokens are on average within `NEAR_HALF` of a half."""
    agree, near = list[Comparison](), list[Comparison]()
    shares, sure = list[float](), list[float]()
    for corpus in corpora_in(results, MAIN):
        for attention in ATTENTIONS:
            share = main(results, corpus, attention, "base", _AGREE)
            if share:
                agree.append(above(label(corpus, attention, "base"), share, MOST))
                shares.append(share.value)
            for model in ("tying", "mlm"):
                alone = main(results, corpus, attention, model, _ALONE)
                if alone:
                    told = label(corpus, attention, model)
                    near.append(below(told, size(alone, 0.5), NEAR_HALF))
                    sure.append(alone.value)
    needed(agree, "base models")
    needed(near, "tying or the masked LM")
    why = (
        f"In the base {span(shares, 0)}% of tokens alone decide as the text does, more than "
        f"{MOST:.0f}% in {tally(agree)} {on(agree)}. Under tying and the masked LM a token alone "
        f"gives {span(sure, 3)}, within {NEAR_HALF:g} of a half in {tally(near)}{exceptions(near)}."
    )
    return all_of([("base", agree, AS_A_RULE), ("tying and masked LM", near, 1.0)], why)


def divergence_costs_more(results: PaperResults) -> Finding:
    """11: the mean TVD of adversaries, over the divergences that those of both models reach.

    Between values of λ the curve is a straight line, in order of JSD.
    """
    comparisons, apart, told = list[Comparison](), list[str](), list[str]()
    for corpus in corpora_in(results, parts(results, ADVERSARIES)):
        curves = {model: _curves(results, corpus, model) for model in ("base", "mlm")}
        if not all(curves.values()):
            continue
        every = [jsd for own in curves.values() for jsd, _ in own.values()]
        low, high = max(jsd[0] for jsd in every), min(jsd[-1] for jsd in every)
        if not low < high:
            apart.append(corpus)
            continue
        base, mlm = (_cost(own, low, high) for own in curves.values())
        comparisons.append(larger(label(corpus, "additive"), mlm, base))
        told.append(f"{corpus} {mlm.value:.3f} against {base.value:.3f} (JSD {low:.2f}–{high:.2f})")
    if apart and not comparisons:
        raise Missing(f"adversaries reach no divergence in common on {', '.join(apart)}")
    needed(comparisons, "adversaries of the base and the masked LM, of the parts adversaries-…")
    why = f"Mean TVD, masked LM against base: {'; '.join(told)}."
    if apart:
        why += f" No divergence in common on {', '.join(apart)}."
    return by_comparisons(comparisons, why)


def default_query_gives_uniform(results: PaperResults) -> Finding:
    """12: attention's normalised entropy is above `UNIFORM_ENTROPY` if the query begins as PyTorch
    has it, below if it is drawn from N(0, 1)."""
    found: dict[str, list[Comparison]] = {"default": [], "normal": []}
    entropies: dict[str, list[float]] = {"default": [], "normal": []}
    for corpus in corpora_in(results, INITIALISATION):
        for begun, comparisons in found.items():
            where = {"part": INITIALISATION, "corpus": corpus, "query_init": begun}
            entropy = find(results, *ENTROPY_OF_ATTENTION, **where)
            if entropy:
                compare = above if begun == "default" else below
                comparisons.append(compare(label(corpus, begun), entropy, UNIFORM_ENTROPY))
                entropies[begun].append(entropy.value)
    for begun, comparisons in found.items():
        needed(comparisons, f"models of the part {INITIALISATION} whose query begins as {begun}")
    why = (
        f"Entropy of attention, 1 being uniform, {on(found['default'])}: "
        f"{span(entropies['default'], 3)} if the query begins as PyTorch has it, "
        f"{span(entropies['normal'], 3)} if from N(0, 1)."
    )
    return all_of([(begun, comparisons, 1.0) for begun, comparisons in found.items()], why)


def _below_base(results: PaperResults, model: str) -> list[Comparison]:
    """A token alone is less sure than in the base, wherever both are there."""
    found = []
    for corpus in corpora_in(results, MAIN):
        for attention in ATTENTIONS:
            base, own = (main(results, corpus, attention, m, _ALONE) for m in ("base", model))
            if base and own:
                found.append(larger(label(corpus, attention, model), base, own))
    return found


Curve = tuple[np.ndarray, np.ndarray]
"""JSD, rising, and TVD at each."""


def _curves(results: PaperResults, corpus: str, model: str) -> dict[str, Curve]:
    """Of each cell, a point for each λ."""
    where: Mapping[str, Any] = {
        "part": parts(results, ADVERSARIES),
        "corpus": corpus,
        "attention": "additive",
        **MODELS[model],
    }
    points: dict[str, list[tuple[float, float]]] = {}
    for row in results.rows("adversaries", "jsd", **where):
        jsd, tvd = (find(results, "adversaries", row, column, **where) for column in ("jsd", "tvd"))
        if jsd and tvd:
            other = dict(zip(tvd.cells, tvd.values, strict=True))
            for cell, value in zip(jsd.cells, jsd.values, strict=True):
                points.setdefault(cell, []).append((value, other[cell]))
    return {cell: _rising(own) for cell, own in points.items()}


def _rising(points: Sequence[tuple[float, float]]) -> Curve:
    jsd, tvd = np.array(sorted(points)).T
    return jsd, tvd


def _cost(curves: Mapping[str, Curve], low: float, high: float) -> Number:
    """The mean TVD of each cell between two divergences."""
    steps = np.linspace(low, high, _STEPS)
    values = [float(np.interp(steps, jsd, tvd).mean()) for jsd, tvd in curves.values()]
    return Number.of(values, list(curves))

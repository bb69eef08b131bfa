"""Claims on tables 2 and 3, figure 1 and appendix C: states, tokens, adversaries, the query."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from verax.papers.claims import ClaimList, Comparisons, Finding, all_of, by_comparisons
from verax.papers.numbers import SeedMean
from verax.papers.words import minus_span
from verax.papers.results import Missing, PaperResults
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
    information,
    label,
    main,
    need,
    parts,
    size,
)

NEAR_CEILING = 0.8
"""Share of the words' entropy that is *near* it.

The least in table 2 for the residual model and frequent words, 4.3 nats, is 0.83 of the 5.2 of a
Zipf law over a thousand words."""
MOST = 200 / 3
"""Percent of tokens that are *most*.

Half would not do: tokens without influence fall to either side, and those that carry the decision
are on its side by themselves."""
NEAR_HALF = 0.2
"""How far from a half a token without influence may be, on average over a text.

Table 3 has 0.698 at most for tying and the masked LM, up to 0.887 for the base."""
UNIFORM_ENTROPY = 0.95
"""Normalised entropy from which attention is *uniform*.

At that entropy, weights of texts as short as SST's differ from their mean by about half of it."""
CLAIMS = ClaimList()
_STEPS = 101
_ALONE = ("single_token", CORRECT, "mean_probability")
_AGREE = ("single_token", CORRECT, "agreeing")


@CLAIMS.add(
    5,
    "States of the residual, tied and masked-LM models tell more of their words than the "
    "base's, on every corpus and for both samples of words (10 of 10 each); the residual ones "
    "nearly all there is to tell.",
    "table 2",
)
def states_keep_their_words(results: PaperResults) -> Finding:
    """5: three models against the base, everywhere; and the residual one near the ceiling.

    It is by raw information, as in the paper; `above_shuffled` is less that of shuffled labels.
    """
    by_model = {model: Comparisons() for model in ("residual", "tying", "mlm")}
    less, beyond, ceiling = Comparisons(), Comparisons(), Comparisons()
    kept: list[float] = []
    for corpus in corpora_in(results, parts(results, INFORMATION)):
        for name, row in WORDS.items():
            base = information(results, corpus, "base", row)
            residual = information(results, corpus, "residual", row)
            for model, comparisons in by_model.items():
                grounded = information(results, corpus, model, row)
                comparisons.larger(label(corpus, model, name), grounded, base)
                floored, other = (
                    information(results, corpus, m, row, "above_shuffled") for m in (model, "base")
                )
                less.larger(label(corpus, model, name), floored, other)
            tying = information(results, corpus, "tying", row)
            beyond.larger(label(corpus, name), tying, residual)
            entropy = information(results, corpus, "residual", row, "word_entropy")
            if entropy and residual and name == "most frequent":
                called = label(corpus, "residual, of the ceiling")
                ceiling.larger(called, residual, entropy.scaled(NEAR_CEILING))
                kept.append(100 * residual.value / entropy.value)
    every = Comparisons(c for comparisons in by_model.values() for c in comparisons)
    need(every, "the base and residual, tied or masked-LM models of the parts information-…")
    counts = ", ".join(f"{model} {c.tally}" for model, c in by_model.items())
    why = f"Above the base on {every.corpora}: {counts}{every.exceptions}."
    if less:
        why += f" With the floor of shuffled labels taken off: {less.tally}."
    if kept:
        why += f" Residual has {minus_span(kept, '.0f')}% of the entropy of frequent words."
    if beyond:
        why += f" Tying has more than residual in {beyond.tally}."
    model_parts = [(model, comparisons, 1.0) for model, comparisons in by_model.items()]
    return all_of([*model_parts, ("residual near the ceiling", ceiling, 1.0)], why)


@CLAIMS.add(
    6,
    "Under tying and the masked LM a token alone is less sure of the decision than in the base "
    "(10 of 10 cells each); in the residual model it is in some (6 of 10).",
    "table 3",
)
def tokens_alone_say_less(results: PaperResults) -> Finding:
    """6: tying and the masked LM, everywhere.

    The residual model is reported and has no part in the verdict: the paper's own numbers of it go
    both ways (6 of 10).
    """
    by_model = {model: _below_base(results, model) for model in ("tying", "mlm")}
    every = Comparisons(c for comparisons in by_model.values() for c in comparisons)
    need(every, "the base and tying or the masked LM")
    counts = [f"{model} {comparisons.tally}" for model, comparisons in by_model.items()]
    why = (
        f"A token alone is less sure than in the base on {every.corpora}: {', '.join(counts)}"
        f"{every.exceptions}, by {minus_span((c.difference for c in every), '+.3f')}."
    )
    residual = _below_base(results, "residual")
    if residual:
        why += f" Residual: {residual.tally}."
    return all_of([(model, by_model[model], 1.0) for model in by_model], why)


@CLAIMS.add(
    7,
    "In the base most tokens, neutral ones too, carry the decision; under tying and the masked "
    "LM neutral tokens are near a half.",
    "table 3, figures 2–7",
)
def neutral_tokens_carry_the_decision(results: PaperResults) -> Finding:
    """7: in the base `MOST` tokens alone decide as the text does, as a rule; under tying and the
    masked LM tokens are on average within `NEAR_HALF` of a half."""
    agree, near = Comparisons(), Comparisons()
    sure = list[float]()
    for corpus in corpora_in(results, MAIN):
        for attention in ATTENTIONS:
            share = main(results, corpus, attention, "base", _AGREE)
            agree.above(label(corpus, attention, "base"), share, MOST)
            for model in ("tying", "mlm"):
                alone = main(results, corpus, attention, model, _ALONE)
                if alone:
                    near.below(label(corpus, attention, model), size(alone, 0.5), NEAR_HALF)
                    sure.append(alone.value)
    need(agree, "base models")
    need(near, "tying or the masked LM")
    why = (
        f"In the base {agree.span('.0f')}% of tokens alone decide as the text does, more than "
        f"{MOST:.0f}% in {agree.tally} on {agree.corpora}. Under tying and the masked LM a token "
        f"alone gives {minus_span(sure, '.3f')}, within {NEAR_HALF:g} of a half in {near.tally}"
        f"{near.exceptions}."
    )
    return all_of([("base", agree, AS_A_RULE), ("tying and masked LM", near, 1.0)], why)


@CLAIMS.add(
    11,
    "Under a masked LM an adversary pays more in output (TVD) for the same divergence of "
    "attention (JSD) than against the base.",
    "figure 1",
)
def divergence_costs_more(results: PaperResults) -> Finding:
    """11: the mean TVD of adversaries, over the divergences that those of both models reach.

    Between values of λ the curve is a straight line, in order of JSD.
    """
    comparisons, apart, texts = Comparisons(), list[str](), list[str]()
    for corpus in corpora_in(results, parts(results, ADVERSARIES)):
        curves = {model: _curves(results, corpus, model) for model in ("base", "mlm")}
        if not all(curves.values()):
            continue
        every = [jsd for by_cell in curves.values() for jsd, _ in by_cell.values()]
        low, high = max(jsd[0] for jsd in every), min(jsd[-1] for jsd in every)
        if not low < high:
            apart.append(corpus)
            continue
        base, mlm = (_cost(by_cell, low, high) for by_cell in curves.values())
        comparisons.larger(label(corpus, "additive"), mlm, base)
        values = f"{mlm.value:.3f} against {base.value:.3f}"
        texts.append(f"{corpus} {values} (JSD {low:.2f}–{high:.2f})")
    if apart and not comparisons:
        raise Missing(f"adversaries reach no divergence in common on {', '.join(apart)}")
    need(comparisons, "adversaries of the base and the masked LM, of the parts adversaries-…")
    why = f"Mean TVD, masked LM against base: {'; '.join(texts)}."
    if apart:
        why += f" No divergence in common on {', '.join(apart)}."
    return by_comparisons(comparisons, why)


@CLAIMS.add(
    12,
    "Dot attention becomes uniform if its query begins as PyTorch has it, and does not if it "
    "is drawn from N(0, 1).",
    "appendix C",
)
def default_query_gives_uniform(results: PaperResults) -> Finding:
    """12: attention's normalised entropy is above `UNIFORM_ENTROPY` if the query begins as PyTorch
    has it, below if it is drawn from N(0, 1)."""
    by_start = {"default": Comparisons(), "normal": Comparisons()}
    for corpus in corpora_in(results, INITIALISATION):
        for begun, comparisons in by_start.items():
            where = {"part": INITIALISATION, "corpus": corpus, "query_init": begun}
            entropy = results.find(*ENTROPY_OF_ATTENTION, **where)
            compare = comparisons.above if begun == "default" else comparisons.below
            compare(label(corpus, begun), entropy, UNIFORM_ENTROPY)
    for begun, comparisons in by_start.items():
        need(comparisons, f"models of the part {INITIALISATION} whose query begins as {begun}")
    why = (
        f"Entropy of attention, 1 being uniform, on {by_start['default'].corpora}: "
        f"{by_start['default'].span('.3f')} if the query begins as PyTorch has it, "
        f"{by_start['normal'].span('.3f')} if from N(0, 1)."
    )
    return all_of([(begun, comparisons, 1.0) for begun, comparisons in by_start.items()], why)


def _below_base(results: PaperResults, model: str) -> Comparisons:
    """Comparisons: a token alone is less sure than in the base, for all cells that have both."""
    comparisons = Comparisons()
    for corpus in corpora_in(results, MAIN):
        for attention in ATTENTIONS:
            base, grounded = (main(results, corpus, attention, m, _ALONE) for m in ("base", model))
            comparisons.larger(label(corpus, attention, model), base, grounded)
    return comparisons


Curve = tuple[np.ndarray, np.ndarray]
"""JSD, rising, and TVD at each."""


def _curves(results: PaperResults, corpus: str, model: str) -> dict[str, Curve]:
    """The curve of each cell, with a point per λ."""
    where: Mapping[str, Any] = {
        "part": parts(results, ADVERSARIES),
        "corpus": corpus,
        "attention": "additive",
        **MODELS[model],
    }
    points: dict[str, list[tuple[float, float]]] = {}
    for row in results.rows("adversaries", "jsd", **where):
        jsd, tvd = (results.find("adversaries", row, column, **where) for column in ("jsd", "tvd"))
        if jsd and tvd:
            other = dict(zip(tvd.cells, tvd.values, strict=True))
            for cell, value in zip(jsd.cells, jsd.values, strict=True):
                points.setdefault(cell, []).append((value, other[cell]))
    return {cell: _rising(by_lam) for cell, by_lam in points.items()}


def _rising(points: Sequence[tuple[float, float]]) -> Curve:
    jsd, tvd = np.array(sorted(points)).T
    return jsd, tvd


def _cost(curves: Mapping[str, Curve], low: float, high: float) -> SeedMean:
    """The mean TVD of each cell between two divergences."""
    steps = np.linspace(low, high, _STEPS)
    values = [float(np.interp(steps, jsd, tvd).mean()) for jsd, tvd in curves.values()]
    return SeedMean.of(values, list(curves))

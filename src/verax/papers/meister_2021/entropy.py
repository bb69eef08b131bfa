"""Claims 2, 3, 4 and 5: how spread the influence of inputs is."""

from __future__ import annotations

from verax.papers.claims import ClaimList, Comparisons, Finding, all_of, by_comparisons
from verax.papers.comparing import Label
from verax.papers.meister_2021.along import along
from verax.papers.meister_2021.models import (
    SOFTMAX,
    SPARSEMAX,
    Model,
    between,
    judged_on,
    models,
)
from verax.papers.numbers import SeedMean
from verax.papers.words import span
from verax.papers.results import Missing, PaperResults

TABLE, MEAN = "dispersion.entropy", "mean"
ON_ITEMS = "influence@norm"
ON_OUTPUT = {"gradient": "gradient", "leave-one-out": "leave-one-out"}
"""Importance → row."""
HIGH = 0.46
"""The lowest of the twelve entropies that the paper's words call high: 20-News, Transformer."""
LITTLE = 0.1
"""The largest of the six changes that it calls little: SST, Transformer, 0.73 to 0.63."""

CLAIMS = ClaimList()
Entropies = list[tuple[Model, SeedMean]]


@CLAIMS.add(
    2,
    "An item is moved by many inputs: the entropy of their influence on it is high throughout.",
    "Table 1",
)
def high_on_items(results: PaperResults) -> Finding:
    """Claim 2, over softmax and sparsemax, as in Table 1."""
    comparisons = _high(_entropies(results, ON_ITEMS, (SOFTMAX, SPARSEMAX)))
    if not comparisons:
        raise Missing("no finished cell gives the entropy of inputs' influence on items")
    why = (
        f"The entropy of inputs' influence on items is {comparisons.span()}, above {HIGH:g} in "
        f"{comparisons.tally}. {judged_on(c.corpus for c in comparisons)}"
    )
    return by_comparisons(comparisons, why)


@CLAIMS.add(3, "Sparsemax changes that entropy little.", "Table 1")
def little_changed_on_items(results: PaperResults) -> Finding:
    """Claim 3: neither lower nor higher by more than `LITTLE`, pair by pair."""
    entropies = _entropies(results, ON_ITEMS, (SOFTMAX, SPARSEMAX))
    pairs = _with_softmax(entropies)
    if not pairs:
        raise Missing(
            "no finished cells give that entropy for softmax and sparsemax of one corpus and model"
        )
    no_lower, no_higher = Comparisons(), Comparisons()
    for model, sparse, dense in pairs:
        no_lower.larger(f"{model}: no lower", sparse, dense, by=-LITTLE)
        no_higher.larger(f"{model}: no higher", dense, sparse, by=-LITTLE)
    changes = [sparse.value - dense.value for _, sparse, dense in pairs]
    within = sum(abs(change) < LITTLE for change in changes)
    why = (
        f"From softmax to sparsemax it changes by {span(changes, '+.2f')}: by less"
        f" than {LITTLE:g} in {within} of {len(pairs)}, downwards in "
        f"{sum(change < 0 for change in changes)} (5 of 6 in the paper). "
        f"{judged_on(model.corpus for model, _, _ in pairs)}"
    )
    return all_of([("no lower", no_lower, 1.0), ("no higher", no_higher, 1.0)], why)


@CLAIMS.add(
    4,
    "The output, too, is moved by many inputs, whatever the projection, and by no fewer under "
    "sparse attention.",
    "Figure 2",
)
def high_on_output(results: PaperResults) -> Finding:
    """Claim 4: high for every projection, and no more than `LITTLE` lower under sparse attention.

    Sparse are sparsemax and sparsegen of larger λ, each against softmax. The trend along λ is
    claim 5's.
    """
    high, no_lower = Comparisons(), Comparisons()
    texts, corpora = [], []
    for importance, row in ON_OUTPUT.items():
        entropies = _entropies(results, row)
        if not entropies:
            continue
        above = _high(entropies, f": {importance}")
        against = Comparisons()
        for model, sparse, dense in _with_softmax(entropies):
            against.larger(f"{model}: {importance}, no lower", sparse, dense, by=-LITTLE)
        text = f"By {importance} it is {above.span()}, above {HIGH:g} in {above.tally} models"
        if against:
            text += (
                f"; sparse attention changes it by {against.differences()} "
                f"from softmax's, less than {LITTLE:g} downwards in {against.tally}"
            )
        texts.append(f"{text}.")
        high += above
        no_lower += against
        corpora += [model.corpus for model, _ in entropies]
    if not corpora:
        raise Missing("no finished cell gives the entropy of inputs' influence on the output")
    parts = [("high", high, 1.0), ("no lower under sparse attention", no_lower, 1.0)]
    return all_of(parts, " ".join([*texts, judged_on(corpora)]))


@CLAIMS.add(
    5,
    "The correlation of λ with the entropy of gradients over inputs is negative for every "
    "corpus and model.",
    "Table 2",
)
def falls_with_lam(results: PaperResults) -> Finding:
    """Claim 5, by the printed sign and by λ as the paper defines it: larger is sparser.

    The paper's words read the same negative sign as entropy that rises with sparsity; both cannot
    be. `why` says, by the measured support, which way entropy goes.
    """
    sweeps = along(results, TABLE, ON_OUTPUT["gradient"], MEAN)
    if not sweeps:
        raise Missing("no finished cells give the entropy of gradients at three λ or more")
    comparisons = Comparisons()
    numbers: dict[str, SeedMean] = {}
    for sweep in sweeps:
        comparisons.below(str(sweep), sweep.tau, 0)
        numbers |= {f"{sweep}: Spearman": sweep.spearman, f"{sweep}: Pearson": sweep.pearson}
        if sweep.support_tau is not None:
            numbers[f"{sweep}: τ-b with the support"] = sweep.support_tau
    why = (
        f"λ and the entropy of gradients over inputs correlate by {between(s.tau for s in sweeps)} "
        f"(τ-b; Spearman {between(s.spearman for s in sweeps)}, Pearson "
        f"{between(s.pearson for s in sweeps)}), negative in {comparisons.tally}."
    )
    supports = [s.support_tau for s in sweeps if s.support_tau is not None]
    if supports:
        narrower = sum(number.value > 0 for number in supports)
        why += (
            f" With the share of items in the support τ-b is {between(supports)}: the sparser "
            f"attention is, the lower the entropy in {narrower} of {len(supports)}, where the "
            "paper's words have it higher."
        )
    why = f"{why} {judged_on(sweep.corpus for sweep in sweeps)}"
    return by_comparisons(comparisons, why, numbers=numbers)


def _entropies(
    results: PaperResults, row: str, projections: tuple[str, ...] | None = None
) -> Entropies:
    every = models(results) if projections is None else models(results, projections)
    numbers = [(model, model.find(results, TABLE, row, MEAN)) for model in every]
    return [(model, number) for model, number in numbers if number is not None]


def _high(entropies: Entropies, ending: str = "") -> Comparisons:
    comparisons = Comparisons()
    for model, number in entropies:
        comparisons.above(Label(f"{model}{ending}", model.corpus), number, HIGH)
    return comparisons


def _with_softmax(entropies: Entropies) -> list[tuple[Model, SeedMean, SeedMean]]:
    """Models of sparse attention, their entropy, and that of softmax on the same corpus."""
    dense = {(m.corpus, m.encoder): n for m, n in entropies if m.projection == SOFTMAX}
    return [
        (model, number, dense[model.corpus, model.encoder])
        for model, number in entropies
        if model.is_sparse and (model.corpus, model.encoder) in dense
    ]

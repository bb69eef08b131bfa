"""Claims about how spread the influence of inputs is: 2, 3, 4 and 5."""

from __future__ import annotations

from collections.abc import Sequence

from verax.papers.claims import Finding, all_of, by_comparisons
from verax.papers.comparing import Comparison, above, below, larger
from verax.papers.meister_2021.along import along
from verax.papers.meister_2021.models import SOFTMAX, SPARSEMAX, Model, models
from verax.papers.meister_2021.wording import between, corpora_of, judged_on, moved
from verax.papers.numbers import Number
from verax.papers.results import Missing, PaperResults
from verax.papers.saying import tally

TABLE, MEAN = "dispersion.entropy", "mean"
ON_ITEMS = "influence@norm"
ON_OUTPUT = {"gradient": "gradient", "leave-one-out": "leave-one-out"}
"""Importance → row."""
HIGH = 0.46
"""The lowest of the twelve entropies that the paper's words call high: 20-News, Transformer."""
LITTLE = 0.1
"""The largest of the six changes that it calls little: SST, Transformer, 0.73 to 0.63."""

Found = list[tuple[Model, Number]]


def high_on_items(results: PaperResults) -> Finding:
    """Claim 2, over softmax and sparsemax, as in Table 1."""
    found = _entropies(results, ON_ITEMS, (SOFTMAX, SPARSEMAX))
    if not found:
        raise Missing("no finished cell gives the entropy of inputs' influence on items")
    own = [above(str(model), number, HIGH) for model, number in found]
    why = (
        f"The entropy of inputs' influence on items is {_range(found)}, above {HIGH:g} in "
        f"{tally(own)}. {judged_on(corpora_of(m for m, _ in found))}"
    )
    return by_comparisons(own, why)


def little_changed_on_items(results: PaperResults) -> Finding:
    """Claim 3: neither lower nor higher by more than `LITTLE`, pair by pair."""
    found = _entropies(results, ON_ITEMS, (SOFTMAX, SPARSEMAX))
    dense = {(m.corpus, m.encoder): n for m, n in found if m.projection == SOFTMAX}
    pairs = [
        (model, number, dense[model.corpus, model.encoder])
        for model, number in found
        if model.projection == SPARSEMAX and (model.corpus, model.encoder) in dense
    ]
    if not pairs:
        raise Missing(
            "no finished cells give that entropy for softmax and sparsemax of one corpus and model"
        )
    no_lower = [larger(f"{m}: no lower", a, b, by=-LITTLE) for m, a, b in pairs]
    no_higher = [larger(f"{m}: no higher", b, a, by=-LITTLE) for m, a, b in pairs]
    changes = [a.value - b.value for _, a, b in pairs]
    within = sum(abs(change) < LITTLE for change in changes)
    why = (
        f"From softmax to sparsemax it changes by {moved(changes)}: by less"
        f" than {LITTLE:g} in {within} of {len(pairs)}, downwards in "
        f"{sum(change < 0 for change in changes)} (5 of 6 in the paper). "
        f"{judged_on(corpora_of(m for m, _, _ in pairs))}"
    )
    return all_of([("no lower", no_lower, 1.0), ("no higher", no_higher, 1.0)], why)


def high_on_output(results: PaperResults) -> Finding:
    """Claim 4: high for every projection, and no more than `LITTLE` lower under sparse attention.

    Sparse are sparsemax and sparsegen of larger λ, each against softmax. The trend along λ is
    claim 5's.
    """
    high: list[Comparison] = []
    no_lower: list[Comparison] = []
    told, on = [], []
    for importance, row in ON_OUTPUT.items():
        found = _entropies(results, row)
        if not found:
            continue
        own = [above(f"{model}: {importance}", number, HIGH) for model, number in found]
        dense = {(m.corpus, m.encoder): n for m, n in found if m.projection == SOFTMAX}
        pairs = [
            (model, number, dense[model.corpus, model.encoder])
            for model, number in found
            if model.is_sparse and (model.corpus, model.encoder) in dense
        ]
        against = [larger(f"{m}: {importance}, no lower", a, b, by=-LITTLE) for m, a, b in pairs]
        said = f"By {importance} it is {_range(found)}, above {HIGH:g} in {tally(own)} models"
        if pairs:
            changes = [a.value - b.value for _, a, b in pairs]
            said += (
                f"; sparse attention changes it by {moved(changes)} "
                f"from softmax's, less than {LITTLE:g} downwards in {tally(against)}"
            )
        told.append(f"{said}.")
        high += own
        no_lower += against
        on += corpora_of(m for m, _ in found)
    if not on:
        raise Missing("no finished cell gives the entropy of inputs' influence on the output")
    parts: Sequence[tuple[str, Sequence[Comparison], float]] = [
        ("high", high, 1.0),
        ("no lower under sparse attention", no_lower, 1.0),
    ]
    return all_of(parts, " ".join([*told, judged_on(on)]))


def falls_with_lam(results: PaperResults) -> Finding:
    """Claim 5, by the sign printed and λ as the paper defines it: larger is sparser.

    Its words read the same negative sign as entropy that rises with sparsity; both cannot be.
    `why` tells, by the measured support, which way entropy goes.
    """
    found = along(results, TABLE, ON_OUTPUT["gradient"], MEAN)
    if not found:
        raise Missing("no finished cells give the entropy of gradients at three λ or more")
    own = [below(str(one), one.tau, 0) for one in found]
    why = (
        f"λ and the entropy of gradients over inputs correlate by {between(o.tau for o in found)} "
        f"(τ-b; Spearman {between(o.spearman for o in found)}, Pearson "
        f"{between(o.pearson for o in found)}), negative in {tally(own)}."
    )
    supports = [o.support_tau for o in found if o.support_tau is not None]
    if supports:
        narrower = sum(number.value > 0 for number in supports)
        why += (
            f" With the share of items in the support τ-b is {between(supports)}: the sparser "
            f"attention is, the lower the entropy in {narrower} of {len(supports)}, where the "
            "paper's words have it higher."
        )
    numbers: dict[str, Number] = {}
    for one in found:
        numbers |= {f"{one}: Spearman": one.spearman, f"{one}: Pearson": one.pearson}
        if one.support_tau is not None:
            numbers[f"{one}: τ-b with the support"] = one.support_tau
    why = f"{why} {judged_on(one.corpus for one in found)}"
    return by_comparisons(own, why, numbers=numbers)


def _entropies(
    results: PaperResults, row: str, projections: tuple[str, ...] | None = None
) -> Found:
    every = models(results) if projections is None else models(results, projections)
    numbers = [(model, model.find(results, TABLE, row, MEAN)) for model in every]
    return [(model, number) for model, number in numbers if number is not None]


def _range(found: Found) -> str:
    return between(number for _, number in found)

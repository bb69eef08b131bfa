"""Claims about attention's agreement with what moves the output: 1, 6 and 8.

All are of τ-b over all items. Sparse attention ties with any importance of items at its zeros,
which alone lifts τ-b, so the agreement among items with weight is told beside every verdict.
"""

from __future__ import annotations

from verax.papers.claims import Finding, all_of, by_comparisons
from verax.papers.comparing import Comparison, below, larger
from verax.papers.meister_2021.along import Along, along
from verax.papers.meister_2021.models import SOFTMAX, SPARSEGEN, SPARSEMAX, Model, models
from verax.papers.meister_2021.wording import between, corpora_of, judged_on, moved
from verax.papers.numbers import Number
from verax.papers.results import Missing, PaperResults
from verax.papers.saying import tally

ALL, ON_SUPPORT = "agreement", "agreement.on_support"
TAU = "tau"
INPUTS, ITEMS = "inputs:attention:{}", "items:attention:{}"
"""Rows of both tables, once the other importance is named."""
GRADIENT, LEAVE_ONE_OUT = "gradient", "leave-one-out"
IMPORTANCES = (GRADIENT, LEAVE_ONE_OUT)
NOTABLY = 0.1
"""Of τ-b. The figure behind "notably" is an image: half of what τ-b of single documents commonly
spreads by (an sd of 0.2 on SST and 20-News in Jain & Wallace's outputs), so that most documents
would show it."""
NO_BETTER = 0.05
"""Of τ-b: half of what is notable. Less is called no gain, so that equality can be found at all."""
ON_THE_WHOLE = 0.75
"""The paper's conclusion sums up: one comparison in four may go against it."""
FIGURE3 = "imdb"


def tau(
    results: PaperResults, model: Model, side: str, importance: str, table: str = ALL
) -> Number | None:
    return model.find(results, table, side.format(importance), TAU)


def items_before_inputs(results: PaperResults) -> Finding:
    """Claim 1. Models are those of softmax and sparsemax; sparsegen's are told beside them.

    The gradient goes through attention. With attention held fixed that of items *is* attention
    (τ-b of 1 for any model), and nothing could be learnt.
    """
    parts, told, on = [], [], []
    for importance in IMPORTANCES:
        pairs = _items_and_inputs(results, importance, (SOFTMAX, SPARSEMAX))
        others = _compared(_items_and_inputs(results, importance, (SPARSEGEN,)), importance)
        own = _compared(pairs, importance)
        parts.append((importance, own, 1.0))
        on += corpora_of(model for model, _, _ in pairs)
        if not pairs:
            continue
        said = (
            f"τ-b of attention with {importance} is {between(a for _, a, _ in pairs)} over items "
            f"and {between(b for _, _, b in pairs)} over inputs: ahead by more than {NOTABLY:g} in "
            f"{tally(own)} models"
        )
        support = between(tau(results, m, ITEMS, importance, ON_SUPPORT) for m, _, _ in pairs)
        said += f" (items with weight alone: {support})" if support else ""
        told.append(said + (f", and in {tally(others)} of sparsegen." if others else "."))
    if not on:
        raise Missing("no finished cell of softmax or sparsemax gives attention's agreement")
    return all_of(parts, " ".join([*told, judged_on(on)]))


def falls_with_lam(results: PaperResults) -> Finding:
    """Claim 6: along λ, on IMDb; on what there is where that is not among the results."""
    parts, told, on = [], [], []
    for importance in IMPORTANCES:
        every = along(results, ALL, INPUTS.format(importance), TAU)
        chosen = [found for found in every if found.corpus == FIGURE3] or every
        own = [below(f"{found}: {importance}", found.tau, 0) for found in chosen]
        parts.append((importance, own, 1.0))
        on += [found.corpus for found in chosen]
        if not own:
            continue
        said = (
            f"With λ, agreement with {importance} of inputs falls in {tally(own)} "
            f"(correlation {between(found.tau for found in chosen)}"
        )
        rest = [found for found in every if found not in chosen]
        said += f"; on other corpora {between(found.tau for found in rest)}" if rest else ""
        support = _on_support(results, importance, chosen)
        told.append(said + (f"; items with weight alone {support})." if support else ")."))
    if not on:
        raise Missing("no finished cells give attention's agreement with inputs at three λ or more")
    where = f"Judged on {', '.join(dict.fromkeys(on))}"
    where += "." if FIGURE3 in on else "; the paper's figure is of IMDb, which is not among them."
    return all_of(parts, " ".join([*told, where]))


def no_better_explanation(results: PaperResults) -> Finding:
    """Claim 8: sparsemax and sparsegen of larger λ against softmax, τ-b with inputs."""
    own: list[Comparison] = []
    gains: list[float] = []
    on = []
    every = models(results)
    dense = {(m.corpus, m.encoder): m for m in every if m.projection == SOFTMAX}
    for model in every:
        base = dense.get((model.corpus, model.encoder))
        if base is None or not model.is_sparse:
            continue
        for importance in IMPORTANCES:
            sparse = tau(results, model, INPUTS, importance)
            plain = tau(results, base, INPUTS, importance)
            if sparse is not None and plain is not None:
                own.append(larger(f"{model}: {importance}", plain, sparse, by=-NO_BETTER))
                gains.append(sparse.value - plain.value)
                on.append(model.corpus)
    if not own:
        raise Missing("no finished cells give agreement with inputs under sparse attention and not")
    lower = sum(gain < 0 for gain in gains)
    why = (
        f"Under sparse attention τ-b with importances of inputs is at most {NO_BETTER:g} above "
        f"softmax's in {tally(own)} comparisons, and lower in {lower}; it changes by "
        f"{moved(gains)}. {judged_on(on)}"
    )
    return by_comparisons(own, why, need=ON_THE_WHOLE)


def _items_and_inputs(
    results: PaperResults, importance: str, projections: tuple[str, ...]
) -> list[tuple[Model, Number, Number]]:
    found = []
    for model in models(results, projections):
        items = tau(results, model, ITEMS, importance)
        inputs = tau(results, model, INPUTS, importance)
        if items is not None and inputs is not None:
            found.append((model, items, inputs))
    return found


def _compared(pairs: list[tuple[Model, Number, Number]], importance: str) -> list[Comparison]:
    return [larger(f"{m}: {importance}", a, b, by=NOTABLY) for m, a, b in pairs]


def _on_support(results: PaperResults, importance: str, chosen: list[Along]) -> str:
    there = {(found.corpus, found.encoder) for found in chosen}
    found = along(results, ON_SUPPORT, INPUTS.format(importance), TAU)
    return between(one.tau for one in found if (one.corpus, one.encoder) in there)

"""Claims on erasing one item: ΔJS, and decisions that flip."""

from __future__ import annotations

from collections.abc import Sequence

from verax.exams.erasure.measures import tenth
from verax.papers.claims import ClaimList, Comparisons, Finding
from verax.papers.numbers import SeedMean, combined, percent
from verax.papers.results import PaperResults
from verax.papers.serrano_smith_2019.architectures import (
    ARCHITECTURES,
    WITH_ENCODER,
    WITHOUT_ENCODER,
    Architecture,
    Model,
    models,
    named,
    pairs,
)
from verax.papers.serrano_smith_2019.criteria import (
    ALL,
    FEWEST,
    GENERALLY,
    MANY,
    MUCH_MORE,
    NEARLY_ALL,
    NEARLY_ALL_MODELS,
    ONE_ITEM,
    SMALL_DELTA,
    VAST_MAJORITY,
    all_parts,
    counted,
)

CONTINGENCY, DELTA_JS = "erasure.contingency", "erasure.delta_js"
NEGATIVES, BY_ALPHA = "erasure.negative_delta_js", "erasure.delta_js_by_alpha"
TENTHS = tuple(tenth(k / 10, (k + 1) / 10) for k in range(10))
CASES = {
    "both": "both",
    "only top": "top_only",
    "only random": "random_only",
    "neither": "neither",
}
"""Measure → column of the contingency table; the first two are those in which the top flips."""
_SMALL = TENTHS[: round(10 * SMALL_DELTA)]
# the middles of these are 0.05, 0.4 and 0.75: equal steps
_LOW, _AROUND_04, _HIGH = TENTHS[:1], TENTHS[3:5], TENTHS[6:9]
_EARLY = TENTHS[1:5]
_ENOUGH = f"{ONE_ITEM}, with {FEWEST} documents or more in the tenths of Δα that it compares"
_GRADIENT_LESS = 14 / 24
CLAIMS = ClaimList()


@CLAIMS.add(
    1,
    "Erasing the most attended item moves the output more than erasing a random one for the "
    "vast majority of documents, in all models; where it moves it less, nearly always by "
    "next to nothing.",
    "section 4.1, figures 3 and 7",
)
def positive_delta_js(results: PaperResults) -> Finding:
    """Claim 1. A ΔJS of exactly 0 counts as not negative; near 0 is within 0.01 (of ln 2).

    Where a model has no negative ΔJS at all, nothing has to be near.
    """
    positive, near = Comparisons(), Comparisons()
    some_negative = False
    for model in models(results):
        negative = model.find(DELTA_JS, "attention", "negative_share")
        if negative is None:
            continue
        positive.below(model.label, negative, 100 - VAST_MAJORITY)
        some_negative |= negative.value > 0
        close = model.find(DELTA_JS, "attention", "negative_near_zero_share")
        near.above(f"{model.label}, near 0", close, NEARLY_ALL)
    why = (
        f"ΔJS is negative for {positive.span('.1f')}% of documents (below "
        f"{100 - VAST_MAJORITY:.0f}% in {positive.tally} models); of those, "
        f"{near.span('.1f')}% are above −0.01 (at least {NEARLY_ALL:.0f}% in "
        f"{near.tally})."
    )
    parts = [("not negative", positive, ALL)]
    if some_negative:
        parts.append(("near 0", near, ALL))
    return all_parts(results, parts, why, ONE_ITEM)


@CLAIMS.add(
    2,
    "Cases in which the random item moves the output more are mostly those where the two "
    "weights differ little (except for HANs on Yahoo).",
    "section 4.1, figures 4 and 8",
)
def negatives_at_small_delta_alpha(results: PaperResults) -> Finding:
    """Claim 2, by counts as in the paper's histograms: more than half lie at small Δα."""
    comparisons = Comparisons()
    for model in models(results):
        counts = {row: model.find(NEGATIVES, row, "negative") for row in TENTHS}
        known = {row: number for row, number in counts.items() if number is not None}
        if not known or not any(number.value for number in known.values()):
            continue
        share = percent([known[row] for row in _SMALL if row in known], list(known.values()))
        comparisons.above(model.label, share, 50.0)
    why = (
        f"{comparisons.span('.1f')}% of negative ΔJS lie at Δα below {SMALL_DELTA} (more "
        f"than half in {comparisons.tally} models). The exception that the paper makes, HANs on "
        "Yahoo, is not at hand."
    )
    needs = f"{ONE_ITEM}, with a negative ΔJS"
    return all_parts(results, [("at small Δα", comparisons, ALL)], why, needs)


@CLAIMS.add(
    3,
    "Even where the weights differ by about 0.4 the top item often matters hardly more; only "
    "for larger differences does its effect swing up.",
    "section 4.1, figures 3 and 7",
)
def small_until_large_delta_alpha(results: PaperResults) -> Finding:
    """Claim 3. Around 0.4 are the two tenths beside it. The upswing is in the medians of ΔJS, which
    have to rise more from 0.4 to 0.75 than from 0.05 to 0.4.
    """
    near, upswing = Comparisons(), Comparisons()
    for model in models(results):
        close = _at(model, _AROUND_04, "near_zero_share")
        near.above(f"{model.label}, near 0", close, MANY)
        low, middle, high = (_at(model, rows, "median") for rows in (_LOW, _AROUND_04, _HIGH))
        if low is not None and middle is not None and high is not None:
            later, before = ((1.0, high), (-1.0, middle)), ((1.0, middle), (-1.0, low))
            upswing.larger(f"{model.label}, rise", combined(later), combined(before))
    why = (
        f"At Δα 0.3 to 0.5, {near.span('.1f')}% of ΔJS are within 0.01 of 0 (more than "
        f"{MANY:.0f}% in {near.tally} models); the median rises more from Δα 0.4 to 0.75 than "
        f"from 0.05 to 0.4 in {upswing.tally}, by {upswing.differences()}."
    )
    parts = [("near 0 at 0.4", near, GENERALLY), ("upswing later", upswing, GENERALLY)]
    return all_parts(results, parts, why, _ENOUGH)


@CLAIMS.add(
    4,
    "The less context an encoder brings in, the smaller the difference of weights at which "
    "that upswing begins.",
    "section 4.1, figures 3 and 7",
)
def upswing_by_context(results: PaperResults) -> Finding:
    """Claim 4, as a curve that lies higher: medians of ΔJS at Δα 0.1 to 0.5, tenths that both have,
    are larger without an encoder than with one, and with a convolution than recurrent."""
    rnn, conv = named("HANrnn", "FLANrnn"), named("HANconv", "FLANconv")
    kinds: list[tuple[Sequence[Architecture], Sequence[Architecture]]] = [
        (WITHOUT_ENCODER, rnn),
        (WITHOUT_ENCODER, conv),
        (conv, rnn),
    ]
    comparisons = Comparisons()
    for less_kind, more_kind in kinds:
        for less, more in pairs(results, less_kind, more_kind):
            rows = [row for row in _EARLY if _is_filled(less, row) and _is_filled(more, row)]
            a, b = _at(less, rows, "median"), _at(more, rows, "median")
            comparisons.larger(f"{less.label} : {more.architecture.name}", a, b)
    why = (
        f"At the same Δα (0.1 to 0.5) the median ΔJS is higher for the model with less context in "
        f"{comparisons.tally} pairs, by {comparisons.differences()}."
    )
    parts = [("higher with less context", comparisons, GENERALLY)]
    needs = f"{_ENOUGH}, of two models of more and less context"
    return all_parts(results, parts, why, needs)


@CLAIMS.add(
    5,
    "More decisions flip by the most attended item alone than by a random one alone, in nearly "
    "all models, and much more so in FLANs.",
    "section 4.2, table 2 and figure 9",
)
def top_flips_more_than_random(results: PaperResults) -> Finding:
    """Claim 5. *Much more so* is by ratio: of the documents that one of the two items alone flips,
    the random one's share is half as large. Differences of counts would set a word against a
    sentence, which flips more anyway."""
    more = Comparisons()
    for model in models(results):
        top, chance = (
            model.find(CONTINGENCY, "attention", case) for case in ("top_only", "random_only")
        )
        more.larger(model.label, top, chance)
    much_more = Comparisons()
    for flan, han in _families(results):
        a, b = _by_random(flan), _by_random(han)
        if a is not None and b is not None:
            halved = combined([(1 / MUCH_MORE, b)])
            much_more.larger(f"{flan.label} : {han.architecture.name}", halved, a)
    why = (
        f"The top item alone flips {more.span('.1f')}% of decisions, the random one alone "
        f"{more.span_of_others('.1f')}%: more in {more.tally} models. The random one's "
        f"share of these is less than half that of the HAN for {much_more.tally} FLANs."
    )
    parts = [
        ("top more than random", more, NEARLY_ALL_MODELS),
        ("much more in FLANs", much_more, GENERALLY),
    ]
    return all_parts(results, parts, why, ONE_ITEM)


@CLAIMS.add(
    6,
    "For the vast majority of documents, erasing the most attended item leaves the decision "
    "as it is.",
    "section 4.2, table 2 and figure 9",
)
def top_rarely_flips(results: PaperResults) -> Finding:
    """Claim 6."""
    comparisons = Comparisons()
    for model in models(results):
        flips = flips_of_top(model, "attention")
        comparisons.below(model.label, flips, 100 - VAST_MAJORITY)
    why = (
        f"Erasing the top item flips {comparisons.span('.1f')}% of decisions, fewer than "
        f"{100 - VAST_MAJORITY:.0f}% in {comparisons.tally} models."
    )
    return all_parts(results, [("rarely flips", comparisons, GENERALLY)], why, ONE_ITEM)


@CLAIMS.add(
    7,
    "Without an encoder, more decisions flip by the most attended or a random item than with "
    "one (except for FLANs on Yahoo).",
    "section 4.2, figure 9",
)
def more_flips_without_encoder(results: PaperResults) -> Finding:
    """Claim 7, within a corpus and family. The one exception the paper names is not at hand."""
    comparisons = Comparisons()
    for without, encoder in pairs(results, WITHOUT_ENCODER, WITH_ENCODER):
        a, b = (model.find(CONTINGENCY, "attention", "neither") for model in (without, encoder))
        # fewer that neither flips
        comparisons.larger(f"{without.label} : {encoder.architecture.name}", b, a)
    why = (
        f"Without an encoder more decisions flip by the top or the random item in "
        f"{comparisons.tally} pairs, by {comparisons.differences('+.1f')} percentage points. The "
        "exception that the paper makes, FLANnoenc on Yahoo, is not at hand."
    )
    needs = f"{ONE_ITEM}, of models with and without an encoder"
    return all_parts(results, [("more flips", comparisons, ALL)], why, needs)


@CLAIMS.add(
    17,
    "The top item by the product flips more decisions than that by attention in all models, "
    "the top one by gradient fewer in 14 of 24.",
    "appendix, figures 9, 12 and 13",
)
def top_by_other_rankings(results: PaperResults) -> Finding:
    """Claim 17."""
    product, gradient = Comparisons(), Comparisons()
    for model in models(results):
        attention, by_gradient, by_product = (
            flips_of_top(model, name) for name in ("attention", "gradient", "product")
        )
        product.larger(f"{model.label}, product", by_product, attention)
        gradient.larger(f"{model.label}, gradient", attention, by_gradient)
    why = (
        f"The top item by product flips more decisions than that by attention in {product.tally} "
        f"models ({product.differences('+.1f')} percentage points), the top one by gradient fewer "
        f"in {gradient.tally} (the paper: 14 of 24)."
    )
    parts = [("product more", product, ALL), ("gradient fewer", counted(gradient), _GRADIENT_LESS)]
    return all_parts(results, parts, why, ONE_ITEM)


def flips_of_top(model: Model, top: str) -> SeedMean | None:
    """Percent of decisions that flip with the top item, with or without the random one."""
    counts = _counts(model, top)
    return None if counts is None else percent(counts[:2], counts)


def _by_random(model: Model) -> SeedMean | None:
    """Of the documents that one erasure alone flips, the percentage that the random item flips."""
    counts = _counts(model, "attention")
    if counts is None or not counts[1].value + counts[2].value > 0:
        return None
    return percent(counts[2:3], counts[1:3])


def _counts(model: Model, top: str) -> list[SeedMean] | None:
    """The number of documents of each case."""
    shares = [model.find(CONTINGENCY, top, case) for case in CASES.values()]
    known = [number.scaled(number.n / 100) for number in shares if number is not None]
    return known if len(known) == len(CASES) else None


def _families(results: PaperResults) -> list[tuple[Model, Model]]:
    """FLAN and HAN of the same corpus and encoder."""
    flans = models(results, [a for a in ARCHITECTURES if not a.hierarchical])
    hans = models(results, [a for a in ARCHITECTURES if a.hierarchical])
    return [
        (flan, han)
        for flan in flans
        for han in hans
        if (flan.corpus, flan.architecture.encoder) == (han.corpus, han.architecture.encoder)
    ]


def _is_filled(model: Model, row: str) -> bool:
    documents = model.find(BY_ALPHA, row, "documents")
    return documents is not None and documents.value >= FEWEST


def _at(model: Model, rows: Sequence[str], column: str) -> SeedMean | None:
    """The mean over tenths of Δα with enough documents; None if there is none."""
    medians = [model.find(BY_ALPHA, row, column) for row in rows if _is_filled(model, row)]
    known = [number for number in medians if number is not None]
    return combined([(1 / len(known), number) for number in known]) if known else None

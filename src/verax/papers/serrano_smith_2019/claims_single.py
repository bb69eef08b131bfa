"""What the paper claims of erasing one item: ΔJS, and decisions that flip."""

from __future__ import annotations

from collections.abc import Sequence

from verax.exams.erasure.measures import tenth
from verax.papers.claims import Finding
from verax.papers.comparing import above, below, larger
from verax.papers.numbers import Number
from verax.papers.results import PaperResults
from verax.papers.saying import tally
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
from verax.papers.serrano_smith_2019.deriving import as_count, combined, percent
from verax.papers.serrano_smith_2019.words import (
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
    differences,
    spread,
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


def positive_delta_js(results: PaperResults) -> Finding:
    """Claim 1. A ΔJS of exactly 0 counts as not negative; near 0 is within 0.01 (of ln 2).

    Where a model has no negative ΔJS at all, nothing has to be near.
    """
    positive, near = [], []
    some_negative = False
    for model in models(results):
        negative = model.find(DELTA_JS, "attention", "negative_share")
        if negative is None:
            continue
        positive.append(below(model.label, negative, 100 - VAST_MAJORITY))
        some_negative |= negative.value > 0
        close = model.find(DELTA_JS, "attention", "negative_near_zero_share")
        if close is not None:
            near.append(above(f"{model.label}, near 0", close, NEARLY_ALL))
    why = (
        f"ΔJS is negative for {spread(c.a for c in positive)}% of documents (below "
        f"{100 - VAST_MAJORITY:.0f}% in {tally(positive)} models); of those, "
        f"{spread(c.a for c in near)}% are above −0.01 (at least {NEARLY_ALL:.0f}% in "
        f"{tally(near)})."
    )
    parts = [("not negative", positive, ALL)]
    if some_negative:
        parts.append(("near 0", near, ALL))
    return all_parts(results, parts, why, ONE_ITEM)


def negatives_at_small_delta_alpha(results: PaperResults) -> Finding:
    """Claim 2, by counts as in the paper's histograms: more than half lie at small Δα."""
    comparisons = []
    for model in models(results):
        counts = {row: model.find(NEGATIVES, row, "negative") for row in TENTHS}
        known = {row: number for row, number in counts.items() if number is not None}
        if not known or not any(number.value for number in known.values()):
            continue
        share = percent([known[row] for row in _SMALL if row in known], list(known.values()))
        comparisons.append(above(model.label, share, 50.0))
    why = (
        f"{spread(c.a for c in comparisons)}% of negative ΔJS lie at Δα below {SMALL_DELTA} (more "
        f"than half in {tally(comparisons)} models). The exception that the paper makes, HANs on "
        "Yahoo, is not at hand."
    )
    needs = f"{ONE_ITEM}, with a negative ΔJS"
    return all_parts(results, [("at small Δα", comparisons, ALL)], why, needs)


def small_until_large_delta_alpha(results: PaperResults) -> Finding:
    """Claim 3. Around 0.4 are the two tenths beside it; the upswing is told by medians of ΔJS,
    which have to rise more from 0.4 to 0.75 than from 0.05 to 0.4."""
    near, upswing = [], []
    for model in models(results):
        close = _at(model, _AROUND_04, "near_zero_share")
        if close is not None:
            near.append(above(f"{model.label}, near 0", close, MANY))
        low, middle, high = (_at(model, rows, "median") for rows in (_LOW, _AROUND_04, _HIGH))
        if low is not None and middle is not None and high is not None:
            later, before = ((1.0, high), (-1.0, middle)), ((1.0, middle), (-1.0, low))
            upswing.append(larger(f"{model.label}, rise", combined(later), combined(before)))
    why = (
        f"At Δα 0.3 to 0.5, {spread(c.a for c in near)}% of ΔJS are within 0.01 of 0 (more than "
        f"{MANY:.0f}% in {tally(near)} models); the median rises more from Δα 0.4 to 0.75 than "
        f"from 0.05 to 0.4 in {tally(upswing)}, by {differences(upswing)}."
    )
    parts = [("near 0 at 0.4", near, GENERALLY), ("upswing later", upswing, GENERALLY)]
    return all_parts(results, parts, why, _ENOUGH)


def upswing_by_context(results: PaperResults) -> Finding:
    """Claim 4, as a curve that lies higher: medians of ΔJS at Δα 0.1 to 0.5, tenths that both have,
    are larger without an encoder than with one, and with a convolution than recurrent."""
    rnn, conv = named("HANrnn", "FLANrnn"), named("HANconv", "FLANconv")
    kinds: list[tuple[Sequence[Architecture], Sequence[Architecture]]] = [
        (WITHOUT_ENCODER, rnn),
        (WITHOUT_ENCODER, conv),
        (conv, rnn),
    ]
    comparisons = []
    for less_kind, more_kind in kinds:
        for less, more in pairs(results, less_kind, more_kind):
            rows = [row for row in _EARLY if _is_filled(less, row) and _is_filled(more, row)]
            a, b = _at(less, rows, "median"), _at(more, rows, "median")
            if a is not None and b is not None:
                comparisons.append(larger(f"{less.label} : {more.architecture.name}", a, b))
    why = (
        f"At the same Δα (0.1 to 0.5) the median ΔJS is higher for the model with less context in "
        f"{tally(comparisons)} pairs, by {differences(comparisons)}."
    )
    parts = [("higher with less context", comparisons, GENERALLY)]
    needs = f"{_ENOUGH}, of two models of more and less context"
    return all_parts(results, parts, why, needs)


def top_flips_more_than_random(results: PaperResults) -> Finding:
    """Claim 5. *Much more so* is by ratio: of the documents that one of the two items alone flips,
    the random one's share is half as large. Differences of counts would set a word against a
    sentence, which flips more whatever it says."""
    more = []
    for model in models(results):
        top, chance = (
            model.find(CONTINGENCY, "attention", case) for case in ("top_only", "random_only")
        )
        if top is not None and chance is not None:
            more.append(larger(model.label, top, chance))
    much_more = []
    for flan, han in _families(results):
        a, b = _by_random(flan), _by_random(han)
        if a is not None and b is not None:
            halved = combined([(1 / MUCH_MORE, b)])
            label = f"{flan.label} : {han.architecture.name}"
            much_more.append(larger(label, halved, a))
    why = (
        f"The top item alone flips {spread(c.a for c in more)}% of decisions, the random one alone "
        f"{spread(c.b for c in more if c.b)}%: more in {tally(more)} models. The random one's "
        f"share of these is less than half that of the HAN for {tally(much_more)} FLANs."
    )
    parts = [
        ("top more than random", more, NEARLY_ALL_MODELS),
        ("much more in FLANs", much_more, GENERALLY),
    ]
    return all_parts(results, parts, why, ONE_ITEM)


def top_rarely_flips(results: PaperResults) -> Finding:
    """Claim 6."""
    comparisons = []
    for model in models(results):
        flips = flips_of_top(model, "attention")
        if flips is not None:
            comparisons.append(below(model.label, flips, 100 - VAST_MAJORITY))
    why = (
        f"Erasing the top item flips {spread(c.a for c in comparisons)}% of decisions, fewer than "
        f"{100 - VAST_MAJORITY:.0f}% in {tally(comparisons)} models."
    )
    return all_parts(results, [("rarely flips", comparisons, GENERALLY)], why, ONE_ITEM)


def more_flips_without_encoder(results: PaperResults) -> Finding:
    """Claim 7, within a corpus and family. The one exception the paper names is not at hand."""
    comparisons = []
    for without, encoder in pairs(results, WITHOUT_ENCODER, WITH_ENCODER):
        a, b = (model.find(CONTINGENCY, "attention", "neither") for model in (without, encoder))
        if a is not None and b is not None:
            # fewer that neither flips
            comparisons.append(larger(f"{without.label} : {encoder.architecture.name}", b, a))
    why = (
        f"Without an encoder more decisions flip by the top or the random item in "
        f"{tally(comparisons)} pairs, by {differences(comparisons, 1)} percentage points. The "
        "exception that the paper makes, FLANnoenc on Yahoo, is not at hand."
    )
    needs = f"{ONE_ITEM}, of models with and without an encoder"
    return all_parts(results, [("more flips", comparisons, ALL)], why, needs)


def top_by_other_rankings(results: PaperResults) -> Finding:
    """Claim 17."""
    product, gradient = [], []
    for model in models(results):
        by = {name: flips_of_top(model, name) for name in ("attention", "gradient", "product")}
        attention = by["attention"]
        if attention is not None and by["product"] is not None:
            product.append(larger(f"{model.label}, product", by["product"], attention))
        if attention is not None and by["gradient"] is not None:
            gradient.append(larger(f"{model.label}, gradient", attention, by["gradient"]))
    why = (
        f"The top item by product flips more decisions than that by attention in {tally(product)} "
        f"models ({differences(product, 1)} percentage points), the top one by gradient fewer in "
        f"{tally(gradient)} (the paper: 14 of 24)."
    )
    parts = [("product more", product, ALL), ("gradient fewer", counted(gradient), _GRADIENT_LESS)]
    return all_parts(results, parts, why, ONE_ITEM)


def flips_of_top(model: Model, top: str) -> Number | None:
    """Percent of decisions that flip with the top item, whatever the random one does."""
    counts = _counts(model, top)
    return None if counts is None else percent(counts[:2], counts)


def _by_random(model: Model) -> Number | None:
    """Of the documents that one erasure alone flips, the percentage that the random item does."""
    counts = _counts(model, "attention")
    if counts is None or not counts[1].value + counts[2].value > 0:
        return None
    return percent(counts[2:3], counts[1:3])


def _counts(model: Model, top: str) -> list[Number] | None:
    found = [model.find(CONTINGENCY, top, case) for case in CASES.values()]
    known = [as_count(number) for number in found if number is not None]
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


def _at(model: Model, rows: Sequence[str], column: str) -> Number | None:
    """The mean over tenths of Δα that have documents enough; None where there is none."""
    found = [model.find(BY_ALPHA, row, column) for row in rows if _is_filled(model, row)]
    known = [number for number in found if number is not None]
    return combined([(1 / len(known), number) for number in known]) if known else None

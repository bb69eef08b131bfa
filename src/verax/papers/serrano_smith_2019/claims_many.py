"""Claims on erasing items in order until the decision flips."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verax.exams.erasure.measures import pair
from verax.papers.claims import ClaimList, Comparisons, Finding
from verax.papers.numbers import SeedMean, combined, difference, percent
from verax.papers.results import PaperResults
from verax.papers.serrano_smith_2019.architectures import (
    WITH_ENCODER,
    WITHOUT_ENCODER,
    Model,
    models,
    named,
    pairs,
)
from verax.papers.serrano_smith_2019.criteria import (
    ALL,
    GENERALLY,
    IN_ORDER,
    MUCH,
    MUCH_MORE,
    OFTEN,
    SLIGHT,
    all_parts,
    counted,
)

FRACTION, MASS, PAIRS = "erasure.fraction", "erasure.mass", "erasure.pairs"
RANKINGS = ("random", "attention", "gradient", "product")
_INFORMED = RANKINGS[1:]
_GRADIENT_SMALLER = 10 / 16
_RATIO = 1.6
_LARGE = 0.5
"""A large fraction, a high mass: more than half."""
_SHIFT = 0.25
CLAIMS = ClaimList()
_OF_ENCODERS = f"{IN_ORDER}, of models with an encoder"


@CLAIMS.add(
    8,
    "With an encoder, erasing by attention flips decisions sooner than erasing at random, but "
    "clearly later than by gradient, or by attention times gradient.",
    "section 5, figures 5 and 10",
)
def attention_between_random_and_gradient(results: PaperResults) -> Finding:
    """Claim 8. Against random by documents: attention's order is the shorter one more often than
    the longer. Clearly worse: a larger fraction, on the documents that all orders flip."""
    encoders = models(results, WITH_ENCODER)
    beats = _shorter(encoders, "attention", "random", "fewer")
    gradient, product = (
        _differ(encoders, FRACTION, "common_mean", "attention", name, SLIGHT)
        for name in ("gradient", "product")
    )
    why = (
        f"Of models with an encoder, attention's order beats a random one in {beats.tally} (it is "
        f"the shorter one in {beats.span('.1f')}% of the documents where they differ), and"
        f" erases a fraction larger than gradient's by {gradient.differences()} (more than "
        f"{SLIGHT} in {gradient.tally}) and than product's by "
        f"{product.differences()} ({product.tally})."
    )
    parts = [
        ("beats random", beats, GENERALLY),
        ("worse than gradient", gradient, GENERALLY),
        ("worse than product", product, GENERALLY),
    ]
    return all_parts(results, parts, why, _OF_ENCODERS)


@CLAIMS.add(
    9,
    "The product often, though not always, takes slightly fewer items than the gradient, which "
    "comes close to it.",
    "section 5, figures 5 and 10",
)
def gradient_close_to_product(results: PaperResults) -> Finding:
    """Claim 9, of models with an encoder (claim 15 has the others)."""
    encoders = models(results, WITH_ENCODER)
    fewer = _shorter(encoders, "gradient", "product", "more")
    close = Comparisons()
    for model in encoders:
        a, b = (model.find(FRACTION, name, "common_mean") for name in ("gradient", "product"))
        if a is not None and b is not None:
            close.below(f"{model.label}, gap", combined([(1.0, a), (-1.0, b)]), SLIGHT)
    why = (
        f"Product is the shorter order in {fewer.span('.1f')}% of the documents where it "
        f"and gradient differ (more than half in {fewer.tally} models with an encoder); gradient "
        f"erases {close.span('.3f')} more of the items (less than {SLIGHT} in "
        f"{close.tally})."
    )
    parts = [("fewer", counted(fewer), OFTEN), ("close", close, GENERALLY)]
    return all_parts(results, parts, why, _OF_ENCODERS)


@CLAIMS.add(
    10,
    "The gradient's set is strictly smaller than attention's for more than half of the "
    "documents in 10 of the 16 models with an encoder.",
    "section 5.4",
)
def gradient_smaller_than_attention(results: PaperResults) -> Finding:
    """Claim 10, of the documents that either order flips, as in the authors' code; `why` has the
    share of all, as the paper words it."""
    of_flips, of_all = Comparisons(), Comparisons()
    row = pair("attention", "gradient")
    for model in models(results, WITH_ENCODER):
        of_flips.above(f"{model.label}, of flips", model.find(PAIRS, row, "more_of_flips"), 50.0)
        of_all.above(f"{model.label}, of all", model.find(PAIRS, row, "more_of_all"), 50.0)
    why = (
        f"Gradient's set is the smaller one for {of_flips.span('.1f')}% of the documents "
        f"that either order flips, more than half in {of_flips.tally} models with an encoder "
        f"(the paper: 10 of 16); of all documents, {of_all.span('.1f')}%, "
        f"more than half in {of_all.tally}."
    )
    parts = [("more than half", counted(of_flips), _GRADIENT_SMALLER)]
    return all_parts(results, parts, why, _OF_ENCODERS)


@CLAIMS.add(
    11,
    "In every model with an encoder, gradient is faster than attention at least 1.6 times as "
    "often as attention is faster than gradient.",
    "section 5.4",
)
def gradient_faster_by_ratio(results: PaperResults) -> Finding:
    """Claim 11. Faster 1.6 times as often is 1.6/2.6 of the documents where the two differ."""
    bound = 100 * _RATIO / (1 + _RATIO)
    comparisons = _shorter(models(results, WITH_ENCODER), "attention", "gradient", "more", bound)
    ratios = [_odds(c.a.value) for c in comparisons]
    why = (
        f"Where gradient and attention differ, gradient is faster in "
        f"{comparisons.span('.1f')}% of documents: at least {_RATIO} times as often in "
        f"{comparisons.tally} models with an encoder; the least ratio is "
        f"{min(ratios, default=math.nan):.2f}."
    )
    return all_parts(results, [("ratio", comparisons, ALL)], why, _OF_ENCODERS)


@CLAIMS.add(
    12,
    "Large fractions of the items have to go, most of all in FLANrnn, where some medians and "
    "lower quartiles are at or near 1.",
    "section 5, figures 5 and 10",
)
def flanrnn_needs_most(results: PaperResults) -> Finding:
    """Claim 12. High: a median above one half, by corpus and order. *Some* at or near 1: the
    largest of these medians, which no lower quartile exceeds."""
    high, near = Comparisons(), Comparisons()
    for model in models(results, named("FLANrnn")):
        for name in RANKINGS:
            number = model.find(FRACTION, name, "median")
            high.above(f"{model.label}, {name}", number, _LARGE)
    if high:
        largest = max(high, key=lambda c: c.a.value)
        near.above(f"{largest.label}, near 1", largest.a, 1 - SLIGHT)
    why = (
        f"Median fractions that FLANrnn has to lose are {high.span('.2f')}, above "
        f"{_LARGE} in {high.tally} corpora and orders; the largest is "
        f"{'' if near and near[0].is_for else 'not '}beyond {1 - SLIGHT}. That this is most in "
        "FLANrnn, and lower quartiles, have no part in the verdict."
    )
    parts = [("high", high, GENERALLY), ("some near 1", near, ALL)]
    return all_parts(results, parts, why, f"{IN_ORDER}, of FLANrnn")


@CLAIMS.add(
    13,
    "FLANs flip much earlier with a convolution than recurrent; HANs do too, but much less so.",
    "section 5, figures 5 and 10",
)
def conv_flips_earlier(results: PaperResults) -> Finding:
    """Claim 13, by the median fraction, averaged over the four orders."""
    flan, han, weaker = Comparisons(), Comparisons(), Comparisons()
    drops: dict[tuple[str, str], SeedMean] = {}
    for rnn, conv in pairs(results, named("HANrnn", "FLANrnn"), named("HANconv", "FLANconv")):
        a, b = _median(rnn, RANKINGS), _median(conv, RANKINGS)
        if a is None or b is None:
            continue
        family = rnn.architecture.family
        by = MUCH if family == "FLAN" else 0.0
        comparisons = flan if family == "FLAN" else han
        comparisons.larger(f"{rnn.label} : {conv.architecture.name}", a, b, by)
        drops[rnn.corpus, family] = difference(a, b)
    for (corpus, family), drop in drops.items():
        other = drops.get((corpus, "HAN"))
        if family == "FLAN" and other is not None:
            twice = combined([(MUCH_MORE, other)])
            weaker.larger(f"{corpus} FLAN : {MUCH_MORE:g} HAN", drop, twice)
    why = (
        f"Median fractions of rnn are above those of conv by {flan.differences()} in FLANs (more "
        f"than {MUCH} in {flan.tally} corpora) and by {han.differences()} in HANs (above 0 in "
        f"{han.tally}); the FLANs' difference is more than {MUCH_MORE:g} times the HANs' in "
        f"{weaker.tally}."
    )
    parts = [("FLAN", flan, GENERALLY), ("HAN", han, GENERALLY), ("weaker", weaker, GENERALLY)]
    needs = f"{IN_ORDER}, of a recurrent and a convolutional model of one family"
    return all_parts(results, parts, why, needs)


@CLAIMS.add(
    14,
    "Without an encoder the fraction that has to go is far below that of any model with one; "
    "mostly in random order, too (and most on Amazon).",
    "section 5, figures 6 and 10",
)
def fraction_plummets_without_encoder(results: PaperResults) -> Finding:
    """Claim 14, within a corpus and family; by the median fraction, averaged over the informed
    orders, and for random by itself."""
    informed = _falls(results, _INFORMED, MUCH)
    chance = _falls(results, ("random",), 0.0)
    why = (
        f"Without an encoder median fractions are lower by {informed.differences()} (more than "
        f"{MUCH} in {informed.tally} pairs), in random order by {chance.differences()} (lower in "
        f"{chance.tally}). That this is most on Amazon is not judged: it is not at hand."
    )
    parts = [("plummets", informed, ALL), ("random, too", chance, GENERALLY)]
    needs = f"{IN_ORDER}, of models with and without an encoder"
    return all_parts(results, parts, why, needs)


@CLAIMS.add(
    15,
    "Without an encoder, attention is on par with gradient or better, and the product is still "
    "often the fastest.",
    "section 5, figures 6 and 10",
)
def attention_on_par_without_encoder(results: PaperResults) -> Finding:
    """Claim 15. On par: attention's fraction exceeds gradient's by what is slight, at most."""
    noenc = models(results, WITHOUT_ENCODER)
    par = _differ(noenc, FRACTION, "common_mean", "gradient", "attention", -SLIGHT)
    best = Comparisons()
    for name in ("attention", "gradient"):
        best += _shorter(noenc, name, "product", "more")
    why = (
        f"Without an encoder gradient erases {par.differences()} more of the items than attention, "
        f"which is on par or better in {par.tally} models; product's is the shorter order in "
        f"{best.span('.1f')}% of the documents where it differs from attention's or "
        f"gradient's (more than half in {best.tally} cases)."
    )
    parts = [("on par", par, GENERALLY), ("product best", counted(best), OFTEN)]
    return all_parts(results, parts, why, f"{IN_ORDER}, of models without an encoder")


@CLAIMS.add(
    16,
    "Much of the attention's mass often has to go before a decision flips in its own order; "
    "by gradient or product about 0.25 less, or lower still, in most models.",
    "appendix, figure 11",
)
def mass_of_attention_is_high(results: PaperResults) -> Finding:
    """Claim 16, by medians; *about* 0.25 allows for what is slight."""
    every = models(results)
    high = Comparisons()
    for model in every:
        high.above(f"{model.label}, mass", model.find(MASS, "attention", "median"), _LARGE)
    by = _SHIFT - SLIGHT
    gradient, product = (
        _differ(every, MASS, "median", "attention", name, by) for name in ("gradient", "product")
    )
    why = (
        f"By attention's order {high.span('.2f')} of the mass goes before the "
        f"decision flips (above {_LARGE} in {high.tally} models), {gradient.differences()} more "
        f"than by gradient's and {product.differences()} more than by product's (about {_SHIFT} or "
        f"more in {gradient.tally} and {product.tally})."
    )
    parts = [
        ("high", counted(high), OFTEN),
        ("gradient lower", gradient, GENERALLY),
        ("product lower", product, GENERALLY),
    ]
    return all_parts(results, parts, why, IN_ORDER)


def _odds(share: float) -> float:
    return share / (100 - share) if share < 100 else math.inf


def _shorter(
    compared: Sequence[Model], first: str, second: str, column: str, bound: float = 50.0
) -> Comparisons:
    """Of the documents where two orders differ, the percentage in `column`, against a bound."""
    comparisons = Comparisons()
    for model in compared:
        fewer, more = (model.find(PAIRS, pair(first, second), name) for name in ("fewer", "more"))
        if fewer is None or more is None:
            continue
        share = percent([fewer if column == "fewer" else more], [fewer, more])
        if not math.isnan(share.value):
            comparisons.above(f"{model.label}, {first} : {second}", share, bound)
    return comparisons


def _differ(
    compared: Sequence[Model], table: str, column: str, first: str, second: str, by: float
) -> Comparisons:
    """A number of one order against that of another, model by model."""
    comparisons = Comparisons()
    for model in compared:
        a, b = (model.find(table, name, column) for name in (first, second))
        comparisons.larger(f"{model.label}, {first} : {second}", a, b, by)
    return comparisons


def _falls(results: PaperResults, rankings: Sequence[str], by: float) -> Comparisons:
    """Median fractions with an encoder against those without."""
    comparisons = Comparisons()
    for encoder, without in pairs(results, WITH_ENCODER, WITHOUT_ENCODER):
        label = f"{encoder.label} : {without.architecture.name}"
        label += f", {rankings[0]}" if len(rankings) == 1 else ""
        comparisons.larger(label, _median(encoder, rankings), _median(without, rankings), by)
    return comparisons


def _median(model: Model, rankings: Sequence[str]) -> SeedMean | None:
    """The median fraction, averaged over orders; None unless all have one."""
    medians = [model.find(FRACTION, name, "median") for name in rankings]
    known = [(1 / len(rankings), number) for number in medians if number is not None]
    return combined(known) if len(known) == len(rankings) else None

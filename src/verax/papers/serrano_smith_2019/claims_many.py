"""What the paper claims of erasing items in order, until the decision flips."""

from __future__ import annotations

import math
from collections.abc import Sequence

from verax.exams.erasure.measures import pair
from verax.papers.claims import Finding
from verax.papers.comparing import Comparison, above, below, larger
from verax.papers.numbers import Number
from verax.papers.results import PaperResults
from verax.papers.saying import tally
from verax.papers.serrano_smith_2019.architectures import (
    WITH_ENCODER,
    WITHOUT_ENCODER,
    Model,
    models,
    named,
    pairs,
    there,
)
from verax.papers.serrano_smith_2019.deriving import combined, difference, percent
from verax.papers.serrano_smith_2019.words import (
    ALL,
    GENERALLY,
    IN_ORDER,
    MUCH,
    MUCH_MORE,
    OFTEN,
    SLIGHT,
    all_parts,
    counted,
    differences,
    spread,
)

FRACTION, MASS, PAIRS = "erasure.fraction", "erasure.mass", "erasure.pairs"
RANKINGS = ("random", "attention", "gradient", "product")
_INFORMED = RANKINGS[1:]
_GRADIENT_SMALLER = 10 / 16
_RATIO = 1.6
_LARGE = 0.5
"""A large fraction, a high mass: more than half."""
_SHIFT = 0.25
_OF_ENCODERS = f"{IN_ORDER}, of models with an encoder"


def attention_between_random_and_gradient(results: PaperResults) -> Finding:
    """Claim 8. Against random by documents: attention's order is the shorter one more often than
    the longer. Clearly worse: a larger fraction, on the documents that all orders flip."""
    encoders = models(results, WITH_ENCODER)
    beats = _shorter(encoders, "attention", "random", "fewer")
    worse = {
        name: _differ(encoders, FRACTION, "common_mean", "attention", name, SLIGHT)
        for name in ("gradient", "product")
    }
    why = (
        f"Of models with an encoder, attention's order beats a random one in {tally(beats)} (it is "
        f"the shorter one in {spread(c.a for c in beats)}% of the documents where they differ), and"
        f" erases a fraction larger than gradient's by {differences(worse['gradient'])} (more than "
        f"{SLIGHT} in {tally(worse['gradient'])}) and than product's by "
        f"{differences(worse['product'])} ({tally(worse['product'])})."
    )
    parts = [("beats random", beats, GENERALLY)]
    parts += [(f"worse than {name}", own, GENERALLY) for name, own in worse.items()]
    return all_parts(results, parts, why, _OF_ENCODERS)


def gradient_close_to_product(results: PaperResults) -> Finding:
    """Claim 9, of models with an encoder (claim 15 has the others)."""
    encoders = models(results, WITH_ENCODER)
    fewer = _shorter(encoders, "gradient", "product", "more")
    close = []
    for model in encoders:
        a, b = (model.find(FRACTION, name, "common_mean") for name in ("gradient", "product"))
        if a is not None and b is not None:
            close.append(below(f"{model.label}, gap", combined([(1.0, a), (-1.0, b)]), SLIGHT))
    why = (
        f"Product is the shorter order in {spread(c.a for c in fewer)}% of the documents where it "
        f"and gradient differ (more than half in {tally(fewer)} models with an encoder); gradient "
        f"erases {spread((c.a for c in close), 3)} more of the items (less than {SLIGHT} in "
        f"{tally(close)})."
    )
    parts = [("fewer", counted(fewer), OFTEN), ("close", close, GENERALLY)]
    return all_parts(results, parts, why, _OF_ENCODERS)


def gradient_smaller_than_attention(results: PaperResults) -> Finding:
    """Claim 10, of the documents that either order flips, as in the authors' code; `why` has the
    share of all, as the paper words it."""
    of_flips, of_all = (
        [
            above(f"{model.label}, {of}", number, 50.0)
            for model in models(results, WITH_ENCODER)
            if (number := model.find(PAIRS, pair("attention", "gradient"), column)) is not None
        ]
        for of, column in (("of flips", "more_of_flips"), ("of all", "more_of_all"))
    )
    why = (
        f"Gradient's set is the smaller one for {spread(c.a for c in of_flips)}% of the documents "
        f"that either order flips, more than half in {tally(of_flips)} models with an encoder "
        f"(the paper: 10 of 16); of all documents, {spread(c.a for c in of_all)}%, "
        f"more than half in {tally(of_all)}."
    )
    parts = [("more than half", counted(of_flips), _GRADIENT_SMALLER)]
    return all_parts(results, parts, why, _OF_ENCODERS)


def gradient_faster_by_ratio(results: PaperResults) -> Finding:
    """Claim 11. Faster 1.6 times as often is 1.6/2.6 of the documents where the two differ."""
    bound = 100 * _RATIO / (1 + _RATIO)
    comparisons = _shorter(models(results, WITH_ENCODER), "attention", "gradient", "more", bound)
    ratios = [_odds(c.a.value) for c in comparisons]
    why = (
        f"Where gradient and attention differ, gradient is faster in "
        f"{spread(c.a for c in comparisons)}% of documents: at least {_RATIO} times as often in "
        f"{tally(comparisons)} models with an encoder; the least ratio is "
        f"{min(ratios, default=math.nan):.2f}."
    )
    return all_parts(results, [("ratio", comparisons, ALL)], why, _OF_ENCODERS)


def flanrnn_needs_most(results: PaperResults) -> Finding:
    """Claim 12. High: a median above one half, by corpus and order. *Some* at or near 1: the
    largest of these medians, which no lower quartile exceeds."""
    high = [
        above(f"{model.label}, {name}", number, _LARGE)
        for model in models(results, named("FLANrnn"))
        for name in RANKINGS
        if (number := model.find(FRACTION, name, "median")) is not None
    ]
    near = []
    if high:
        largest = max(high, key=lambda c: c.a.value)
        near = [above(f"{largest.label}, near 1", largest.a, 1 - SLIGHT)]
    why = (
        f"Median fractions that FLANrnn has to lose are {spread((c.a for c in high), 2)}, above "
        f"{_LARGE} in {tally(high)} corpora and orders; the largest is "
        f"{'' if near and near[0].is_for else 'not '}beyond {1 - SLIGHT}. That this is most in "
        "FLANrnn, and lower quartiles, have no part in the verdict."
    )
    parts = [("high", high, GENERALLY), ("some near 1", near, ALL)]
    return all_parts(results, parts, why, f"{IN_ORDER}, of FLANrnn")


def conv_flips_earlier(results: PaperResults) -> Finding:
    """Claim 13, by the median fraction, averaged over the four orders."""
    flan: list[Comparison] = []
    han: list[Comparison] = []
    weaker = []
    drops: dict[tuple[str, str], Number] = {}
    for rnn, conv in pairs(results, named("HANrnn", "FLANrnn"), named("HANconv", "FLANconv")):
        a, b = _median(rnn, RANKINGS), _median(conv, RANKINGS)
        if a is None or b is None:
            continue
        family = rnn.architecture.family
        by = MUCH if family == "FLAN" else 0.0
        own = flan if family == "FLAN" else han
        own.append(larger(f"{rnn.label} : {conv.architecture.name}", a, b, by))
        drops[rnn.corpus, family] = difference(a, b)
    for (corpus, family), drop in drops.items():
        other = drops.get((corpus, "HAN"))
        if family == "FLAN" and other is not None:
            twice = combined([(MUCH_MORE, other)])
            weaker.append(larger(f"{corpus} FLAN : {MUCH_MORE:g} HAN", drop, twice))
    why = (
        f"Median fractions of rnn are above those of conv by {differences(flan)} in FLANs (more "
        f"than {MUCH} in {tally(flan)} corpora) and by {differences(han)} in HANs (above 0 in "
        f"{tally(han)}); the FLANs' difference is more than {MUCH_MORE:g} times the HANs' in "
        f"{tally(weaker)}."
    )
    parts = [("FLAN", flan, GENERALLY), ("HAN", han, GENERALLY), ("weaker", weaker, GENERALLY)]
    needs = f"{IN_ORDER}, of a recurrent and a convolutional model of one family"
    return all_parts(results, parts, why, needs)


def fraction_plummets_without_encoder(results: PaperResults) -> Finding:
    """Claim 14, within a corpus and family; by the median fraction, averaged over the informed
    orders, and for random by itself."""
    informed = _falls(results, _INFORMED, MUCH)
    chance = _falls(results, ("random",), 0.0)
    why = (
        f"Without an encoder median fractions are lower by {differences(informed)} (more than "
        f"{MUCH} in {tally(informed)} pairs), in random order by {differences(chance)} (lower in "
        f"{tally(chance)}). That this is most on Amazon is not judged: it is not at hand."
    )
    parts = [("plummets", informed, ALL), ("random, too", chance, GENERALLY)]
    needs = f"{IN_ORDER}, of models with and without an encoder"
    return all_parts(results, parts, why, needs)


def attention_on_par_without_encoder(results: PaperResults) -> Finding:
    """Claim 15. On par: attention's fraction exceeds gradient's by what is slight, at most."""
    noenc = models(results, WITHOUT_ENCODER)
    par = _differ(noenc, FRACTION, "common_mean", "gradient", "attention", -SLIGHT)
    best = [
        comparison
        for name in ("attention", "gradient")
        for comparison in _shorter(noenc, name, "product", "more")
    ]
    why = (
        f"Without an encoder gradient erases {differences(par)} more of the items than attention, "
        f"which is on par or better in {tally(par)} models; product's is the shorter order in "
        f"{spread(c.a for c in best)}% of the documents where it differs from attention's or "
        f"gradient's (more than half in {tally(best)} cases)."
    )
    parts = [("on par", par, GENERALLY), ("product best", counted(best), OFTEN)]
    return all_parts(results, parts, why, f"{IN_ORDER}, of models without an encoder")


def mass_of_attention_is_high(results: PaperResults) -> Finding:
    """Claim 16, by medians; *about* 0.25 allows for what is slight."""
    every = models(results)
    high = [
        above(f"{model.label}, mass", number, _LARGE)
        for model in every
        if (number := model.find(MASS, "attention", "median")) is not None
    ]
    by = _SHIFT - SLIGHT
    gradient, product = (
        _differ(every, MASS, "median", "attention", name, by) for name in ("gradient", "product")
    )
    why = (
        f"By attention's order {spread((c.a for c in high), 2)} of the mass goes before the "
        f"decision flips (above {_LARGE} in {tally(high)} models), {differences(gradient)} more "
        f"than by gradient's and {differences(product)} more than by product's (about {_SHIFT} or "
        f"more in {tally(gradient)} and {tally(product)})."
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
    found: Sequence[Model], one: str, other: str, column: str, bound: float = 50.0
) -> list[Comparison]:
    """Of the documents where two orders differ, the percentage in `column`, against a bound."""
    comparisons = []
    for model in found:
        fewer, more = (model.find(PAIRS, pair(one, other), name) for name in ("fewer", "more"))
        if fewer is None or more is None:
            continue
        share = there(percent([fewer if column == "fewer" else more], [fewer, more]))
        if share is not None:
            comparisons.append(above(f"{model.label}, {one} : {other}", share, bound))
    return comparisons


def _differ(
    found: Sequence[Model], table: str, column: str, one: str, other: str, by: float
) -> list[Comparison]:
    """A number of one order against that of another, model by model."""
    comparisons = []
    for model in found:
        a, b = (model.find(table, name, column) for name in (one, other))
        if a is not None and b is not None:
            comparisons.append(larger(f"{model.label}, {one} : {other}", a, b, by))
    return comparisons


def _falls(results: PaperResults, rankings: Sequence[str], by: float) -> list[Comparison]:
    """Median fractions with an encoder against those without."""
    comparisons = []
    for encoder, without in pairs(results, WITH_ENCODER, WITHOUT_ENCODER):
        a, b = _median(encoder, rankings), _median(without, rankings)
        if a is not None and b is not None:
            label = f"{encoder.label} : {without.architecture.name}"
            told = label if len(rankings) > 1 else f"{label}, {rankings[0]}"
            comparisons.append(larger(told, a, b, by))
    return comparisons


def _median(model: Model, rankings: Sequence[str]) -> Number | None:
    """The median fraction, averaged over orders; None unless all are there."""
    found = [model.find(FRACTION, name, "median") for name in rankings]
    known = [(1 / len(rankings), number) for number in found if number is not None]
    return combined(known) if len(known) == len(rankings) else None

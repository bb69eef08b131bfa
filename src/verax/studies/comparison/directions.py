"""Which exam a measure is of, its unit, and which way is better.

Better means that attention is the more truthful, or decisions the more accurate. Where neither
can be said, as of an entropy, no way is better.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

HIGHER, LOWER, NEITHER = "higher", "lower", ""
DECISIONS = "decisions"
PERCENT, POINTS, NUMBER, NATS = "percent", "points", "number", "nats"
SCALE = {PERCENT: 100.0, POINTS: 100.0, NUMBER: 1.0, NATS: 1.0}

ATTENTION_ITSELF = "attention itself, by arithmetic"
ZEROS = "items without weight tie by arithmetic: see on support"
SAME = "judged over all items"
OTHER_ITEMS = "of words in one and sentences in the other"
FEWER = "items without weight need not go, by arithmetic: see optimal"
ALL = "where all weight must go any order is, by arithmetic: see where part is enough"
PEAKED = "of how peaked attention is, by arithmetic: see held"
_COUNTED = ("erasure: fraction, attention", "erasure: excess, attention")
_OF_ITEMS = ("erasure", "agreement", "single_token", "adversary")


@dataclass(frozen=True)
class Kind:
    """What a measure is: its exam, its unit, which way is better, and a word where none is."""

    exam: str
    unit: str = NUMBER
    better: str = NEITHER
    note: str = ""


_KINDS = {
    "accuracy": Kind(DECISIONS, PERCENT, HIGHER),
    "F1": Kind(DECISIONS, PERCENT, HIGHER),
    "macro F1": Kind(DECISIONS, PERCENT, HIGHER),
    "erasure: fraction, attention": Kind("erasure", PERCENT, LOWER),
    "erasure: fraction, optimum": Kind("erasure", PERCENT),
    "erasure: excess, attention": Kind("erasure", NUMBER, LOWER),
    "erasure: optimal, attention": Kind("erasure", PERCENT, note=ALL),
    "erasure: optimal where part is enough": Kind("erasure", PERCENT, HIGHER),
    "erasure: delta_js, attention": Kind("erasure", NUMBER, HIGHER),
    "support_share": Kind("dispersion", PERCENT),
    "support": Kind("dispersion"),
    "entropy: ": Kind("dispersion"),
    "replacement: survives ": Kind("replacement", PERCENT, LOWER),
    "replacement: tvd ": Kind("replacement", NUMBER, HIGHER),
    "replacement: Δ ": Kind("replacement", POINTS, LOWER),
    "single_token: alone": Kind("single_token", NUMBER, LOWER),
    "single_token: pooled": Kind("single_token", NUMBER, LOWER),
    "single_token: agreeing": Kind("single_token", PERCENT, LOWER),
    "single_token: confidence": Kind("single_token"),
    "adversary: jsd": Kind("adversary", note=PEAKED),
    "adversary: held": Kind("adversary", NUMBER, HIGHER),
    "adversary: permuted": Kind("adversary", NUMBER, HIGHER),
}
"""By the name's beginning, the first that fits."""

_INFORMATION = {
    "kept": Kind("information", PERCENT, HIGHER),
    "distance": Kind("information"),  # what tying trains for
}
"""By its end. Nats depend on the words, which a vocabulary chooses: only their share is judged."""


def kind_of(
    measure: str,
    *,
    dense: bool = True,
    encoders: Collection[str] = (),
    attended: Collection[str] = (),
) -> Kind:
    """What a measure is, between models of these encoders that attend these kinds of items.

    dense     whether every item has weight in both: an item without has neither gradient nor
              leave-one-out importance, so that rankings of items agree at zeros by arithmetic and
              only those on the support are judged. Where words are the items (encoder none) that
              goes for inputs too. Nor need such an item go before a decision flips: fractions and
              excesses are smaller by arithmetic.
    attended  words, sentences: what is of items is not judged between one and the other

    With attention detached the gradient of an item is its weight times what all share. No judging
    by that, nor by what two importances other than attention have in common.

    >>> kind_of("replacement: survives uniform").better
    'lower'
    >>> kind_of("tau: items attention : gradient-detached").note
    'attention itself, by arithmetic'
    """
    found = _kind(measure, dense, encoders)
    if len(attended) > 1 and found.exam in _OF_ITEMS:
        return replace(found, better=NEITHER, note=found.note or OTHER_ITEMS)
    return found


def _kind(measure: str, dense: bool, encoders: Collection[str]) -> Kind:
    if measure.startswith("tau"):
        return _agreement(measure, dense, encoders)
    if measure.startswith("information: "):
        return _INFORMATION.get(measure.rpartition(", ")[2], Kind("information", NATS))
    for start, kind in _KINDS.items():
        if measure.startswith(start):
            # what must go before a decision flips is at most the support
            few = not dense and measure.startswith(_COUNTED)
            return replace(kind, better=NEITHER, note=FEWER) if few else kind
    return Kind(measure.partition(":")[0])


def _agreement(measure: str, dense: bool, encoders: Collection[str]) -> Kind:
    over, _, pair = measure.partition(": ")
    on, first, _, second = pair.split(" ")
    # without an encoder a word is its item; an mlp's has no part in another's either
    itself = on == "items" or "none" in encoders
    same = itself or "mlp" in encoders
    if first != "attention":
        return Kind("agreement")
    if second == "gradient-detached" and itself:
        return Kind("agreement", note=ATTENTION_ITSELF)
    on_support = over == "tau on support"
    if not on_support and same and not dense:
        return Kind("agreement", note=ZEROS)
    if on_support and (dense or not same):
        return Kind("agreement", note=SAME)
    return Kind("agreement", better=HIGHER)

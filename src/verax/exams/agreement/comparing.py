"""Which way agreement is better, between two groups of models."""

from __future__ import annotations

from verax.exams.agreement.measures import ITSELF, ON_SUPPORT
from verax.exams.agreement.measures import pair as row_of
from verax.exams.exam import Pair, no_direction
from verax.exams.measures import Classes, Place
from verax.models.encoders import ENCODERS

ATTENTION_ITSELF = "attention itself, by arithmetic"
ZEROS = "items without weight tie by arithmetic: see on support"
SAME = "judged over all items"
_DETACHED = (ITSELF, row_of("inputs", "attention", "gradient-detached"))


def direction(place: Place, pair: Pair) -> tuple[str, str]:
    """Agreement of attention with others is judged, where arithmetic leaves something to judge.

    Where an item has no weight, rankings of items agree at zeros by arithmetic: only those on the
    support are judged. Without an encoder a word is its item, so that goes for inputs too. With
    attention detached the gradient of an item is its weight times what all share.
    """
    on, first, _ = place.row.split(":")
    known = [ENCODERS[name] for name in pair.encoders if name in ENCODERS]
    itself = on == "items" or any(encoder.is_identity for encoder in known)
    # an item that is made of its own word alone has no part in another's either
    same = itself or any(encoder.reach == 0 for encoder in known)
    if first != "attention":
        return no_direction("")
    if place.row in _DETACHED and itself:
        return no_direction(ATTENTION_ITSELF)
    if place.table is not ON_SUPPORT and same and not pair.dense:
        return no_direction(ZEROS)
    if place.table is ON_SUPPORT and (pair.dense or not same):
        return no_direction(SAME)
    return place.measure.better, ""


def is_compared(place: Place, note: str) -> bool:
    """All but what says the same as another, or nothing, or is not of attention."""
    _, first, _ = place.row.split(":")
    return first == "attention" and note not in (SAME, ATTENTION_ITSELF)


def label(place: Place, classes: Classes = ()) -> str:
    """Of inputs or items, and with what; attention is taken for granted."""
    if place.table.counts:
        return place.table.title_of_row(place.row, classes)
    on, first, second = place.row.split(":")
    pair = second if first == "attention" else f"{first} : {second}"
    return f"{on}: {pair}{', on support' if place.table is ON_SUPPORT else ''}"

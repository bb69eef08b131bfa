"""Which models a calibration makes: kinds, texts, lengths, classes and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from verax.calibration.kinds import BERT, BETWEEN, DECEPTIVE, HONEST, KINDS, UNIFORM, Kind
from verax.calibration.texts import PLANTED, Place
from verax.portable import corpus_name

CHOOSING, HELD_OUT, ASIDE = "choosing", "held out", "aside"
"""Parts: limits are chosen on the first and tested on the second; the third is reported only."""
LENGTHS, NEW_LENGTHS = (10, 24, 80, 300), (16, 48, 150)
CLASSES, NEW_CLASSES = (2, 4, 8), (3, 6)
REVIEWS = "imdb_reviews"
REVIEWED = ((20, 6), (48, 3), (120, 6))
"""Words and classes of real reviews with planted evidence."""
LONGEST = {"transformer": 60, "bert": 80}
"""Encoder → words beyond which it is not trained here: its cost grows with their square."""
MOST_SEEDS = {
    "bilstm": ((60, 2),),
    "conv": ((60, 2),),
    "bigru": ((40, 3), (60, 1)),
    "transformer": ((40, 2),),
    "bert": ((14, 4), (20, 2), (60, 1)),
}
"""Encoder → from so many words on, at most so many seeds: these take longest to train."""
COSTLY = 200
"""Words from which on all others have one seed."""
LEFT_OUT = (4,)
"""Numbers of classes that are left out where there is one seed."""


@dataclass(frozen=True)
class Spec:
    """One model to be made."""

    kind: str
    place: Place
    seed: int
    part: str

    @property
    def name(self) -> str:
        """A name for its file."""
        at = self.place
        return f"{self.kind}.{corpus_name(at.texts)}.{at.length}.{at.classes}.{self.seed}"

    @property
    def group(self) -> tuple[Place, int, str, int]:
        """What shares a corpus and a twin."""
        kind = KINDS[self.kind]
        return self.place, self.seed, kind.encoder, kind.layers


def whole(seeds: int = 3, reviews: bool = True, berts: bool = True) -> list[Spec]:
    """The plan of the shipped calibration.

    Args:
        seeds: a kind and place; one more of those that are held out, twice as many of the shortest
            of these, and one of those that take long.
        reviews: whether real reviews with planted evidence are among the places held out.
        berts: whether BERTs of Hugging Face are among the kinds.
    """
    sides = (HONEST, DECEPTIVE)
    kinds = [kind for kind in KINDS.values() if berts or kind.encoder != BERT]
    known = [kind for kind in kinds if kind.side in sides and not kind.held_out]
    new = [kind for kind in kinds if kind.side in sides and kind.held_out]
    aside = [kind for kind in kinds if kind.side in (BETWEEN, UNIFORM)]
    places = [Place(PLANTED, *at) for at in product(LENGTHS, CLASSES)]
    new_places = [Place(PLANTED, *at) for at in product(NEW_LENGTHS, NEW_CLASSES)]
    shortest = [place for place in new_places if place.length == min(NEW_LENGTHS)]
    longer = [place for place in new_places if place not in shortest]
    real = [Place(REVIEWS, *at) for at in REVIEWED] if reviews else []
    return [
        *_specs(known, places, range(seeds), CHOOSING),
        *_specs(new, shortest, range(100, 100 + 2 * seeds), HELD_OUT),
        *_specs(new, longer, range(100, 101 + seeds), HELD_OUT),
        *_specs(new, real, range(200, 202), HELD_OUT),
        *_specs(aside, [Place(PLANTED, 24, 2), Place(PLANTED, 80, 4)], range(2), ASIDE),
    ]


def smoke(berts: bool = True) -> list[Spec]:
    """A few models, to try a calibration out."""
    kinds = [KINDS[name] for name in ("none", "none-supervised", "mlp-supervised")]
    kinds += [KINDS[name] for name in ("bilstm-penalty", "conv-penalty")]
    new = [KINDS["mlp"], KINDS["bigru-penalty"]]
    if berts:
        kinds += [KINDS[name] for name in ("bert1-supervised", "bert2-penalty")]
    return [
        *_specs(kinds, [Place(PLANTED, 12, 2)], range(1), CHOOSING),
        *_specs(new, [Place(PLANTED, 12, 3)], range(100, 101), HELD_OUT),
    ]


def like(encoder: str, texts: str, length: int, classes: int, seeds: int) -> list[Spec]:
    """A plan for one model and its corpus.

    Honest kinds whose states hold their word and those of the model's encoder, and deceptive kinds
    of that encoder, with evidence planted into the corpus's own texts. No kind is held out: limits
    are tested on seeds that are left out in turn.
    """
    own = [kind for kind in KINDS.values() if kind.encoder == encoder]
    honest = [k for k in KINDS.values() if k.side == HONEST and k.encoder in ("none", "mlp")]
    deceptive = [k for k in own if k.side == DECEPTIVE]
    if not deceptive:  # states that hold their word cannot deceive by these means
        deceptive = [k for k in KINDS.values() if k.side == DECEPTIVE and not k.adversary]
    kinds = [*dict.fromkeys([*honest, *(k for k in own if k.side == HONEST), *deceptive])]
    return [
        Spec(kind.name, Place(texts, length, classes), seed, CHOOSING)
        for seed, kind in product(range(seeds), kinds)
        if length <= LONGEST.get(kind.encoder, length)
    ]


def _specs(
    kinds: Sequence[Kind], places: Sequence[Place], seeds: Sequence[int], part: str
) -> Iterator[Spec]:
    for place, seed, kind in product(places, seeds, kinds):
        fits = place.length <= LONGEST.get(kind.encoder, place.length)
        fits &= place.classes not in LEFT_OUT or most_seeds(kind.encoder, place.length) != 1
        if fits and seed in seeds[: most_seeds(kind.encoder, place.length)]:
            yield Spec(kind.name, place, seed, part)


def most_seeds(encoder: str, words: int) -> int | None:
    """How many seeds there are at most, of an encoder and texts; None for all.

    >>> most_seeds("bigru", 48), most_seeds("bigru", 150), most_seeds("mlp", 48)
    (3, 1, None)
    """
    known = [most for least, most in MOST_SEEDS.get(encoder, ()) if words >= least]
    return min([*known, *([1] if words >= COSTLY else [])], default=None)

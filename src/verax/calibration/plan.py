"""Which models a calibration makes: kinds, texts, lengths, classes and seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from verax.calibration.kinds import BETWEEN, DECEPTIVE, HONEST, KINDS, UNIFORM, Kind
from verax.calibration.texts import PLANTED, Place
from verax.portable import corpus_name

CHOOSING, HELD_OUT, ASIDE = "choosing", "held out", "aside"
"""Parts: limits are chosen on the first and tested on the second; the third is reported only."""
LENGTHS, NEW_LENGTHS = (10, 24, 80, 300), (16, 48, 150)
CLASSES, NEW_CLASSES = (2, 4, 8), (3, 6)
REVIEWS = "imdb_reviews"
COSTLY = 300
"""Words from which on there is a seed less."""
LONGEST = {"transformer": 60}
"""Encoder → words beyond which it is not trained here: its cost grows with their square."""


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
    def group(self) -> tuple[Place, int, str]:
        """What shares a corpus and a twin."""
        return self.place, self.seed, KINDS[self.kind].encoder


def whole(seeds: int = 3, new_seeds: int = 4, reviews: bool = True) -> list[Spec]:
    """The plan of the shipped calibration.

    Args:
        seeds: a kind and place of those that limits are chosen on.
        new_seeds: a kind and place of those that they are tested on.
        reviews: whether real reviews with planted evidence are among the places held out.
    """
    sides = (HONEST, DECEPTIVE)
    chosen = [kind for kind in KINDS.values() if kind.side in sides and not kind.held_out]
    new = [kind for kind in KINDS.values() if kind.side in sides and kind.held_out]
    aside = [kind for kind in KINDS.values() if kind.side in (BETWEEN, UNIFORM)]
    places = [Place(PLANTED, *at) for at in product(LENGTHS, CLASSES)]
    new_places = [Place(PLANTED, *at) for at in product(NEW_LENGTHS, NEW_CLASSES)]
    real = [Place(REVIEWS, length, 3) for length in (48,)] if reviews else []
    return [
        *_specs(chosen, [p for p in places if p.length < COSTLY], range(seeds), CHOOSING),
        *_specs(
            chosen, [p for p in places if p.length >= COSTLY], range(max(1, seeds - 1)), CHOOSING
        ),
        *_specs(new, new_places, range(100, 100 + new_seeds), HELD_OUT),
        *_specs(new, real, range(200, 200 + new_seeds // 2), HELD_OUT),
        *_specs(aside, [Place(PLANTED, 24, 2), Place(PLANTED, 80, 4)], range(2), ASIDE),
    ]


def smoke() -> list[Spec]:
    """A few models, to try a calibration out."""
    kinds = [KINDS[name] for name in ("none", "none-supervised", "mlp-supervised")]
    kinds += [KINDS[name] for name in ("bilstm-penalty", "conv-penalty")]
    new = [KINDS["mlp"], KINDS["bigru-penalty"]]
    return [
        *_specs(kinds, [Place(PLANTED, 12, 2)], range(1), CHOOSING),
        *_specs(new, [Place(PLANTED, 12, 3)], range(100, 101), HELD_OUT),
    ]


def like(encoder: str, texts: str, length: int, classes: int, seeds: int) -> list[Spec]:
    """A plan for one model and its corpus.

    Honest kinds whose states hold their word and those of the model's encoder, and deceptive kinds
    of that encoder, with evidence planted into the corpus's own texts. The last third of the seeds
    is held out.
    """
    own = [kind for kind in KINDS.values() if kind.encoder == encoder]
    honest = [k for k in KINDS.values() if k.side == HONEST and k.encoder in ("none", "mlp")]
    deceptive = [k for k in own if k.side == DECEPTIVE]
    if not deceptive:  # states that hold their word cannot deceive by these means
        deceptive = [k for k in KINDS.values() if k.side == DECEPTIVE and not k.adversary]
    kinds = [*dict.fromkeys([*honest, *(k for k in own if k.side == HONEST), *deceptive])]
    place, new = Place(texts, length, classes), max(1, seeds // 3)
    return [
        *_specs(kinds, [place], range(seeds - new), CHOOSING),
        *_specs(kinds, [place], range(seeds - new, seeds), HELD_OUT),
    ]


def _specs(
    kinds: Sequence[Kind], places: Sequence[Place], seeds: Sequence[int], part: str
) -> Iterator[Spec]:
    for place, seed, kind in product(places, seeds, kinds):
        if place.length <= LONGEST.get(kind.encoder, place.length):
            yield Spec(kind.name, place, seed, part)

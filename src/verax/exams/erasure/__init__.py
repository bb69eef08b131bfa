"""Erasure: what happens to a decision when attended items are taken away (Serrano & Smith 2019)."""

from verax.exams.erasure.flips import first_flips, minimal_flip_sets
from verax.exams.erasure.states import FirstFlips, FlipSets, erase

__all__ = [
    "FirstFlips",
    "FlipSets",
    "erase",
    "first_flips",
    "minimal_flip_sets",
]

"""The papers that come with Verax."""

from __future__ import annotations

from importlib import import_module

from verax.errors import VeraxError, nearest
from verax.papers.paper import Paper

NAMES = (
    "serrano-smith-2019",
    "tutek-snajder-2020",
    "meister-2021",
    "jain-wallace-2019",
    "wiegreffe-pinter-2019",
)


def paper(name: str) -> Paper:
    """A paper by name.

    >>> paper("meister-2021").claims[0].id
    1
    """
    if name not in NAMES:
        raise VeraxError(f"unknown paper {name!r}: {nearest(name, NAMES)}")
    found = import_module(f"verax.papers.{name.replace('-', '_')}").PAPER
    assert isinstance(found, Paper)
    return found


def papers() -> list[Paper]:
    """All of them, the three that Verax is about first."""
    return [paper(name) for name in NAMES]

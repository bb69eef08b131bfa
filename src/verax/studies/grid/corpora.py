"""The corpora of a study: names, each with how it is read and what holds for it alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.progress import Progress
from verax.studies.grid.lines import Written
from verax.studies.grid.problems import Place, Problems
from verax.studies.grid.refusing import Facts
from verax.studies.grid.settings import (
    TRAINED,
    Axis,
    Declared,
    axes_of,
    declared,
    one_by_one,
)

_EXPECTED = "expected names of corpora, such as [sst, {imdb: {max_length: 400}}]"


@dataclass(frozen=True)
class Reading:
    """A corpus to be read: its options, and training options that hold for it alone.

    `whole` is false where something was wrong with it.
    """

    name: str
    place: Place
    options: dict[str, Any]
    axes: tuple[Axis, ...] = ()
    whole: bool = True


def readings_of(written: Written, problems: Problems) -> list[Reading]:
    """A name, a list of names and of mappings, or a mapping of names to options."""
    found: list[Reading] = []
    before = len(problems)
    for item in written.value if isinstance(written.value, list) else [written]:
        if isinstance(item.value, str) and item.value:
            found.append(Reading(item.value, item.place, {}))
        elif isinstance(item.value, dict) and item.value:
            for name, given in item.value.items():
                found.append(_reading(name, item.keys[name], given, problems))
        else:
            problems.add(f"{item.plain()!r:.60} is no corpus: {_EXPECTED}", item.place)
    if not found and len(problems) == before:
        problems.add(f"no corpus given: {_EXPECTED}", written.place)
    for number, reading in enumerate(found):
        if any(_same(reading, other) for other in found[:number]):
            problems.add(f"corpus {reading.name!r} is there twice", reading.place)
    return found


def overridden(readings: Iterable[Reading], given: Written, problems: Problems) -> list[Reading]:
    """Corpora asked for by hand: one that the file has too keeps the file's options."""
    known = list(readings)
    chosen: list[Reading] = []
    for reading in readings_of(given, problems):
        bare = not reading.options and not reading.axes
        in_file = [other for other in known if bare and other.name == reading.name]
        chosen += in_file or [reading]
    return chosen


def _reading(name: str, place: Place, given: Written, problems: Problems) -> Reading:
    if given.value is None:
        return Reading(name, place, {})
    if not isinstance(given.value, dict):
        problems.add(
            f"corpus {name!r} is given {given.plain()!r:.60}: expected options, such as "
            "{max_length: 400}",
            given.place,
        )
        return Reading(name, place, {}, whole=False)
    before = len(problems)
    reading = declared(CorpusOptions)
    if name.partition(":")[0] == "planted":
        reading |= declared(Planted)
    known: dict[str, Declared] = {**reading, **TRAINED}
    mine = {n: part for n, part in given.value.items() if n not in TRAINED}
    options = one_by_one(Written(mine, given.place, given.keys), reading | known, problems)
    rest = {n: part for n, part in given.value.items() if n in TRAINED}
    whole = len(problems) == before
    axes = axes_of(Written(rest, given.place, given.keys), TRAINED, problems)
    return Reading(name, place, options, axes, whole)


def _same(one: Reading, other: Reading) -> bool:
    if (one.name, one.options) != (other.name, other.options):
        return False
    values = [
        {axis.name: [branch.value for branch in axis.branches] for axis in reading.axes}
        for reading in (one, other)
    ]
    return values[0] == values[1]


def load(
    readings: Sequence[Reading],
    problems: Problems,
    progress: bool,
    loaded: dict[str, Corpus] | None = None,
) -> list[Corpus | None]:
    """The corpora, each read once; None for one that cannot be, which is a problem.

    `loaded` has those that were read before, for other studies, and takes in those read now.
    """
    done: dict[str, Corpus | None] = dict(loaded or {})
    found = []
    with Progress(progress) as display:
        for reading in readings:
            key = repr((reading.name, sorted(reading.options.items())))
            if key not in done:
                done[key] = None
                try:
                    if reading.whole:
                        with display.busy(f"loading {reading.name}"):
                            done[key] = load_corpus(reading.name, **reading.options)
                except VeraxError as error:
                    problems.add(str(error), reading.place)
            found.append(done[key])
    if loaded is not None:
        loaded.update({key: corpus for key, corpus in done.items() if corpus is not None})
    return found


def facts_of(corpus: Corpus | None) -> Facts:
    """What combinations are held against; without a corpus, two classes."""
    if corpus is None:
        return Facts()
    validated = len(np.unique(corpus.validation.labels))
    return Facts(len(corpus.classes), validated == len(corpus.classes))

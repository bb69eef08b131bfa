"""The corpora of a study: names, each with how it is read and what holds for it alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.corpora.options import CorpusOptions
from verax.corpora.planted import Planted
from verax.errors import VeraxError
from verax.progress import Progress
from verax.studies.grid.located import LocatedValue, Location, Problems
from verax.studies.grid.options import OF_TRAINING, Axis, declared, read_axes, read_values

_EXPECTED = "expected names of corpora, such as [sst, {imdb: {max_length: 400}}]"


@dataclass(frozen=True)
class Reading:
    """A corpus to be read: its options, and training options that hold for it alone.

    `whole` is false where something was wrong with it.
    """

    name: str
    location: Location
    options: dict[str, Any] = field(default_factory=dict)
    axes: tuple[Axis, ...] = ()
    whole: bool = True


def named_parts(
    section: LocatedValue, what: str, expected: str, example: str, problems: Problems
) -> Iterator[tuple[str, Location, LocatedValue | None]]:
    """Each name with its options, of a name, a list of names and mappings, or a mapping.

    Options are a mapping that may be empty, or None where they were refused.
    """
    before, empty = len(problems), True
    for item in section.each:
        if isinstance(item.value, str) and item.value:
            parts = {item.value: LocatedValue(None, item.location, item.location)}
        elif isinstance(item.value, dict) and item.value:
            parts = item.value
        else:
            problems.add(f"{item.plain()!r:.60} is no {what}: {expected}", item.location)
            continue
        empty = False
        for name, part in parts.items():
            options: LocatedValue | None = part
            if part.value is None:
                options = LocatedValue({}, part.location)
            elif not isinstance(part.value, dict):
                options = None
                problems.add(
                    f"{what} {name!r} is given {part.plain()!r:.60}: expected options, such as "
                    f"{example}",
                    part.location,
                )
            yield name, part.key, options
    if empty and len(problems) == before:
        problems.add(f"no {what} given: {expected}", section.location)


def read_corpora(section: LocatedValue, problems: Problems) -> list[Reading]:
    """The corpora that a study file names."""
    readings: list[Reading] = []
    for name, location, part in named_parts(
        section, "corpus", _EXPECTED, "{max_length: 400}", problems
    ):
        if part is None:
            reading = Reading(name, location, whole=False)
        else:
            before = len(problems)
            known = declared(CorpusOptions)
            if name.partition(":")[0] == "planted":
                known |= declared(Planted)
            of_corpus = part.only(n for n in part.value if n not in OF_TRAINING)
            options = read_values(of_corpus, {**known, **OF_TRAINING}, problems)
            whole = len(problems) == before
            axes = read_axes(part.only(OF_TRAINING), OF_TRAINING, problems)
            reading = Reading(name, location, options, axes, whole)
        if any(_is_same(reading, other) for other in readings):
            problems.add(f"corpus {reading.name!r} is given twice", reading.location)
        readings.append(reading)
    return readings


def _is_same(one: Reading, other: Reading) -> bool:
    values = [
        {axis.name: [branch.value for branch in axis.branches] for axis in reading.axes}
        for reading in (one, other)
    ]
    return (one.name, one.options, values[0]) == (other.name, other.options, values[1])


def in_place_of(
    readings: Sequence[Reading], section: LocatedValue, problems: Problems
) -> list[Reading]:
    """The corpora that a caller names; one that the file has too keeps the file's options."""
    chosen: list[Reading] = []
    for reading in read_corpora(section, problems):
        bare = not reading.options and not reading.axes
        in_file = [other for other in readings if bare and other.name == reading.name]
        chosen += in_file or [reading]
    return chosen


def load_corpora(
    readings: Sequence[Reading],
    problems: Problems,
    progress: bool,
    loaded: dict[str, Corpus] | None = None,
) -> list[Corpus | None]:
    """The corpora, each read once; None for one that cannot be, which is a problem.

    `loaded` has those that were read before, for other studies, and takes in those read now.
    """
    done: dict[str, Corpus | None] = dict(loaded or {})
    keys = [repr((reading.name, sorted(reading.options.items()))) for reading in readings]
    with Progress(progress) as display:
        for key, reading in zip(keys, readings, strict=True):
            if key in done:
                continue
            done[key] = None
            try:
                if reading.whole:
                    with display.busy(f"loading {reading.name}"):
                        done[key] = load_corpus(reading.name, **reading.options)
            except VeraxError as error:
                problems.add(str(error), reading.location)
    if loaded is not None:
        loaded.update({key: corpus for key, corpus in done.items() if corpus is not None})
    return [done[key] for key in keys]

"""Registries of named objects, and the entry points by which installed packages add to them.

A registry maps names to objects that are registered beside where they are defined. An installed
package adds to one by an entry point of the registry's group, whose name is the name to register:

    [project.entry-points."verax.encoders"]
    mine = "my_package.encoders"

Importing what the entry point refers to must register that name. The names of entry points are
known without importing anything; a package is imported once one of its names is looked up.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, TypeVar

from verax.errors import VeraxError, nearest

T = TypeVar("T")


@cache
def entry_points_of(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name, none of them imported; of equal names the first."""
    by_name: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        first = by_name.setdefault(entry.name, entry)
        if distribution_of(first) != distribution_of(entry):
            warnings.warn(
                f"{distribution_of(first)} and {distribution_of(entry)} both have {entry.name!r} "
                f"in {group}: that of {distribution_of(first)} is used",
                stacklevel=2,
            )
    return by_name


def load_entry_points(group: str) -> dict[str, object]:
    """What all entry points of a group refer to, by name, all of them imported."""
    return {name: load_entry_point(group, name) for name in entry_points_of(group)}


def load_entry_point(group: str, name: str) -> object:
    """What one entry point refers to; `VeraxError` names the distribution if it does not import."""
    entry = entry_points_of(group)[name]
    try:
        return entry.load()
    except (Exception, SystemExit, GeneratorExit) as error:  # whatever a stranger's module raises
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise VeraxError(
            f"cannot import {name!r} of {group} from {distribution_of(entry)} ({entry.value}): "
            f"{reason}; mend that package, or uninstall it",
            code="plugin.import-failed",
        ) from error


def distribution_of(entry: EntryPoint) -> str:
    """The name of the distribution that has an entry point."""
    return entry.dist.name if entry.dist is not None else "a package without a name"


class UnknownName(VeraxError, KeyError):  # noqa: N818 (it says what is wrong)
    """A name that is not in a registry."""

    __str__ = Exception.__str__  # a KeyError's text is in quotes


class Registry(Mapping[str, T]):
    """Objects by name, in order of registration; those of entry points come last.

    Args:
        what: the noun for messages, such as "encoder".
        group: the entry-point group of installed packages that add to it.

    >>> colours = Registry[int]("colour", "verax.no-such-group")
    >>> colours.register("red", 1, origin="here")
    >>> "red" in colours, list(colours), colours["red"]
    (True, ['red'], 1)
    >>> colours["rad"]
    Traceback (most recent call last):
    verax.plugins.UnknownName: colour 'rad' is not known: did you mean 'red'?
    """

    def __init__(self, what: str, group: str) -> None:
        self.what = what
        self.group = group
        self._objects: dict[str, T] = {}
        self._origins: dict[str, str] = {}

    def register(self, name: str, value: T, origin: str) -> None:
        """Add an object under a name.

        Args:
            name: letters, digits, `_`, `.`, `+` or `-`.
            value: what is looked up under it.
            origin: where it is defined, `module.qualname`: a definition that is run again, as in a
                notebook, takes the place of the first; another one of the same name is refused.
        """
        if not isinstance(name, str) or not re.fullmatch(r"[\w.+-]+", name):
            raise VeraxError(
                f"{self.what} {name!r}: name it with letters, digits, _ . + or -",
                code="plugin.invalid-name",
            )
        if self._origins.get(name, origin) != origin:
            raise VeraxError(
                f"{self.what} {name!r} is registered already, by {self._origins[name]}: "
                "choose another name",
                code="plugin.name-taken",
            )
        self._objects[name] = value
        self._origins[name] = origin

    def unregister(self, name: str) -> None:
        """Take a name out again, which may be none of those that entry points add."""
        if name not in self._objects:
            raise VeraxError(
                f"{self.what} {name!r} is not registered: nothing to take out",
                code="plugin.not-registered",
            )
        del self._objects[name], self._origins[name]

    @property
    def registered(self) -> Mapping[str, T]:
        """What is registered by now: entry points that nobody looked up are not imported for it."""
        return dict(self._objects)

    @property
    def to_import(self) -> list[str]:
        """Names of entry points that are not imported yet."""
        names = []
        for name, entry in entry_points_of(self.group).items():
            if name not in self._objects:
                names.append(name)
            elif self._origins[name].startswith("verax."):
                warnings.warn(
                    f"{self.what} {name!r} of {distribution_of(entry)} is not used: "
                    "that name is built in",
                    stacklevel=2,
                )
        return names

    def __getitem__(self, name: str) -> T:
        if name in self._objects:
            return self._objects[name]
        if name not in entry_points_of(self.group):
            raise UnknownName(
                f"{self.what} {name!r} is not known: {nearest(str(name), self)}",
                code="option.unknown-value",
            )
        load_entry_point(self.group, name)
        if name not in self._objects:
            entry = entry_points_of(self.group)[name]
            raise VeraxError(
                f"{self.what} {name!r} of {distribution_of(entry)}: importing {entry.value} "
                "registers nothing of that name",
                code="plugin.invalid",
            )
        return self._objects[name]

    def __contains__(self, name: object) -> bool:
        return name in self._objects or name in entry_points_of(self.group)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._objects, *self.to_import])

    def __len__(self) -> int:
        return len(self._objects) + len(self.to_import)

    def __repr__(self) -> str:
        return f"Registry of {self.what}s: {', '.join(self)}"


class Names(Collection[str], Generic[T]):
    """Names of a registry as they are when asked for: some more before them, or fewer of them.

    Args:
        registry: whose names.
        before: names to put first.
        only: keep the names whose object passes; each is imported for that.
    """

    def __init__(
        self,
        registry: Registry[T],
        before: tuple[str, ...] = (),
        only: Callable[[T], bool] | None = None,
    ) -> None:
        self._registry, self._before, self._only = registry, before, only

    def __contains__(self, name: object) -> bool:
        return name in self._before or (name in self._registry and self._passes(str(name)))

    def __iter__(self) -> Iterator[str]:
        return iter([*self._before, *filter(self._passes, self._registry)])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _passes(self, name: str) -> bool:
        return self._only is None or self._only(self._registry[name])

"""Everything wrong with a study, gathered so that it can be told at once, each with its line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from verax.errors import VeraxErrors


@dataclass(frozen=True, order=True)
class Place:
    """Where something was written: a line of the file, or, from Python, a path of names."""

    line: int = 0
    path: str = ""


class Problems:
    """Problems found so far; `name` is the file's, if it is one."""

    def __init__(self, name: str | None = None) -> None:
        self.name = name
        self._found: dict[tuple[tuple[Place, ...], str], None] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, message: str, *places: Place) -> None:
        line = " ".join(message.split())
        self._found.setdefault((tuple(sorted(set(places))), line))

    def refuse(self) -> None:
        """Raise them all, by line, if there are any; what is in no file comes last."""
        if self._found:
            found = sorted(self._found, key=lambda p: (_first(p[0]), p[0], p[1]))
            raise VeraxErrors(dict.fromkeys(self.told(places, text) for places, text in found))

    def told(self, places: Iterable[Place], message: str) -> str:
        """
        >>> Problems("study.yaml").told([Place(4), Place(9)], "impossible")
        'study.yaml lines 4, 9: impossible'
        """
        lines = sorted({place.line for place in places if place.line})
        parts = []
        if lines:
            kind = "line" if len(lines) == 1 else "lines"
            parts = [f"{self.name} {kind} {', '.join(map(str, lines))}"]
        parts += list(dict.fromkeys(p.path for p in places if not p.line and p.path))
        if not parts:
            return f"{self.name}: {message}" if self.name else message
        return f"{', '.join(parts)}: {message}"


def _first(places: tuple[Place, ...]) -> float:
    return min((place.line for place in places if place.line), default=float("inf"))

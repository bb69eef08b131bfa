"""Limits that depend on how long texts are and how many classes there are."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verax.errors import VeraxError
from verax.schema import SchemaError, choice, listed, number, record, unknown

MIDDLE = (60.0, 4.0)
"""Words and classes that stand for those that are not known."""
HIGHER, LOWER = "higher", "lower"
_SHAPE = 'expected {"of": "higher" or "lower", "lines": [[a, b, c], …]}'
LINE = listed(number(), 3, 3)
"""The kind of a line in a file."""
_SCHEMA = record(
    {"of": choice((HIGHER, LOWER)), "lines": listed(LINE, 1)},
    {"least": number(), "most": number()},
    others=unknown,
)


@dataclass(frozen=True)
class Texts:
    """What a limit may depend on: words a document and number of classes; None if not known."""

    length: float | None = None
    classes: float | None = None


Line = tuple[float, float, float]
"""a, b, c of a + b log(words a document) + c log(classes)."""


def height(line: Line, texts: Texts) -> float:
    """A line at some texts.

    >>> height((1.0, 2.0, 0.0), Texts(math.e, 2))
    3.0
    """
    length = texts.length or MIDDLE[0]
    classes = texts.classes or MIDDLE[1]
    return line[0] + line[1] * math.log(length) + line[2] * math.log(classes)


@dataclass(frozen=True)
class Lines:
    """A limit: the higher, or the lower, of lines over log length and log classes.

    of     higher or lower
    lines  (a, b, c) each
    least  what it is at least, and `most` at most: where its number can go
    """

    of: str
    lines: tuple[Line, ...]
    least: float = -math.inf
    most: float = math.inf

    def at(self, texts: Texts) -> float:
        """The limit for some texts.

        >>> Lines("higher", ((0.0, 0.0, 0.0), (-1.0, 1.0, 0.0))).at(Texts(math.e**2, 2))
        1.0
        """
        heights = [height(line, texts) for line in self.lines]
        limit = max(heights) if self.of == HIGHER else min(heights)
        return min(max(limit, self.least), self.most)

    def to_json(self) -> dict[str, Any]:
        """As a file of limits has it."""
        ends = {"least": self.least, "most": self.most}
        bounds = {name: end for name, end in ends.items() if math.isfinite(end)}
        return {"of": self.of, "lines": [list(line) for line in self.lines], **bounds}

    @classmethod
    def from_json(cls, values: Mapping[str, Any], where: str) -> Lines:
        """From what a file has; strictly checked."""
        try:
            _SCHEMA(values, where)
        except SchemaError as error:
            raise VeraxError(f"{error}; {_SHAPE}", code="limits.malformed") from None
        of = values["of"]
        lines = tuple((float(a), float(b), float(c)) for a, b, c in values["lines"])
        least, most = (
            float(values.get(name, end)) for name, end in (("least", -math.inf), ("most", math.inf))
        )
        return cls(of, lines, least, most)

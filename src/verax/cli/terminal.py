"""What people see in a terminal: tables, and words in colour."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

from verax.drawing import palette
from verax.errors import VeraxWarning

_GAP = 2
_LABEL = 16
"""Least width left to labels, if they are as wide, before columns go below one another."""


def console(stderr: bool = False) -> Console:
    """Standard output, or standard error; a pipe or a file has no edge to wrap or crop at."""
    made = Console(highlight=False, stderr=stderr)
    if not made.is_terminal:
        made.width = 10_000
    return made


def has_colour(screen: Console) -> bool:
    """Whether a console shows colours: a pipe does not, nor where NO_COLOR is set."""
    return screen.color_system is not None and not screen.no_color


def say(line: str, style: str | None = None, *, stderr: bool = False) -> None:
    """Print plain text that cannot command a terminal, on standard output or standard error."""
    safe = "\n".join(map(printable, line.split("\n")))
    console(stderr).print(safe, style=style, markup=False)


@contextmanager
def noted_warnings() -> Iterator[None]:
    """Within it, a warning of Verax's own is one line on standard error."""

    def show(message: Warning | str, *where: Any, **more: Any) -> None:
        # of a library, too: where in its code does not help
        print(f"verax: warning: {printable(str(message))}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        warnings.simplefilter("always", VeraxWarning)
        yield


def table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None
) -> Columns:
    """A plain table: first column to the left, numbers to the right."""
    heads = [printable(column) for column in columns]
    return Columns(heads, [[printable(cell) for cell in row] for row in rows], title)


@dataclass(frozen=True)
class Columns:
    """A table that keeps its numbers and its labels whatever the width.

    Where space is short, heads are broken between words; then columns go below one another, the
    first before each of them; then the first is wrapped.
    """

    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    title: str | None = None

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        label, *wide = (self._width(number, whole=True) for number in range(len(self.heads)))
        if label + sum(wide) + _GAP * len(wide) <= width:
            yield self._block(range(1, len(self.heads)), label, wide, self.title)
            return
        narrow = [self._width(number, whole=False) for number in range(1, len(self.heads))]
        least = min(label, max(_LABEL, 2 * width // 5))
        first = 0
        while first < len(narrow):
            last = first + 1
            while last < len(narrow) and least + _taken(narrow[first : last + 1]) <= width:
                last += 1
            left = max(1, width - _taken(narrow[first:last]))
            title = self.title if first == 0 else " "
            block = range(1 + first, 1 + last)
            yield self._block(block, min(label, left), narrow[first:last], title)
            first = last

    def _width(self, number: int, whole: bool) -> int:
        head = self.heads[number]
        parts = [head] if whole else (head.split() or [""])
        return max(map(cell_len, [*parts, *(row[number] for row in self.rows)]))

    def _block(
        self, numbers: Sequence[int], label: int, widths: Sequence[int], title: str | None
    ) -> Table:
        made = Table(title=title, title_justify="left", box=None, pad_edge=False)
        made.header_style = "bold"
        made.add_column(Text(self.heads[0]), width=label, overflow="fold")
        for number, width in zip(numbers, widths, strict=True):
            made.add_column(Text(self.heads[number]), justify="right", width=width)
        for row in self.rows:
            made.add_row(Text(row[0]), *(Text(row[number]) for number in numbers))
        return made


def _taken(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * len(widths)


def heat(words: Sequence[str], weights: Sequence[float]) -> Text:
    """Words on a background as strong as their weight; unattended words are dim."""
    top = max(weights, default=0.0) or 1.0
    text = Text()
    for word, weight in zip(words, weights, strict=True):
        if len(text):
            text.append(" ")
        text.append(printable(word), style=shade(weight / top))
    return text


def printable(text: str) -> str:
    """Text that cannot command a terminal: control characters are shown as a replacement mark."""
    return "".join(c if c.isprintable() else "\ufffd" for c in text)


def shade(strength: float) -> str:
    """A background from white to strong blue at 1, or to strong orange at −1; dim at 0.

    The colours are those of notebooks and pages: blue supports the class explained, orange opposes
    it.
    """
    if strength == 0 or strength != strength:
        return "dim"
    return f"not dim #000000 on {palette.css(palette.shade(strength))}"

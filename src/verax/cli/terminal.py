"""What people see in a terminal: tables, and words in colour."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text


def console() -> Console:
    """Standard output; a pipe or a file has no edge to wrap or crop at."""
    made = Console(highlight=False)
    if not made.is_terminal:
        made.width = 10_000
    return made


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> Table:
    """A plain table: first column to the left, wrapped where space is short; numbers right."""
    made = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number == 0 else "right", no_wrap=number > 0)
    for row in rows:
        made.add_row(*(Text(printable(cell)) for cell in row))
    return made


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
    """A background from white to strong orange at 1, or to strong blue at −1; dim at 0.

    Dark letters on either: readable, and told apart by the colour-blind.
    """
    if strength == 0 or strength != strength:
        return "dim"
    share = min(1.0, abs(strength))
    full = (230, 97, 0) if strength > 0 else (70, 150, 240)
    red, green, blue = (round(255 + share * (end - 255)) for end in full)
    return f"not dim #000000 on rgb({red},{green},{blue})"

"""Names as a chart has room for them, and how many things it can tell apart."""

from __future__ import annotations

from collections.abc import Sequence

from verax.drawing.rendering import CATEGORIES, printable

MOST_CHARTED = len(CATEGORIES)
"""Models, or lines, in one chart: colours that can be told apart."""
LONGEST = 32
"""Letters of a name on a chart; the rest is an ellipsis."""


def shown_names(names: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Names as a chart has room for, no two alike.

    Args:
        names: in order; those that would look alike are numbered.
        longest: the letters that there is room for.

    >>> shown_names(["base", "a model whose name goes on and on and on"])
    ['base', 'a model whose name goes on and …']
    """
    shown: list[str] = []
    for name in names:
        clean = " ".join(printable(str(name)).split()) or "–"
        short = clean if len(clean) <= longest else clean[: longest - 2].rstrip() + " …"
        unique, number = short, 2
        while unique in shown:
            unique, number = f"{short} ({number})", number + 1
        shown.append(unique)
    return shown


def shortened(names: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """Name → as a chart has room for it (see `shown_names`)."""
    return dict(zip(names, shown_names(names, longest), strict=True))

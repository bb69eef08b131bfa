"""Markdown for the pages that research writes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[object], rows: Iterable[Sequence[object]]) -> str:
    r"""Return a Markdown table; bars and line breaks inside a cell do not end it.

    >>> print(markdown_table(["model", "F1"], [["a|b", 81.2]]))
    | model | F1 |
    |---|---|
    | a\|b | 81.2 |
    """

    def line(cells: Sequence[object]) -> str:
        texts = [" ".join(str(cell).replace("|", "\\|").split()) for cell in cells]
        return f"| {' | '.join(texts)} |"

    return "\n".join([line(header), "|" + "---|" * len(header), *(line(row) for row in rows)])

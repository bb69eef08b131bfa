"""CSV that a spreadsheet shows and does not run.

Spreadsheets take a cell that begins with = + - @, or with a tab or a line end before them, for a
formula, and a formula can read files and open addresses. Words of texts and names of classes come
from anybody. So text that begins so gets an apostrophe in front, which spreadsheets do not show.
Numbers are numbers, and stay as they are.
"""

from __future__ import annotations

import csv
import re
from typing import Any

import pandas as pd

__all__ = ["from_csv", "to_csv"]

_SIGNS = "=+\\-@\t\r\n＝＋－＠"
"""Full-width ones are read as formulas where Chinese, Japanese or Korean is set."""
_FORMULA = re.compile(f"'*[{_SIGNS}]")
_GUARDED = re.compile(f"'(?='*[{_SIGNS}])")


def guarded(value: Any) -> Any:
    """A cell that is no formula: an apostrophe before text that would be one.

    >>> guarded("=1+1"), guarded("-"), guarded("fine"), guarded(-1.5)
    ("'=1+1", "'-", 'fine', -1.5)
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def unguarded(value: Any) -> Any:
    """What `guarded` was given.

    >>> [unguarded(guarded(text)) for text in ("=1+1", "'=1+1", "'tis", "fine")]
    ['=1+1', "'=1+1", "'tis", 'fine']
    """
    return value[1:] if isinstance(value, str) and _GUARDED.match(value) else value


def to_csv(frame: pd.DataFrame, **how: Any) -> str:
    r"""Return a table as CSV that is safe to open in a spreadsheet, without its index.

    Args:
        frame: the table.
        how: further arguments of `DataFrame.to_csv`.

    >>> to_csv(pd.DataFrame({"word": ["=A1", "good"], "score": [-0.5, 1.0]}))
    "word,score\n'=A1,-0.5\ngood,1.0\n"
    """
    changed = {
        name: frame[name].astype(object).map(guarded)
        for name in frame
        if not pd.api.types.is_numeric_dtype(frame[name])
    }
    safe = frame.assign(**{str(name): column for name, column in changed.items()})
    safe.columns = pd.Index([guarded(name) for name in frame.columns])
    every = [str(value) for column in changed.values() for value in column.unique()]
    if any("\r" in text for text in (*every, *map(str, safe.columns))):
        how = {"quoting": csv.QUOTE_NONNUMERIC, **how}  # else a lone one would end the row
    return str(safe.to_csv(index=False, lineterminator="\n", **how))


def from_csv(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table read from a CSV written by `to_csv`, with its original text and column names.

    >>> import io
    >>> written = pd.DataFrame({"word": ["=A1", "good"], "score": [-0.5, 1.0]})
    >>> from_csv(pd.read_csv(io.StringIO(to_csv(written))))["word"].tolist()
    ['=A1', 'good']
    """
    changed = {
        str(name): frame[name].astype(object).map(unguarded)
        for name in frame
        if not pd.api.types.is_numeric_dtype(frame[name])
    }
    plain = frame.assign(**changed)
    plain.columns = pd.Index([unguarded(name) for name in frame.columns])
    return plain

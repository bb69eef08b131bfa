"""Rationale columns: 0 and 1 for each token, or spans of characters, of one annotator or several.

A cell holds one of these, as lists, arrays or, in CSV files, as JSON text:

    [0, 1, 1]                a mark for each token
    [[4, 9], [12, 20]]       spans of characters, the end not included
    [[0, 1, 1], [0, 0, 1]]   marks of each annotator
    [[[4, 9]], [[4, 20]]]    spans of each annotator

or nothing: nobody looked at the document. Lists of pairs are spans, unless some row of the column
has a list of another length.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from verax.corpora.options import CorpusOptions
from verax.corpora.rationales import Places, Rationales, joined_places, places_in, united
from verax.corpora.tokenizer import Tokenizer
from verax.errors import VeraxError, nearest

_DEFAULT = CorpusOptions().rationale_column


class _UnusableError(Exception):
    """Why a column is no rationale of the text that is read."""


def add_rationales(
    where: str, table: pd.DataFrame, options: CorpusOptions, clean: pd.DataFrame, notes: list[str]
) -> None:
    """Put `rationale`, an array (spans, 3) of each document, and `annotators` into a table.

    Args:
        where: corpus and split, for messages.
        table: as it was read.
        options: which columns.
        clean: the columns in use so far: `text` and, where given, `tokens`; changed in place.
        notes: takes in why a column is not used, if so.
    """
    columns = _columns(options.rationale_column, table)
    if not columns:
        return
    try:
        rows = [_annotators(where, name, table[name].tolist()) for name in columns]
        texts = _Texts(table, options, clean)
        spans, counts = [], []
        for row, cells in enumerate(zip(*rows, strict=True)):
            every = [marks for cell in cells for marks in cell]
            spans.append(united([_spans(f"{where} row {row}", m, texts, row) for m in every]))
            counts.append(len(every))
    except _UnusableError as reason:
        note = f"column {', '.join(map(repr, columns))} not used: {reason}"
        notes += [] if note in notes else [note]  # splits of one file have the same columns
        return
    clean["rationale"] = pd.Series(spans, dtype=object)
    clean["annotators"] = np.array(counts, dtype=np.int64)


def check_named(name: str, tables: Mapping[str, pd.DataFrame], options: CorpusOptions) -> None:
    """Refuse a rationale column that was named and that no table has."""
    wanted = options.rationale_column
    if wanted == _DEFAULT or any(_columns(wanted, table) for table in tables.values()):
        return
    known = [str(c) for table in tables.values() for c in table.columns]
    raise VeraxError(
        f"corpus {name!r} has no column {wanted!r} ({nearest(wanted, known)}); name it with "
        "rationale_column (--rationale-column)",
        code="corpus.missing-column",
    )


def _columns(named: str, table: pd.DataFrame) -> list[str]:
    """The columns that an option names, one for each annotator; those that the table has."""
    names = [named] if named in table.columns else [part.strip() for part in named.split(",")]
    return [name for name in names if name in table.columns]


def _annotators(where: str, column: str, cells: list[Any]) -> list[list[Any]]:
    """For each row the marks of each annotator: 0 and 1 for each token, or pairs.

    A column of the usual name that holds no marks at all, such as reasons in words, is not used.
    """
    values = [_nested(cell) for cell in cells]
    if column == _DEFAULT and not any(isinstance(value, list) for value in values):
        raise _UnusableError("it holds no lists of marks")
    lists = [value for value in values if isinstance(value, list) and _depth(value) == 2]
    pairs = all(len(inner) == 2 for value in lists if any(value) for inner in value)
    rows: list[list[Any]] = []
    for row, (value, cell) in enumerate(zip(values, cells, strict=True)):
        if value is None:
            rows.append([])
            continue
        depth = _depth(value) if isinstance(value, list) else 0
        if depth == 0:
            raise VeraxError(
                f"{where} row {row} has {type(cell).__name__} for a rationale, not a list of 0 "
                "and 1 or of spans [[start, end], …]: give one for each document, or rename the "
                "column",
                code="corpus.bad-rationale",
            )
        is_one = depth == 1 or (depth == 2 and pairs and any(value))
        rows.append([value] if is_one else value)
    return rows


def _nested(cell: Any) -> Any:
    """A cell as lists within lists; None where it is empty, something else where it is no list."""
    if isinstance(cell, np.ndarray) and cell.dtype != object:
        return cell.tolist()
    if isinstance(cell, (list, tuple, np.ndarray)):
        return [_nested(inner) if hasattr(inner, "__len__") else inner for inner in cell]
    if isinstance(cell, str):
        if not cell.strip():
            return None
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return None if cell is None or cell is pd.NA or cell != cell else cell


def _depth(value: list[Any]) -> int:
    """How deep lists are nested; 0 where some are deeper than others by more than being empty."""
    if not any(isinstance(inner, list) for inner in value):
        return 1
    if not all(isinstance(inner, list) for inner in value):
        return 0
    depths = {_depth(inner) for inner in value if inner} or {1}
    return 0 if len(depths) > 1 or 0 in depths else 1 + depths.pop()


class _Texts:
    """The texts and tokens that marks are of, and the text that is read, by row.

    Where token lists are read, spans are of the text column, if there is one, and else of the
    tokens joined by blanks. Where texts are read, 0/1 marks are of the token lists, if there are
    some that spell the text, and else of what blanks part.
    """

    def __init__(self, table: pd.DataFrame, options: CorpusOptions, clean: pd.DataFrame) -> None:
        self._read: list[str] = clean["text"].tolist()
        self._are_read = "tokens" in clean.columns
        self._column = options.tokens_column or "tokens"
        has_tokens = self._column in table.columns
        self._tokens = table[self._column].tolist() if has_tokens else [None] * len(clean)
        has_texts = self._are_read and options.text_column in table.columns
        self._marked = table[options.text_column].tolist() if has_texts else self._read

    def length(self, row: int) -> int:
        """How many characters the text has that spans are of."""
        return len(str(self._marked[row]))

    def tokens(self, row: int) -> Places:
        """(tokens, 2): where the tokens that 0/1 marks are of stand in the text that is read."""
        text, tokens = self._read[row], _strings(self._tokens[row])
        if self._are_read and tokens is not None:
            return joined_places(tokens)
        blank = Tokenizer("whitespace").spans(text)
        places = blank if tokens is None else places_in(text, tokens)
        if places is None and tokens is not None and len(blank) == len(tokens):
            return blank
        if places is None:
            raise _UnusableError(
                f"its marks are of column {self._column!r}, which says something else than the "
                f"text that is read (row {row})"
            )
        return places

    def moved(self, row: int, spans: Places) -> Places:
        """Spans of the text that was marked → of the text that is read."""
        marked, read = str(self._marked[row]), self._read[row]
        if marked == read:
            return spans
        tokens = _strings(self._tokens[row]) or []
        before = places_in(marked, tokens)
        if before is None:
            raise _UnusableError(f"its spans are of a text that the tokens do not spell ({row=})")
        one = Rationales.of([united([spans])], [1])
        moved = one.moved(0, before, joined_places(tokens))
        return moved[:, 1:]


def _is_mark(mark: Any) -> bool:
    return isinstance(mark, (bool, int, float, np.number, np.bool_)) and mark in (0, 1)


def _strings(tokens: Any) -> list[str] | None:
    """A list of tokens; None where it is no list."""
    if isinstance(tokens, str) or not hasattr(tokens, "__iter__"):
        return None
    return [str(token) for token in tokens]


def _spans(about: str, marks: list[Any], texts: _Texts, row: int) -> Places:
    """(spans, 2) of one annotator in the text that is read."""
    if not marks:
        return np.zeros((0, 2), dtype=np.int64)
    if isinstance(marks[0], list):
        length = texts.length(row)
        for pair in marks:
            whole = len(pair) == 2 and all(isinstance(end, (int, np.integer)) for end in pair)
            if not whole or not 0 <= pair[0] <= pair[1] <= length:
                raise VeraxError(
                    f"{about} has the rationale span {pair!r:.60}: expected [start, end] with 0 ≤ "
                    f"start ≤ end ≤ {length}, the characters of its text",
                    code="corpus.bad-rationale",
                )
        return texts.moved(row, np.array(marks, dtype=np.int64))
    places = texts.tokens(row)
    if len(marks) != len(places):
        raise VeraxError(
            f"{about} has {len(marks)} rationale marks for {len(places)} tokens: one is needed for "
            "each",
            code="corpus.bad-rationale",
        )
    odd = next((mark for mark in marks if not _is_mark(mark)), None)
    if odd is not None or None in marks:
        raise VeraxError(
            f"{about} has {odd!r:.60} among its rationale marks: give 0 or 1 for each token, or "
            "spans [[start, end], …]",
            code="corpus.bad-rationale",
        )
    marked = np.array([False, *marks, False], dtype=bool)
    edges = np.flatnonzero(np.diff(marked))
    return np.stack([places[edges[::2], 0], places[edges[1::2] - 1, 1]], axis=1)

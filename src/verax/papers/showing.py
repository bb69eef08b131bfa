"""Words of documents that may be shown, beside their positions in an exhibit.

Results hold no texts. Those of built-in corpora are read from the package that brings them, if it
is installed, and are printed, never kept.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from verax.corpora.corpus import Corpus
from verax.corpora.loading import load_corpus
from verax.corpora.reviews import SOURCES, reviews_file
from verax.papers.results import PaperResults

PLACES = ("document", "item", "cells")
"""Columns of an exhibit that has a row per word."""
_READING = ("tokeniser", "lowercase", "limit", "min_length", "max_length", "truncate")
"""Options of a corpus that decide its words; others are at their defaults."""


def with_words(table: pd.DataFrame, results: PaperResults) -> pd.DataFrame:
    """The table with a column `word` after `item`, where documents may be shown and are at hand."""
    if table.empty or not set(PLACES) <= set(table) or reviews_file() is None:
        return table
    words: dict[tuple[str, int], list[str]] = {}
    for cell, document in table[["cells", "document"]].drop_duplicates().itertuples(index=False):
        words[cell, document] = _words(results, cell, document)
    pairs = zip(*(table[name] for name in ("cells", "document", "item")), strict=True)
    column = [_at(words[cell, document], item) for cell, document, item in pairs]
    if not any(column):
        return table
    shown = table.copy()
    shown.insert(list(table).index("item") + 1, "word", column)
    return shown


def _at(words: list[str], item: int) -> str:
    return words[item] if item < len(words) else ""


def _plain(value: Any) -> Any:
    """A cell's option as it was given: a truth value, a whole number or text."""
    if isinstance(value, np.bool_):
        return bool(value)
    return int(value) if isinstance(value, float) else value


@cache
def _corpus(name: str, options: tuple[tuple[str, Any], ...]) -> Corpus:
    return load_corpus(name, **dict(options))


def _words(results: PaperResults, cell: str, document: int) -> list[str]:
    """Words of a test document of a cell's corpus; none unless the corpus is built in."""
    for own in (results, results.probes):
        if own is None:
            continue
        rows = own.select(cell=cell)
        if rows.empty or rows.iloc[0]["corpus"] not in SOURCES:
            continue
        row = rows.iloc[0]
        options = {n: row[n] for n in _READING if n in row and not pd.isna(row[n])}
        whole = {n: _plain(value) for n, value in options.items()}
        corpus = _corpus(str(row["corpus"]), tuple(whole.items()))
        if corpus.fingerprint != row["fingerprint"]:
            return []
        places = [place for place, own_id in enumerate(corpus.test.ids) if own_id == document]
        return list(corpus.test.tokens[places[0]]) if places else []
    return []

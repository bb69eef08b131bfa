"""`describe_corpora`: sizes, lengths and vocabularies of the corpora that a paper's cells read.

They are kept as corpora.csv beside results: numbers, no documents.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd

from research.papers.paper import Paper, refuse_others
from research.papers.results import CORPORA, DESCRIBED_BY, finished_in
from verax import VeraxError
from verax.corpora import Tokenizer, Vocabulary, describe, tokenize
from verax.files import write_text
from verax.spreadsheets import to_csv
from verax.studies import Cell

_SPREAD = ("words_mean", "words_sd", "sentences_mean", "sentences_sd")
_FACTS = ("classes", "train", "validation", "test", *_SPREAD)


def describe_corpora(paper: Paper, folder: str | Path) -> pd.DataFrame:
    """Describe every corpus, as it was read, of the finished cells in a folder.

    Args:
        paper: the paper, as `paper(name)` gives it.
        folder: its results: studies, packed or not, in a folder each.

    Returns:
        A row per corpus and way to read it: what tells it apart (`DESCRIBED_BY`), its name,
        documents by split, classes, mean and sd of words and sentences over all documents, and the
        size of the vocabulary.

    Raises:
        VeraxError: the folder holds no finished cell, or a corpus at hand is not that of the cells.
    """
    refuse_others(paper, folder)
    cells: dict[tuple[Any, ...], Cell] = {}
    for study, key in finished_in(Path(folder)):
        cell = study.cell(key)
        cells.setdefault(tuple(cell.columns().get(name) for name in DESCRIBED_BY), cell)
    if not cells:
        raise VeraxError(
            f"{folder} holds no finished cell: run the paper, or name its results",
            code="result.unfinished",
        )
    rows = [_row(cell) for _, cell in sorted(cells.items(), key=lambda pair: str(pair[0]))]
    return pd.DataFrame(rows).sort_values(["corpus", "min_df"], ignore_index=True)


def write_corpora(paper: Paper, folder: str | Path) -> Path:
    """Write corpora.csv beside results; returns its path."""
    path = Path(folder) / CORPORA
    write_text(path, to_csv(describe_corpora(paper, folder), float_format="%.6g"))
    return path


def _row(cell: Cell) -> dict[str, Any]:
    corpus = cell.load_corpus(trusted=True)
    columns = cell.columns()
    tokenizer = Tokenizer(columns["tokenizer"], columns["lowercase"])
    facts = describe(corpus, tokenizer=tokenizer)
    train = tokenize(corpus.train, tokenizer)
    words = Vocabulary.of(train, columns["min_df"], columns["max_vocabulary"]).words
    return {
        "corpus": columns["corpus"],
        **{name: columns.get(name) for name in DESCRIBED_BY},
        **{name: facts[name] for name in _FACTS},
        "vocabulary": len(words),
    }

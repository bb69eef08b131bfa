"""Corpora made of a few texts, and the numbers of verdicts as long rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from verax import Verdict
from verax.corpora import Corpus, Documents, Tokenizer, tokenize
from verax.exams.authoring import wide
from verax.models import AttentionClassifier

COLUMNS = ["model", "measure", "document", "value", "low", "high", "n"]
ALL = -1  # the document of numbers over all documents


def corpus_of(
    texts: Sequence[str],
    labels: Sequence[int] = (),
    model: AttentionClassifier | None = None,
) -> Corpus:
    """Return a corpus whose three splits are the same texts, with ids from 10 on.

    Labels that are not given are 0. Classes are those of the model, if there is one.
    """
    given = np.zeros(len(texts), dtype=np.int64)
    given[: len(labels)] = labels
    ids = np.arange(10, 10 + len(texts))
    split = Documents(list(texts), given, ids)
    classes = ["no", "yes"] if model is None else model.classes
    return Corpus("by hand", classes, split, split, split)


def tokens_of(documents: Documents, tokenizer: Tokenizer | None = None) -> list[list[str]]:
    return tokenize(documents, tokenizer).words


def counts_of(documents: Documents, tokenizer: Tokenizer | None = None) -> Any:
    return tokenize(documents, tokenizer).numbers.lengths


def marked_in(documents: Documents, tokenizer: Tokenizer | None = None) -> Any:
    """Return whether more than half of the annotators marked each word; None without marks."""
    return documents.marks and documents.marks.majority(tokenize(documents, tokenizer).spans)


def per_document(verdict: Verdict, table: str, *labels: str) -> pd.DataFrame:
    """Return a table of a verdict with a row per document (and label) and a column per measure."""
    return wide(verdict.tables[table], *labels)


def rows_of(model: str, measure: Any, document: Any, value: Any, **more: Any) -> pd.DataFrame:
    columns = {"model": model, "measure": measure, "document": document, "value": value}
    columns |= {"low": np.nan, "high": np.nan, "n": ALL, **more}
    rows = pd.DataFrame(columns)[COLUMNS]
    return rows.astype({"document": "int64", "value": "float64", "n": "int64"})


def verdict_rows(model: str, verdict: Verdict) -> Iterator[pd.DataFrame]:
    """Yield the rows of a verdict: its summary, its document values and its tidy tables."""
    summary = verdict.summary()
    more = {name: summary[name] for name in ("low", "high", "n")}
    yield rows_of(model, summary["measure"], ALL, summary["value"], **more)
    values = verdict.document_values()
    yield rows_of(model, values["measure"], values["id"], values["value"])
    for name, table in verdict.tables.items():
        yield table_rows(model, name, table)


def table_rows(model: str, name: str, table: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of a tidy table; its labels become part of the measure's id."""
    if "measure" not in table:  # one row per item, with a column per number
        numbers = list(table.select_dtypes("floating"))
        others = [column for column in table.columns if column not in numbers]
        table = table.melt(others, numbers, "measure", "value")
    measure = "table:" + name + "/" + table["measure"].astype(str)
    for label in [c for c in table.columns if c not in ("id", "measure", "value")]:
        there = table[label].notna()
        measure = measure + (f"/{label}=" + table[label].astype(str)).where(there, "")
    document = table.get("id", ALL)
    return rows_of(model, measure.to_numpy(), np.asarray(document), table["value"].to_numpy())

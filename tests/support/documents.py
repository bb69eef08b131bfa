"""Corpora made of a few texts, and what verdicts say of each document."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from verax import Verdict
from verax.corpora import Corpus, Documents, Tokeniser
from verax.corpora.tokenising import Lexicon
from verax.exams.authoring import wide
from verax.models import AttentionClassifier


def corpus_of(
    texts: Sequence[str],
    labels: Sequence[int] = (),
    model: AttentionClassifier | None = None,
) -> Corpus:
    """Return a corpus whose three splits are the same texts, with ids from 10 on.

    Labels that are not given are 0. Classes and tokeniser are those of the model, if there is one.
    """
    given = np.zeros(len(texts), dtype=np.int64)
    given[: len(labels)] = labels
    ids = np.arange(10, 10 + len(texts))
    tokeniser = Tokeniser() if model is None else model.tokeniser
    split = Documents(list(texts), given, ids, tokeniser, Lexicon())
    classes = ["no", "yes"] if model is None else model.classes
    return Corpus("by hand", classes, split, split, split)


def per_document(verdict: Verdict, table: str, *labels: str) -> pd.DataFrame:
    """Return a table of a verdict with a row per document (and label) and a column per measure."""
    return wide(verdict.tables[table], *labels)

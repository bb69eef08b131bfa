"""What engines have in common: how a corpus is handed to workers, and when one is replaced."""

from __future__ import annotations

import pickle

from verax.corpora.corpus import Corpus
from verax.studies.engines.engine import ERROR, LOST, OUT_OF_MEMORY

CORPORA = 2
"""Corpora that a worker holds at most."""

REPLACED = (LOST, OUT_OF_MEMORY, ERROR)
"""A worker that met one of these runs no other cell: on a GPU, an error may stay for good."""

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""What tells libraries how many threads to use, before they are loaded."""


def name_of(corpus: Corpus) -> str:
    """By which workers know a corpus: ids and names are not in its fingerprint."""
    return f"{corpus.fingerprint} {sorted(corpus.config.items())!r}"


def packed(corpus: Corpus) -> bytes:
    """A corpus on its way to workers, tokenised here so that none of them has to."""
    for documents in corpus.splits.values():
        documents.tokenise(iter)
    return pickle.dumps(corpus, protocol=pickle.HIGHEST_PROTOCOL)


def count(number: int, what: str) -> str:
    """
    >>> count(1, "worker"), count(2, "worker")
    ('1 worker', '2 workers')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"

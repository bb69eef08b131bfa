"""What an engine is: it takes jobs, and returns events on what becomes of them."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from verax.corpora.corpus import Corpus
from verax.plugin_files import PluginFile, imported_plugins
from verax.studies.grid.cell import Cell

OUT_OF_MEMORY, DIVERGED, LOST, ERROR = "out of memory", "diverged", "lost", "error"
"""Why a cell failed: LOST when its worker went away, DIVERGED when the loss was not finite."""

REPLACED = (LOST, OUT_OF_MEMORY, ERROR)
"""After one of these a worker is replaced: on a GPU, an error may persist."""

KEPT_CORPORA = 2
"""Corpora that a worker keeps at most."""

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Environment variables by which libraries choose a number of threads as they are loaded."""


@dataclass(frozen=True)
class Job:
    """A cell to be run, and how; the engine chooses where.

    weights   whether the model's files are to be among the results
    model     files of the model, if it was trained already: for the cell `model_of`
    plugins   files to import first: those that the process that makes the job has imported
    """

    cell: Cell
    weights: bool = False
    max_tokens: int | None = None
    model: Mapping[str, bytes] | None = field(default=None, repr=False)
    model_of: str | None = None
    plugins: Sequence[PluginFile] = field(default_factory=imported_plugins, repr=False)


@dataclass(frozen=True)
class Progressed:
    """How far a cell got: `what` it does, and `done` of `total` of it where that is known."""

    key: str
    what: str
    done: int = 0
    total: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Finished:
    """A cell's files by name, and facts for its manifest (device, versions, seconds, …)."""

    key: str
    files: Mapping[str, bytes] = field(repr=False)
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """Why a cell gave no result. One that was LOST is worth another try.

    `halved` is whether it was tried with half the tokens at once already.
    """

    key: str
    reason: str
    error: str
    traceback: str = ""
    halved: bool = False


Event = Progressed | Finished | Failed


class Engine(Protocol):
    """Runs cells side by side.

    `submit` may be called while `free` is above zero. `wait` returns events as soon as there are
    some, or after `timeout` seconds none. Every job ends in exactly one `Finished` or `Failed`,
    whatever happens to its worker. `stop` ends everything at once, finished or not, and leaves no
    process behind; it may be called twice.
    """

    @property
    def free(self) -> int: ...

    @property
    def workers(self) -> int: ...

    def describe(self) -> str:
        """Where cells run, in words, with advice where there is some."""
        ...

    def submit(self, job: Job, corpus: Corpus) -> None: ...

    def wait(self, timeout: float) -> list[Event]: ...

    def stop(self) -> None: ...


def corpus_name(corpus: Corpus) -> str:
    """The name of a corpus among workers: ids and names are not in its fingerprint."""
    return f"{corpus.fingerprint} {sorted(corpus.config.items())!r}"


def pickled_corpus(corpus: Corpus) -> bytes:
    """A corpus for workers, tokenised here so that none of them has to."""
    for documents in corpus.splits.values():
        documents.tokenise(iter)
    return pickle.dumps(corpus, protocol=pickle.HIGHEST_PROTOCOL)


def first_line(error: BaseException) -> str:
    """What an error says first, or its kind where it says nothing."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def count(number: int, noun: str, several: str | None = None) -> str:
    """A number with its noun, or with what several are called.

    >>> count(1, "worker"), count(1200, "worker"), count(2, "cell was", "cells were")
    ('1 worker', '1,200 workers', '2 cells were')
    """
    return f"{number:,} {noun if number == 1 else several or f'{noun}s'}"

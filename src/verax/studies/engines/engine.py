"""What an engine is: it takes jobs, and returns events on what becomes of them."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from verax.corpora.corpus import Corpus
from verax.errors import VeraxError
from verax.plugin_files import PluginFile, imported_plugins
from verax.studies.grid.cell import Cell

OUT_OF_MEMORY, DIVERGED, LOST, ERROR = "out of memory", "diverged", "lost", "error"
"""Why a cell failed: out of memory, a loss that is not finite, a worker that died, or an error."""

REPLACED = (LOST, OUT_OF_MEMORY, ERROR)
"""After one of these a worker is replaced: on a GPU, an error may persist."""

KEPT_CORPORA = 2
"""Corpora that a worker keeps at most."""

THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
"""Environment variables by which libraries choose a number of threads as they are loaded."""


class Keyed(Protocol):
    """A cell of any kind."""

    @property
    def key(self) -> str: ...


class Runnable(Protocol):
    """A picklable job: a cell, and how a worker runs it."""

    @property
    def cell(self) -> Keyed: ...

    def run(
        self, corpus: Corpus | None, *, device: str, report: Callable[[Progressed], None]
    ) -> Finished | Failed:
        """Run the cell on a device. Returns `Failed` instead of raising."""
        ...


@dataclass(frozen=True)
class Job:
    """A study's cell for an engine to run.

    weights   whether to return the files of the model
    model     the files of the model if it is already trained, for the cell `model_of`
    plugins   plugin files to import first; by default those imported in this process
    """

    cell: Cell
    weights: bool = False
    max_tokens: int | None = None
    model: Mapping[str, bytes] | None = field(default=None, repr=False)
    model_of: str | None = None
    plugins: Sequence[PluginFile] = field(default_factory=imported_plugins, repr=False)

    def run(
        self, corpus: Corpus | None, *, device: str, report: Callable[[Progressed], None]
    ) -> Finished | Failed:
        """Train the cell's model on its corpus and examine it."""
        from verax.studies.engines.performing import perform

        assert corpus is not None
        return perform(self, corpus, device=device, report=report)


@dataclass(frozen=True)
class Progressed:
    """Progress of a cell: its current step `what`, with `done` of `total` where they are known."""

    key: str
    what: str
    done: int = 0
    total: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Finished:
    """The result of a cell: its files by name, and facts for its manifest (device, versions, …)."""

    key: str
    files: Mapping[str, bytes] = field(repr=False)
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Failed:
    """Why a cell gave no result. One that was LOST is worth another try.

    error      the message, which may quote texts
    traceback  the same of the traceback
    halved     whether it was tried with half the tokens at once already
    kept       what a study keeps of the error, without texts; None where it quotes none
    code       that of a `VeraxError`
    """

    key: str
    reason: str
    error: str
    traceback: str = ""
    halved: bool = False
    kept: str | None = None
    code: str | None = None


class CellError(VeraxError):
    """A cell failed that the rest of a result depends on; `reason` is that of the failure."""

    code = "study.cell-failed"

    def __init__(self, label: str, failure: Mapping[str, Any]) -> None:
        super().__init__(f"{label}: {failure['error']}", code=failure.get("code"))
        self.reason = str(failure["reason"])
        self.add_note(str(failure.get("traceback")))


Event = Progressed | Finished | Failed


class Engine(Protocol):
    """An engine runs cells in parallel.

    `submit` may be called while `free` is positive. `wait` returns events as soon as there are any,
    or none after `timeout` seconds. Every job ends in exactly one `Finished` or `Failed`, even if
    its worker dies. `stop` terminates all jobs at once and leaves no process behind; it may be
    called twice.
    """

    @property
    def free(self) -> int: ...

    @property
    def workers(self) -> int: ...

    def describe(self) -> str:
        """Where cells run, in words, with advice where there is some."""
        ...

    def submit(self, job: Runnable, corpus: Corpus | None) -> None:
        """Run a job, on a corpus if it needs one."""
        ...

    def wait(self, timeout: float) -> list[Event]: ...

    def stop(self) -> None: ...


def corpus_name(corpus: Corpus | None) -> str:
    """The name of a corpus among workers: ids and names are not in its fingerprint.

    The name is empty without a corpus.
    """
    if corpus is None:
        return ""
    return f"{corpus.fingerprint} {sorted(corpus.config.items())!r}"


def pickled_corpus(corpus: Corpus) -> bytes:
    """Return a corpus for workers, as bytes."""
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

"""Getting cells through an engine in tests."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

import verax
from support.internals import Event
from verax.studies import Engine, Failed, Finished, Job, Progressed

LIMIT = 120
"""Seconds after which a test has failed: a busy machine takes ten to start a worker."""


def settle(engine: Engine, n: int = 1) -> list[Finished | Failed]:
    """What became of the next `n` cells."""
    found: list[Finished | Failed] = []
    until = time.monotonic() + LIMIT
    while len(found) < n:
        assert time.monotonic() < until, f"{n - len(found)} cells are not told of"
        found += [e for e in engine.wait(1) if not isinstance(e, Progressed)]
    return found


def run(engine: Engine, job: Job, corpus: verax.Corpus) -> Finished | Failed:
    engine.submit(job, corpus)
    return settle(engine)[0]


def finished(outcome: Event) -> Finished:
    assert isinstance(outcome, Finished), outcome
    return outcome


def failed(outcome: Event) -> Failed:
    assert isinstance(outcome, Failed), outcome
    return outcome


def lasting(outcome: Event) -> dict[str, bytes]:
    """The files that must be the same however often a cell is run: all but one with a clock."""
    files = finished(outcome).files
    assert "verdict.json" in files
    return {name: content for name, content in files.items() if name != "verdict.json"}


def exists(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def soon(condition: Callable[[], bool], seconds: float = 20) -> bool:
    until = time.monotonic() + seconds
    while not condition() and time.monotonic() < until:
        time.sleep(0.05)
    return condition()


def children(pid: int | None = None) -> set[int]:
    """The processes that a process (this one) started and that are there still, zombies too."""
    with open(f"/proc/{pid or os.getpid()}/task/{pid or os.getpid()}/children") as found:
        return set(map(int, found.read().split()))

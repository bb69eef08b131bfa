"""A program that runs a cell without end on Ray, to be interrupted and killed."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from made_up_cells import cell
from running import LIMIT
from two_nodes import kill_session

import verax
from verax.studies.engines.engine import Engine, Job
from verax.studies.engines.ray_engine import RayEngine
from verax.studies.grid.hardware import Hardware


class Driver:
    """The program as a process with a session of its own."""

    def __init__(self, address: str | None) -> None:
        here = Path(__file__)
        paths = [str(here.parent), str(here.parents[1]), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [sys.executable, str(here), *([address] if address else [])],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            start_new_session=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.session = self.process.pid

    def says(self, words: str) -> bool:
        """Whether it comes to say so, in time."""
        assert self.process.stdout is not None
        late = threading.Timer(LIMIT, self.process.kill)
        late.start()
        try:
            return any(line.strip() == words for line in self.process.stdout)
        finally:
            late.cancel()


@contextmanager
def driver(address: str | None) -> Iterator[Driver]:
    started = Driver(address)
    try:
        yield started
    finally:
        kill_session(started.session)
        started.process.communicate()


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def watch(engine: Engine, events: int) -> None:
    while events > 0:
        told = engine.wait(1)
        assert all(type(event).__name__ == "Progressed" for event in told), told
        events -= len(told)


def main(address: str | None) -> None:
    corpus = verax.load_corpus("planted", documents=120)
    engine = RayEngine(Hardware(engine="ray", address=address))
    engine.submit(Job(cell(corpus, epochs=10**6, patience=None)), corpus)
    watch(engine, 4)
    try:
        say("running")
        watch(engine, 10**9)
    except KeyboardInterrupt:
        say("interrupted")
    watch(engine, 4)
    say("going on")
    watch(engine, 10**9)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)

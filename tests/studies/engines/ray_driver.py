"""A program that runs a cell without end on Ray, to be interrupted and killed."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from commands import FORKS
from made_up_cells import cell
from running import LIMIT
from two_nodes import kill_session

import verax
from verax.studies import Engine, Hardware, Job, RayEngine


class Driver:
    """The program as a process with a session of its own: a fork that has imported everything."""

    def __init__(self, address: str | None) -> None:
        self._heard, said = FORKS.Pipe(duplex=False)
        settings = {name: value for name, value in os.environ.items() if name.startswith("RAY_")}
        self.process = FORKS.Process(target=_become, args=(address, said, settings))
        self.process.start()
        said.close()
        assert self.process.pid is not None
        self.session = self.process.pid

    def says(self, words: str) -> bool:
        """Whether it comes to say so, in time."""
        until = time.monotonic() + LIMIT
        try:
            while self._heard.poll(max(0.0, until - time.monotonic())):
                if self._heard.recv() == words:
                    return True
        except EOFError:
            pass
        return False


def _become(address: str | None, said: Connection, settings: dict[str, str]) -> None:
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the tests' shell may ignore it
    os.environ.update(settings)
    main(address, said.send)


@contextmanager
def driver(address: str | None) -> Iterator[Driver]:
    started = Driver(address)
    try:
        yield started
    finally:
        kill_session(started.session)
        started.process.join()


def watch(engine: Engine, events: int) -> None:
    while events > 0:
        told = engine.wait(1)
        assert all(type(event).__name__ == "Progressed" for event in told), told
        events -= len(told)


def main(address: str | None, say: Callable[[str], None]) -> None:
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

"""A limit of time: long work asks now and then whether it is up, and is then broken off."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

HOPELESS = 2.0
"""Work is broken off early where it is expected to take so many times what is left."""
_KNOWN = 2.0
"""Seconds of work before it says how long the rest will take."""
_OPEN: list[TimeLimit] = []
"""The limits entered, the innermost last."""


class OutOfTimeError(Exception):
    """Raised by work that is broken off; whoever set the limit catches it."""


class TimeLimit:
    """Some seconds from now on.

    Args:
        seconds: how many.
        clock: gives the time in seconds; the machine's, unless given.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] | None = None) -> None:
        self.clock = clock or time.monotonic
        self.end = self.clock() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left; none is 0."""
        return max(0.0, self.end - self.clock())

    @property
    def is_up(self) -> bool:
        return self.clock() >= self.end

    def share(self, parts: int) -> TimeLimit:
        """A limit for the first of some parts that are to share what is left."""
        return TimeLimit(self.left / max(1, parts), self.clock)


@contextmanager
def within(limit: TimeLimit) -> Iterator[None]:
    """Work inside is broken off once the limit is up."""
    _OPEN.append(limit)
    try:
        yield
    finally:
        _OPEN.remove(limit)


def is_limited() -> bool:
    """Whether a limit is set."""
    return bool(_OPEN)


def check_time() -> None:
    """Raise `OutOfTimeError` where a limit is set and up."""
    if _OPEN and _OPEN[-1].is_up:
        raise OutOfTimeError


def expect(started: float, done: float) -> None:
    """Raise `OutOfTimeError` where the rest of some work cannot be done in what is left.

    Args:
        started: when it began, by `now`.
        done: the share of it that is done, above 0.
    """
    if not _OPEN:
        return
    limit = _OPEN[-1]
    taken = limit.clock() - started
    rest = taken * (1 - done) / done
    if limit.is_up or (taken > _KNOWN and rest > HOPELESS * limit.left):
        raise OutOfTimeError


def now() -> float:
    """The time by the innermost limit's clock."""
    return _OPEN[-1].clock() if _OPEN else time.monotonic()

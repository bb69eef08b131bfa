"""Progress: bars on a terminal, a line in a notebook, calls for programs; silence otherwise.

Python calls show it by default where a person can see it. `progress=False`, or the environment
variable VERAX_PROGRESS=0, switches it off; `progress=True` switches it on.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol, TypeVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as Bars

from verax.time_limit import check_time, expect, now

T = TypeVar("T")
Watch = Callable[[Iterable[Any]], Iterator[Any]]

VARIABLE = "VERAX_PROGRESS"
LONG = 60.0
"""Seconds from which on an estimate is given."""
_SOON, _OFTEN = 1.0, 0.1
"""Seconds before a part of a step is shown; seconds between updates of a bar."""
_OPEN: list[Progress | Reporting] = []
"""The displays entered, the innermost last."""


class Display(Protocol):
    """Shows progress; entered once for each piece of work, maybe several times."""

    def __enter__(self) -> Display: ...

    def __exit__(self, *reason: object) -> None: ...

    def watching(self, what: str) -> Watch: ...

    def busy(self, what: str) -> AbstractContextManager[None]: ...

    def step(self, step: Any) -> None: ...


def shown(progress: bool | Display | None) -> Display:
    """The display to use.

    Args:
        progress: a display; True or False; None shows progress on a terminal and in a notebook,
            unless VERAX_PROGRESS is 0 or a display is open already.
    """
    if progress is None:
        progress = not _OPEN and is_watched()
    if not isinstance(progress, bool):
        return progress
    return NotebookLine() if progress and Console().is_jupyter else Progress(progress)


def say(display: Display, lines: Iterable[str]) -> None:
    """Lines above a display's bars; none where it shows nothing."""
    if isinstance(display, Progress):
        display.say(lines)


def is_watched() -> bool:
    """Whether somebody can see progress: VERAX_PROGRESS, or else a terminal or a notebook."""
    switch = os.environ.get(VARIABLE, "").strip().lower()
    if switch:
        return switch not in ("0", "false", "no", "off")
    return sys.stderr.isatty() or Console().is_jupyter


def tracked(values: Iterable[T], what: str, total: int, size: Callable[[T], int]) -> Iterator[T]:
    """Pass values on, and show on the display that is open how far they are, after a second.

    Within a limit of time (`verax.time_limit`) the step is broken off once the limit is up, or once
    it shows that the step will take far longer.

    Args:
        values: parts of one long step.
        what: what is done.
        total: what the sizes of all parts come to.
        size: how much a part is.
    """
    display = _OPEN[-1] if _OPEN else None
    started, began, done = time.monotonic(), 0.0, 0
    first, count = None, None
    check_time()
    try:
        for value in values:
            yield value
            done += size(value)
            if first is None:  # what comes before the first part says nothing of the others
                first, began = done, now()
            elif first < done < total:
                expect(began, (done - first) / (total - first))
            if display is not None and time.monotonic() - started > _SOON and done < total:
                count = count or display.counting(what, total, started)
                count(done)
    finally:
        if count is not None:
            count(None)


def duration(value: float) -> str:
    """Seconds as a person says them.

    >>> duration(42), duration(600), duration(5400)
    ('42 s', '10 min', '1.5 h')
    """
    if value < 90:
        return f"{value:.0f} s"
    return f"{value / 60:.0f} min" if value < 5400 else f"{value / 3600:.1f} h"


class Progress:
    """A display on standard error that cleans up after itself; does nothing when not wanted.

    Bars are drawn on a terminal only, so logs and pipes stay clean. Anywhere, work of more than a
    minute is announced in a line with an estimate.
    """

    def __init__(self, wanted: bool = True) -> None:
        console = Console(stderr=True)
        self._bars = Bars(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
            console=console,
            transient=True,
            disable=not (wanted and console.is_terminal),
        )
        self._wanted = wanted
        self._task: Any = None
        self._started = 0.0
        self._announced = False

    def say(self, lines: Iterable[str]) -> None:
        """Print lines above the bars."""
        if self._wanted:
            for line in lines:
                self._bars.console.print(line, markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Progress:
        if not self._bars.disable:
            self._bars.start()
        self._announced = False
        if self._wanted:
            _OPEN.append(self)
        return self

    def __exit__(self, *reason: object) -> None:
        if self._wanted:
            _OPEN.remove(self)
        if not self._bars.disable:  # older versions of rich would print an empty line
            self._bars.stop()

    def watching(self, what: str) -> Watch:
        """A function that passes an iterable on and shows how far it got."""

        def watch(values: Iterable[Any]) -> Iterator[Any]:
            total = len(values) if isinstance(values, Sized) else None
            count = self.counting(what, total, time.monotonic())
            for number, value in enumerate(values, start=1):
                yield value
                count(number)
            count(None)

        return watch

    def counting(
        self, what: str, total: int | None, started: float
    ) -> Callable[[int | None], None]:
        """A new bar, as a function of how much is done; None takes the bar away."""
        task = self._bars.add_task(what, total=total, note="")
        drawn = 0.0

        def count(done: int | None) -> None:
            nonlocal drawn
            if done is None:
                self._bars.remove_task(task)
                return
            now = time.monotonic()
            if now - drawn >= _OFTEN or done == total:
                drawn = now
                self._announce(what, done, total, now - started)
                self._bars.update(task, completed=done)

        return count

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """A spinner for work of unknown length."""
        task = self._bars.add_task(what, total=None, note="")
        try:
            yield
        finally:
            self._bars.remove_task(task)

    def step(self, step: Any) -> None:
        """Show a training step (see `verax.training.loop.Step`)."""
        what, done, total, note = _words(step)
        if done == 1:
            self._started = time.monotonic()
        self._announce("training", done, total, time.monotonic() - self._started)
        self.tell(what, done, total, note)

    def tell(self, what: str, done: int = 0, total: int | None = None, note: str = "") -> None:
        """Show on one bar what is done, and how far it is; without a total how far is open."""
        if self._bars.disable:
            return
        if self._task is None:
            self._task = self._bars.add_task(what, total=None, note="")
        for task in self._bars.tasks:
            if task.id == self._task:
                task.total = total  # `update` takes None for no change
        self._bars.update(self._task, description=what, completed=done, note=note)

    def _announce(self, what: str, done: int, total: int | None, elapsed: float) -> None:
        """Say once how long it will take, if that is over a minute."""
        if self._wanted and not self._announced:
            seconds = _estimate(done, total, elapsed)
            if seconds is not None and seconds > LONG:
                self._announced = True
                self._bars.console.print(f"{what}: about {duration(seconds)}", markup=False)


class Reporting:
    """A display that calls `callback(what, done, total, note)`.

    At once when something new is begun, an epoch too; after that every `every` seconds at most.
    """

    def __init__(
        self, callback: Callable[[str, int, int | None, str], None], every: float = 0.2
    ) -> None:
        self._callback = callback
        self._every = every
        self._what: str | None = None
        self._next = 0.0

    def __enter__(self) -> Reporting:
        _OPEN.append(self)
        return self

    def __exit__(self, *reason: object) -> None:
        _OPEN.remove(self)
        self._what = None

    def watching(self, what: str) -> Watch:
        def watch(values: Iterable[Any]) -> Iterator[Any]:
            total = len(values) if isinstance(values, Sized) else None
            self._begin(what, total)
            for number, value in enumerate(values, start=1):
                yield value
                self._tell(what, number, total)

        return watch

    def counting(
        self, what: str, total: int | None, started: float
    ) -> Callable[[int | None], None]:
        def count(done: int | None) -> None:
            if done is not None:
                self._tell(what, done, total)

        return count

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        self._begin(what, None)
        yield

    def step(self, step: Any) -> None:
        if step.step == 1:
            self._next = 0.0
        self._tell(*_words(step))

    def _begin(self, what: str, total: int | None) -> None:
        if what != self._what:
            self._next = 0.0
        self._tell(what, 0, total)

    def _tell(self, what: str, done: int, total: int | None, note: str = "") -> None:
        now = time.monotonic()
        if now >= self._next:
            self._what, self._next = what, now + self._every
            self._callback(what, done, total, note)


class NotebookLine(Reporting):
    """One line of text on standard error, written over and in the end cleared."""

    def __init__(self) -> None:
        super().__init__(self._write, every=0.5)
        self._work: str | None = None
        self._started = 0.0

    def __exit__(self, *reason: object) -> None:
        super().__exit__(*reason)
        if self._work is not None:
            sys.stderr.write(f"\r{'':100}\r")
            self._work = None

    def _write(self, what: str, done: int, total: int | None, note: str) -> None:
        now = time.monotonic()
        if what != self._work:
            self._work, self._started = what, now
        line = what if total is None else f"{what}: {done:,} of {total:,}"
        seconds = _estimate(done, total, now - self._started)
        if seconds is not None:
            left = seconds - (now - self._started)
            line += f", about {duration(max(0.0, left))} left"
        sys.stderr.write(f"\r{line + '  ' + note:100.100}")
        sys.stderr.flush()


def _estimate(done: int, total: int | None, elapsed: float) -> float | None:
    """Seconds that all of it will take; None before two seconds, or where it is not known."""
    if not done or total is None or elapsed < 2:
        return None
    return elapsed * total / done


def _words(step: Any) -> tuple[str, int, int, str]:
    """A training step in words: what, done, total, note."""
    note = "" if step.loss is None else f"loss {step.loss:.3f}"
    if step.score is not None:
        note += f"  validation {step.score:.3f}"
    done = (step.epoch - 1) * step.steps + step.step
    return f"epoch {step.epoch}/{step.epochs}", done, step.epochs * step.steps, note

"""Progress: bars for people who watch, calls for programs that do; silence otherwise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

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

Watch = Callable[[Iterable[Any]], Iterator[Any]]


class Display(Protocol):
    """What is told of progress: it is entered once for each piece of work, maybe several times."""

    def __enter__(self) -> Display: ...

    def __exit__(self, *reason: object) -> None: ...

    def watching(self, what: str) -> Watch: ...

    def busy(self, what: str) -> AbstractContextManager[None]: ...

    def step(self, step: Any) -> None: ...


def shown(progress: bool | Display) -> Display:
    """The display to use: one that is given, or bars if they are wanted."""
    return Progress(progress) if isinstance(progress, bool) else progress


class Progress:
    """A display on standard error that cleans up after itself; does nothing when not wanted.

    Bars are drawn on a terminal only, so logs and pipes stay clean.
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
        self._task: Any = None

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._bars.stop()

    def watching(self, what: str) -> Watch:
        """A function that passes an iterable on and shows how far it got."""

        def watch(values: Iterable[Any]) -> Iterator[Any]:
            total = len(values) if isinstance(values, Sized) else None
            task = self._bars.add_task(what, total=total, note="")
            for number, value in enumerate(values, start=1):
                yield value
                if number % 256 == 0 or number == total:
                    self._bars.update(task, completed=number)
            self._bars.remove_task(task)

        return watch

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        """A spinner for work that cannot tell how far it got."""
        task = self._bars.add_task(what, total=None, note="")
        try:
            yield
        finally:
            self._bars.remove_task(task)

    def step(self, step: Any) -> None:
        """Show a training step (see `verax.training.loop.Step`)."""
        self.tell(*_told(step))

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
        return self

    def __exit__(self, *reason: object) -> None:
        self._what = None

    def watching(self, what: str) -> Watch:
        def watch(values: Iterable[Any]) -> Iterator[Any]:
            total = len(values) if isinstance(values, Sized) else None
            self._begin(what, total)
            for number, value in enumerate(values, start=1):
                yield value
                self._tell(what, number, total)

        return watch

    @contextmanager
    def busy(self, what: str) -> Iterator[None]:
        self._begin(what, None)
        yield

    def step(self, step: Any) -> None:
        if step.step == 1:
            self._next = 0.0
        self._tell(*_told(step))

    def _begin(self, what: str, total: int | None) -> None:
        if what != self._what:
            self._next = 0.0
        self._tell(what, 0, total)

    def _tell(self, what: str, done: int, total: int | None, note: str = "") -> None:
        now = time.monotonic()
        if now >= self._next:
            self._what, self._next = what, now + self._every
            self._callback(what, done, total, note)


def _told(step: Any) -> tuple[str, int, int, str]:
    """A training step in words: what, done, total, note."""
    note = "" if step.loss is None else f"loss {step.loss:.3f}"
    if step.score is not None:
        note += f"  validation {step.score:.3f}"
    done = (step.epoch - 1) * step.steps + step.step
    return f"epoch {step.epoch}/{step.epochs}", done, step.epochs * step.steps, note

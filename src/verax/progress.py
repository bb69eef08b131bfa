"""Progress bars, for people who watch; silence otherwise."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any

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
        self._training: Any = None

    def __enter__(self) -> Progress:
        self._bars.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._bars.stop()

    def watching(self, what: str) -> Callable[[Iterable[Any]], Iterator[Any]]:
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
        if self._bars.disable:
            return
        if self._training is None:
            self._training = self._bars.add_task("training", total=None, note="")
        note = "" if step.loss is None else f"loss {step.loss:.3f}"
        if step.score is not None:
            note += f"  validation {step.score:.3f}"
        self._bars.update(
            self._training,
            description=f"epoch {step.epoch}/{step.epochs}",
            completed=(step.epoch - 1) * step.steps + step.step,
            total=step.epochs * step.steps,
            note=note,
        )

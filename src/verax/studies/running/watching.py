"""What happens while a study runs, for whoever watches: as bars, or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import Progress as Columns

from verax.progress import duration
from verax.studies.engines.engine import Progressed


@dataclass
class Ran:
    """The outcome of a run, in numbers of cells.

    cells    of the study
    kept     finished before the run
    done     finished by this runner
    others   finished by another runner meanwhile
    failed   key → record, failures of before among them unless they were retried
    left     not begun because the time was up
    beside   of the folder, but not of this study; they stay as they are
    """

    cells: int
    kept: int = 0
    done: int = 0
    others: int = 0
    failed: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    left: int = 0
    beside: int = 0

    @property
    def finished(self) -> int:
        """Cells that are in the store."""
        return self.kept + self.done + self.others


class Watcher:
    """Is called as a run goes on, with the keys of the study's cells; this one shows nothing."""

    def begins(self, where: str, cells: int, done: int, failed: int) -> None:
        """`where` cells run, in words; how many there are, are done and failed already."""

    def says(self, note: str) -> None:
        """Something a reader of the study should know."""

    def starts(self, key: str) -> None:
        """A cell is begun."""

    def progresses(self, progress: Progressed) -> None:
        """How far a cell is."""

    def finishes(self, key: str, facts: Mapping[str, Any]) -> None:
        """A cell is done and in the store."""

    def fails(self, key: str, record: Mapping[str, Any]) -> None:
        """A cell has failed, and will not be run again by this run."""

    def gives_up(self, key: str, why: str) -> None:
        """A cell in flight comes to nothing for now, and will be run again."""

    def elsewhere(self, key: str) -> None:
        """Another runner has finished this one."""


_WIDEST = 48
_NARROW = 90
"""Columns below which times give way, so that what a cell does can be read."""


class Bars(Watcher):
    """A watcher that draws bars on a terminal, and writes a line for every cell that ends.

    Args:
        labels: key → what a cell is called.
        write: writes a line where no bars are drawn, so that a log has it.
    """

    def __init__(self, labels: Mapping[str, str], write: Callable[[str], None]) -> None:
        console = Console(stderr=True)
        narrow = console.width < _NARROW
        self.widest = console.width // 4 if narrow else _WIDEST
        self.began = time.monotonic()
        self.labels = labels
        self.write = write
        self.drawn = console.is_terminal
        self.columns = Columns(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=8 if narrow else 24),
            MofNCompleteColumn(),
            *([] if narrow else [TimeElapsedColumn()]),
            TextColumn("{task.fields[note]}", markup=False),
            console=console,
            transient=True,
            disable=not self.drawn,
        )
        self.all: TaskID | None = None
        self.tasks: dict[str, TaskID] = {}
        self.shown_failures: set[str] = set()
        self.ended = self.failed = self.total = self.before = 0

    def __enter__(self) -> Bars:
        return self

    def __exit__(self, *reason: object) -> None:
        self.columns.stop()

    def begins(self, where: str, cells: int, done: int, failed: int) -> None:
        self.total, self.ended, self.failed = cells, done, failed
        self.before, self.began = done + failed, time.monotonic()
        ended = "".join([f", {done} done" if done else "", f", {failed} failed" if failed else ""])
        self.columns.start()  # not before: others may draw until then
        self.says(f"{cells:,} cell{'' if cells == 1 else 's'}{ended}; {where}")
        self.all = self.columns.add_task("study", total=cells, completed=done, note="")
        self._count()

    def says(self, note: str) -> None:
        if self.drawn:
            self.columns.console.print(note, markup=False, highlight=False, style="dim")
        else:
            self.write(note)

    def starts(self, key: str) -> None:
        if key in self.tasks:
            self._remove(key)
        label = self.labels.get(key, key)
        label = label if len(label) <= self.widest else label[: self.widest - 1] + "…"
        self.tasks[key] = self.columns.add_task(label, total=None, note="starting")

    def progresses(self, progress: Progressed) -> None:
        number = self.tasks.get(progress.key)
        for task in self.columns.tasks:
            if task.id == number:
                task.total = progress.total  # `update` takes None for no change
                note = "  ".join(part for part in (progress.what, progress.note) if part)
                self.columns.update(task.id, completed=progress.done, note=note)

    def finishes(self, key: str, facts: Mapping[str, Any]) -> None:
        self.ended += 1
        took = facts.get("seconds", {}).get("total")
        halved = ", with half the tokens at once" if facts.get("halved") else ""
        self._end(key, "" if took is None else f"  {took:.0f} s{halved}")

    def fails(self, key: str, record: Mapping[str, Any]) -> None:
        self.failed += 1
        self.shown_failures.add(key)
        self._end(key, f"  failed, {record.get('reason')}: {one_line(record.get('error'))}")

    def gives_up(self, key: str, why: str) -> None:
        self._remove(key)
        self.says(f"{self.labels.get(key, key)}: {why}")

    def elsewhere(self, key: str) -> None:
        self.ended += 1
        self._end(key, "  by another runner")

    def _end(self, key: str, what: str) -> None:
        self._remove(key)
        self._count()
        self.says(f"{self.ended + self.failed}/{self.total}  {self.labels.get(key, key)}{what}")

    def _remove(self, key: str) -> None:
        task = self.tasks.pop(key, None)
        if task is not None:
            self.columns.remove_task(task)

    def _count(self) -> None:
        if self.all is None:
            return
        ended, notes = self.ended + self.failed, []
        if self.failed:
            notes.append(f"{self.failed} failed")
        if ended > self.before and ended < self.total:  # the rest at the pace of this run
            pace = (time.monotonic() - self.began) / (ended - self.before)
            notes.append(f"about {duration(pace * (self.total - ended))} left")
        self.columns.update(self.all, completed=ended, note="  ".join(notes))


def one_line(text: object) -> str:
    """A message on one line."""
    return " ".join(str(text).split())

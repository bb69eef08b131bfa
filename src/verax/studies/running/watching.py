"""What happens while a study runs, and what comes of it, for whoever watches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

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

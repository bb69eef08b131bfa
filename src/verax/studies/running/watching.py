"""What happens while a study runs, told to whoever watches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from verax.studies.engines.engine import Progressed


class Watcher(Protocol):
    """Is told of a run, cell by cell; keys are those of the study's cells."""

    def begins(self, where: str, cells: int, done: int, failed: int) -> None:
        """`where` cells run, in words; how many there are, are done and failed already."""
        ...

    def says(self, note: str) -> None:
        """Something a reader of the study should know."""
        ...

    def starts(self, key: str) -> None: ...

    def progresses(self, progress: Progressed) -> None: ...

    def finishes(self, key: str, facts: Mapping[str, Any]) -> None: ...

    def fails(self, key: str, record: Mapping[str, Any]) -> None: ...

    def gives_up(self, key: str, why: str) -> None:
        """A cell in flight comes to nothing for now, and will be run again."""
        ...

    def elsewhere(self, key: str) -> None:
        """Another runner has finished this one, or it failed there."""
        ...


class Silent:
    """A watcher that looks away."""

    def begins(self, where: str, cells: int, done: int, failed: int) -> None: ...

    def says(self, note: str) -> None: ...

    def starts(self, key: str) -> None: ...

    def progresses(self, progress: Progressed) -> None: ...

    def finishes(self, key: str, facts: Mapping[str, Any]) -> None: ...

    def fails(self, key: str, record: Mapping[str, Any]) -> None: ...

    def gives_up(self, key: str, why: str) -> None: ...

    def elsewhere(self, key: str) -> None: ...

"""Places in which everything is written once, for all tests of this room."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import capabilities
import pytest
from capabilities import CAPABILITIES
from places import MEMORY, Place


@pytest.fixture(scope="session")
def place_of() -> Iterator[Callable[[str], Place]]:
    """Give the place of a capability, made once."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(capabilities, "PLACE", Path(name) / "made")
        capabilities.PLACE.mkdir()
        made: dict[str, Place] = {}

        def place(title: str) -> Place:
            if title not in made:
                above = tempfile.mkdtemp(dir=name)
                made[title] = Place(Path(above), CAPABILITIES[title])
            return made[title]

        yield place


@pytest.fixture(autouse=True)
def _no_exception_is_left() -> Iterator[None]:
    """Simulated interrupts leave no handled exception, the `__context__` of all later ones."""
    before = sys.exc_info()[1]
    yield
    assert sys.exc_info()[1] is before

"""Study files for tests: written, read, refused."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from verax.errors import VeraxErrors
from verax.studies.grid import Study, read_study

SMALL = "{planted: {documents: 60, length: 12}}"
"""A corpus that loads at once."""


def write(folder: Path, text: str, name: str = "study.yaml") -> Path:
    path = folder / name
    path.write_text(dedent(text).replace("SMALL", SMALL), encoding="utf-8")
    return path


def study(folder: Path, text: str, **by_hand: Any) -> Study:
    return read_study(write(folder, text), **by_hand)


def refused(folder: Path, text: str, **by_hand: Any) -> list[str]:
    """What is wrong with a study, without the file's name."""
    with pytest.raises(VeraxErrors) as caught:
        study(folder, text, **by_hand)
    return [problem.removeprefix("study.yaml ") for problem in caught.value.problems]


def chosen(found: Study, *options: str) -> list[tuple[Any, ...]]:
    """The values of these options in each cell, in order."""
    return [
        tuple({**c.model, **c.training, "seed": c.seed}[o] for o in options) for c in found.cells
    ]

"""Study files for tests: written, read, refused."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from support.errors import assert_names
from verax.errors import VeraxErrors
from verax.studies import Study, read_study

SMALL = "{planted: {documents: 60, length: 12}}"
"""A corpus that loads at once."""


def write(folder: Path, text: str, name: str = "study.yaml") -> Path:
    path = folder / name
    path.write_text(dedent(text).replace("SMALL", SMALL), encoding="utf-8")
    return path


def study(folder: Path, text: str, **by_hand: Any) -> Study:
    return read_study(write(folder, text), **by_hand)


class Problem(NamedTuple):
    """One of the things that are wrong with a study.

    where  its lines, such as `line 3`; the file's name where it is of no line
    """

    where: str
    code: str
    message: str

    def check(self, where: str, code: str, *names: object) -> None:
        """Assert where it is, its code, and that its message contains these names as words."""
        assert (self.where, self.code) == (where, code), self
        assert_names(self.message, *names)


def refused(folder: Path, text: str, **by_hand: Any) -> list[Problem]:
    """What is wrong with a study."""
    with pytest.raises(VeraxErrors) as caught:
        study(folder, text, **by_hand)
    found = []
    for problem in caught.value.problems:
        where, _, message = str(problem).removeprefix("study.yaml ").partition(": ")
        found.append(Problem(where, problem.code, message))
    return found


def chosen(found: Study, *options: str) -> list[tuple[Any, ...]]:
    """The values of these options in each cell, in order."""
    return [
        tuple({**c.model, **c.training, "seed": c.seed}[o] for o in options) for c in found.cells
    ]

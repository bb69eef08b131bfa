"""The one error a user is meant to read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class VeraxError(ValueError):
    """Bad input: one line that says what was wrong, what was expected and what to do.

    The command line prints it as it is and exits with code 2.
    """


class VeraxWarning(UserWarning):
    """Input that works and may not be what was meant: one line, with what to do.

    The command line prints it on standard error.
    """


def nearest(name: str, valid: Iterable[str]) -> str:
    """The part of a message that helps with a mistyped `name`.

    >>> nearest("projektion", ["projection", "encoder"])
    "did you mean 'projection'?"
    >>> nearest("zzz", ["projection", "encoder"])
    'choose from encoder, projection'
    """
    valid = sorted(valid)
    meant = near(name, valid)
    return f"did you mean {meant!r}?" if meant is not None else "choose from " + ", ".join(valid)


def near(name: str, valid: Iterable[str]) -> str | None:
    """The valid name that a mistyped one is near to, if any is."""
    close = difflib.get_close_matches(name, sorted(valid), n=1, cutoff=0.6)
    return close[0] if close else None


class VeraxErrors(VeraxError):  # noqa: N818 (there are several)
    """Several things wrong at once, a line each: the command line prints them one by one."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = list(problems)
        super().__init__("\n".join(self.problems))

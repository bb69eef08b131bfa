"""Errors by code: wording is tested in `test_error_wording.py` alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase

import pytest

from verax import cli
from verax.errors import VeraxError


@contextmanager
def raises(code: str, *names: object) -> Iterator[pytest.ExceptionInfo[VeraxError]]:
    """Expect a `VeraxError` with a code.

    Args:
        code: the code, or a pattern such as `tensor.*`.
        names: ids, numbers or paths that the message must contain; never prose.
    """
    with pytest.raises(VeraxError) as caught:
        yield caught
    assert fnmatchcase(caught.value.code, code), (caught.value.code, caught.value)
    assert_names(caught.value, *names)


def refused(arguments: Sequence[str], code: str, *names: object) -> VeraxError:
    """Run a command that must end with exit code 2, and return its error.

    Args:
        arguments: the command line.
        code: the code of the error, of the first if there are several; or a pattern of it.
        names: ids, numbers or paths that the message must contain; never prose.
    """
    errors: list[VeraxError] = []
    with pytest.MonkeyPatch.context() as patch:
        printed = cli.refuse
        patch.setattr(cli, "refuse", lambda error: errors.append(error) or printed(error))
        assert cli.main(arguments) == 2
    (error,) = errors
    assert fnmatchcase(error.code, code), (error.code, error)
    assert_names(error, *names)
    return error


def assert_names(error: VeraxError | str, *names: object) -> None:
    """Assert that the message contains all of these as whole words."""
    for name in names:
        assert re.search(rf"(?<!\w){re.escape(str(name))}(?!\w)", str(error)), f"{name}: {error}"

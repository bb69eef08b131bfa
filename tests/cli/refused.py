"""Bad input on the command line: one line on standard error, exit code 2, nothing else."""

from __future__ import annotations

import pytest

from support.errors import refused


def refusal(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: str, *names: object
) -> str:
    """Run a command that must be refused for this reason, in one line, which is returned."""
    refused(arguments, code, *names)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("verax: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err

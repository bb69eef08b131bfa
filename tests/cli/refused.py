"""Bad input on the command line: one line on standard error, exit code 2, nothing else."""

from __future__ import annotations

import pytest

from verax.cli import main


def refusal(capsys: pytest.CaptureFixture[str], arguments: list[str]) -> str:
    """The one line on standard error, after checking that it is one."""
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("verax: ")
    assert err.count("\n") == 1
    assert err.endswith("\n")
    return err

"""`verax completion` prints the scripts of the commands there are, and imports nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import verax
from support.internals import build_parser
from verax import completion
from verax.cli.completion import commands_of


def test_the_commands_kept_are_those_there_are() -> None:
    """If this fails, run `make completion`."""
    assert completion.kept_commands() == dict(commands_of(build_parser()))


def test_a_script_needs_no_torch() -> None:
    code = """
import sys
sys.argv = ["verax", "completion", "bash"]
from verax.__main__ import main
code = main()
heavy = {"torch", "pandas", "numpy", "rich", "verax.cli"} & set(sys.modules)
sys.exit(code if not heavy else f"imported {heavy}")
"""
    found = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={"PYTHONPATH": str(Path(verax.__file__).parents[1])},
    )
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == completion.bash(completion.kept_commands())


@pytest.mark.parametrize("arguments", [[], ["bsh"], ["bash", "--help"], ["--help"]])
def test_other_calls_are_for_the_command(arguments: list[str]) -> None:
    assert completion.kept_script(arguments) is None


def test_options_of_other_packages_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Points:
        groups = ("console_scripts", "verax.exams")

    monkeypatch.setattr(completion, "entry_points", Points)
    assert completion.kept_script(["bash"]) is None

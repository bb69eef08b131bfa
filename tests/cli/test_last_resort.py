"""What nobody foresaw: one line, exit code 70, and a file that tells nothing of the user's."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest

import verax.cli
import verax.last_resort
from support.errors import refused
from verax.last_resort import traceback_of

SECRET = "a private text of someone"


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """`verax exams` raises what quotes a text; temporary files go to the folder returned."""

    def run(args: object) -> None:
        try:
            raise KeyError(SECRET)
        except KeyError as error:
            raise RuntimeError(f"cannot handle {SECRET}") from error

    monkeypatch.setattr("verax.cli.exams.run", run)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.delenv("VERAX_DEBUG", raising=False)
    return tmp_path


def test_an_unforeseen_error_is_one_line_and_a_file_to_send(
    broken: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert verax.cli.main(["exams"]) == 70
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.startswith("verax: an error in Verax itself (RuntimeError")
    assert SECRET not in line
    found = re.search(r"send (\S+),", line)
    assert found is not None
    (file,) = broken.iterdir()
    assert str(file) == found[1]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text()
    assert "builtins.KeyError" in text
    assert "builtins.RuntimeError" in text
    assert "command: exams" in text
    assert "verax/cli/__init__.py" in text
    assert SECRET not in text
    assert str(Path(__file__).parent) not in text


def test_debugging_shows_the_traceback(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VERAX_DEBUG", "1")
    with pytest.raises(RuntimeError, match=SECRET):
        verax.cli.main(["exams"])
    assert not list(broken.iterdir())


def test_a_file_that_cannot_be_written_is_told(
    broken: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(broken / "nowhere"))
    assert verax.cli.main(["exams"]) == 70
    assert "its traceback could not be written" in capsys.readouterr().err


def test_memory_that_runs_out_is_no_error_of_verax(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(args: object) -> None:
        raise MemoryError

    monkeypatch.setattr("verax.cli.exams.run", run)
    refused(["exams"], "device.out-of-memory")


def test_an_endless_chain_of_errors_ends() -> None:
    one, other = ValueError("a"), ValueError("b")
    one.__cause__, other.__cause__ = other, one
    assert traceback_of(one).count("builtins.ValueError") == 2

"""What `verax run` prints of other people's words, and the command with which it goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.internals import running_run as running
from verax.cli import main


@pytest.mark.slow
def test_a_study_cannot_command_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text('question: "\\e[31mred \\e]0;owned\\a"\ncorpora: planted\n')
    assert main(["run", "mine.yaml", "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "owned" in out
    assert "\x1b" not in out
    assert "\a" not in out


@pytest.mark.slow
def test_what_was_retried_goes_on_being_retried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("mine.yaml").write_text("corpora: {planted: {documents: 60}}\n")

    def interrupted(hardware: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "make_engine", interrupted)
    assert main(["run", "mine.yaml", "--retry-failed"]) == 130
    assert capsys.readouterr().err.endswith("to go on: verax run mine.yaml --retry-failed\n")

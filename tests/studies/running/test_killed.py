"""Runners and workers killed, interrupted and doubled: nothing finished is lost or wrong."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
from pathlib import Path

import pytest
from commands import (
    CELLS,
    Command,
    alive,
    assert_same_tables,
    assert_whole,
    children,
    done,
    stamps,
    start,
    until,
    without_page,
    workers,
    written,
)

from verax.cli import main


@pytest.mark.slow
def test_a_runner_killed_twice_and_then_its_workers(undisturbed: Path, tmp_path: Path) -> None:
    """The runner while a worker starts, and with cells done; then workers, starting and at work."""
    study, out = written(tmp_path), tmp_path / "out"
    kept: dict[str, tuple[int, int, int]] = {}
    for least in (0, 1):
        runner = start(study, out, "--workers", "1", started=least == 0)
        until(lambda: bool(workers(runner.pid)), "a worker begins")  # noqa: B023
        until(lambda: done(out) >= least, "so many cells are done")  # noqa: B023
        family = children(runner.pid)
        runner.kill()
        # one that starts notices once it has imported what it needs
        until(lambda: not any(map(alive, family)), "workers end with their runner")  # noqa: B023
        assert_whole(out)
        assert kept.items() <= stamps(out).items()
        kept = stamps(out)
    before = done(out)
    assert 0 < before < CELLS
    runner = start(study, out, "--workers", "1", started=1)
    for enough in (before, before + 1):
        until(lambda: bool(workers(runner.pid)) and done(out) >= enough, "one to be killed")  # noqa: B023
        assert not runner.over, "the study was over before a worker was killed"
        os.kill(workers(runner.pid)[0], signal.SIGKILL)
    text, _ = runner.ended()
    assert text.count("SIGKILL") == 2
    assert kept.items() <= stamps(out).items()
    assert f"{CELLS} of {CELLS} cells are done" in text
    assert_same_tables(out, undisturbed)
    assert not list(out.glob(".scratch/*"))


@pytest.mark.slow
def test_interrupted_it_says_how_to_go_on(
    undisturbed: Path, tmp_path: Path, cells_here: None
) -> None:
    """By Ctrl-C, then, by the command that it printed, again and by SIGTERM."""
    out = tmp_path / "out"
    command = ["verax", "run", str(written(tmp_path)), "--out", str(out), "--workers", "1"]
    for sign in (signal.SIGINT, signal.SIGTERM):
        runner = Command(command[1:], tmp_path, started=sign == signal.SIGTERM)
        # at work on the second cell, and as it starts
        until(lambda: bool(workers(runner.pid)) and done(out) >= 1, "a worker begins")  # noqa: B023
        family = children(runner.pid)
        if sign == signal.SIGINT:
            os.killpg(runner.pid, sign)  # a terminal sends it to all of them
        else:
            os.kill(runner.pid, sign)
        _, errors = runner.ended(130)
        (line,) = errors.splitlines()
        assert line.startswith("verax: stopped with ")
        until(lambda: not any(map(alive, family)), "workers end", 20)  # noqa: B023
        assert_whole(out)
        kept = stamps(out)
        command = shlex.split(line.partition("to go on: ")[2])
        assert command[:2] == ["verax", "run"]
    with without_page():
        assert main(command[1:]) == 0
    assert kept.items() <= stamps(out).items()
    assert_same_tables(out, undisturbed)


@pytest.mark.slow
def test_two_runners_share_the_work(undisturbed: Path, tmp_path: Path) -> None:
    study, out = written(tmp_path), tmp_path / "out"
    both = [start(study, out, here=True) for _ in range(2)]
    printed = [runner.ended()[0] for runner in both]
    own = [
        line.split("  ", 1)[1].rpartition("  ")[0]
        for text in printed
        for line in text.splitlines()
        if line.endswith(" s")
    ]
    assert len(own) == len(set(own)) == CELLS
    assert all(f"{CELLS} of {CELLS} cells are done" in text for text in printed)
    assert_same_tables(out, undisturbed)


@pytest.mark.slow
def test_a_truncated_file_of_a_finished_cell(
    undisturbed: Path, tmp_path: Path, cells_here: None, capsys: pytest.CaptureFixture[str]
) -> None:
    study, out = written(tmp_path), tmp_path / "out"
    shutil.copytree(undisturbed, out)
    first, second = sorted(out.glob("cells/*"))[:2]
    for path in (first / "replacement.parquet", second / "manifest.json"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    whole = {p: at for p, at in stamps(out).items() if first.name not in p and second.name not in p}
    with without_page():
        assert main(["run", str(study), "--out", str(out)]) == 0
    text = capsys.readouterr().out
    assert first.name in text
    assert "replacement.parquet" in text
    assert second.name in text
    assert "manifest.json" in text
    assert whole.items() <= stamps(out).items()
    assert_same_tables(out, undisturbed)

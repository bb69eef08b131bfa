"""Runners and workers killed at random moments: nothing finished is lost, nothing is wrong."""

from __future__ import annotations

import os
import random
import shlex
import shutil
import signal
import sys
import time
from pathlib import Path

import pytest
from commands import (
    CELLS,
    alive,
    assert_same_tables,
    assert_whole,
    children,
    done,
    ended,
    stamps,
    start,
    started,
    until,
    workers,
    written,
)


def test_a_runner_killed_again_and_again(undisturbed: Path, tmp_path: Path) -> None:
    """Once while workers start, then with more and more cells done."""
    study, out, moments = written(tmp_path), tmp_path / "out", random.Random(0)
    kept: dict[str, tuple[int, int, int]] = {}
    counts = []
    for kill in range(4):
        runner = start(study, out, "--workers", "2")
        until((out / "store.json").exists, "the runner begins")
        if kill:
            until(lambda: done(out) > counts[-1], "one more cell is done")
        time.sleep(moments.uniform(0, 0.7))
        family = children(runner.pid)
        runner.kill()
        runner.communicate()
        until(lambda: not any(map(alive, family)), "workers end with their runner", 20)  # noqa: B023
        assert_whole(out)
        assert kept.items() <= stamps(out).items()
        kept = stamps(out)
        counts.append(done(out))
        if counts[-1] == CELLS:
            break
    assert any(0 < count < CELLS for count in counts), counts
    text, _ = ended(start(study, out, "--workers", "2"))
    assert kept.items() <= stamps(out).items()
    assert f"{CELLS} of {CELLS} cells are done" in text
    assert_same_tables(out, undisturbed)
    assert not list(out.glob(".scratch/*"))


def test_workers_killed_while_the_runner_goes_on(undisturbed: Path, tmp_path: Path) -> None:
    study, out, moments = written(tmp_path), tmp_path / "out", random.Random(0)
    runner = start(study, out, "--workers", "2")
    killed = 0
    while killed < 3:
        until(lambda: bool(workers(runner.pid)) or runner.poll() is not None, "workers begin")
        time.sleep(moments.uniform(0, 4))
        for worker in workers(runner.pid)[:1]:
            os.kill(worker, signal.SIGKILL)
            killed += 1
        assert runner.poll() is None or killed, "the study was over before a worker was killed"
        if runner.poll() is not None:
            break
    text, _ = ended(runner)
    assert "SIGKILL" in text
    assert_same_tables(out, undisturbed)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_says_how_to_go_on(
    undisturbed: Path, tmp_path: Path, sign: signal.Signals
) -> None:
    study, out = written(tmp_path), tmp_path / "out"
    runner = start(study, out, "--workers", "1")
    until(lambda: done(out) >= 2, "two cells are done")
    family = children(runner.pid)
    if sign == signal.SIGINT:
        os.killpg(runner.pid, sign)  # a terminal sends it to all of them
    else:
        runner.send_signal(sign)
    _, errors = ended(runner, 130)
    (line,) = errors.splitlines()
    assert line.startswith("verax: stopped with ")
    until(lambda: not any(map(alive, family)), "workers end", 20)
    assert_whole(out)
    kept = stamps(out)
    command = shlex.split(line.partition("to go on: ")[2])
    assert command[:2] == ["verax", "run"]
    ended(started([sys.executable, "-m", *command]))
    assert kept.items() <= stamps(out).items()
    assert_same_tables(out, undisturbed)


def test_two_runners_share_the_work(undisturbed: Path, tmp_path: Path) -> None:
    study, out = written(tmp_path), tmp_path / "out"
    both = [start(study, out, "--workers", "1") for _ in range(2)]
    printed = [ended(runner)[0] for runner in both]
    own = [
        line.split("  ", 1)[1].rpartition("  ")[0]
        for text in printed
        for line in text.splitlines()
        if line.endswith(" s")
    ]
    assert len(own) == len(set(own)) == CELLS
    assert all(f"{CELLS} of {CELLS} cells are done" in text for text in printed)
    assert_same_tables(out, undisturbed)


def test_a_truncated_file_of_a_finished_cell(undisturbed: Path, tmp_path: Path) -> None:
    study, out = written(tmp_path), tmp_path / "out"
    shutil.copytree(undisturbed, out)
    first, second = sorted(out.glob("cells/*"))[:2]
    for path in (first / "replacement.parquet", second / "manifest.json"):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    whole = {p: at for p, at in stamps(out).items() if first.name not in p and second.name not in p}
    text, _ = ended(start(study, out, "--workers", "2"))
    assert first.name in text
    assert "replacement.parquet" in text
    assert second.name in text
    assert "manifest.json" in text
    assert whole.items() <= stamps(out).items()
    assert_same_tables(out, undisturbed)

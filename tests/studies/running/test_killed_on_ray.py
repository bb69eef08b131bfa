"""A study on a Ray cluster: its runner is killed, then one of its two nodes."""

from __future__ import annotations

import random
import time
from pathlib import Path

from commands import (
    CELLS,
    assert_same_tables,
    assert_whole,
    done,
    ended,
    stamps,
    start,
    until,
    written,
)
from two_nodes import TwoNodes

CELL = "ray::RayWorker"
"""How Ray calls a process that runs cells."""


def test_a_runner_and_a_node_killed(undisturbed: Path, tmp_path: Path) -> None:
    study, out, moments = written(tmp_path), tmp_path / "out", random.Random(0)
    cluster = TwoNodes()
    on_it = ("--engine", "ray", "--address", cluster.address)
    try:
        runner = start(study, out, *on_it)
        until(lambda: done(out) >= 1, "a cell is done")
        time.sleep(moments.uniform(0, 1))
        runner.kill()
        runner.communicate()
        assert_whole(out)
        kept = stamps(out)
        until(lambda: not cluster.processes(CELL), "nothing of it runs on the cluster", 60)

        runner = start(study, out, *on_it)
        before = done(out)
        until(lambda: done(out) > before, "one more is done")
        time.sleep(moments.uniform(0, 1))
        assert runner.poll() is None, "the study was over before a node was killed"
        cluster.kill_node()
        text, _ = ended(runner)
        assert f"{CELLS} of {CELLS} cells are done" in text
        assert kept.items() <= stamps(out).items()
        until(lambda: not cluster.processes(CELL), "nothing of it runs on the cluster", 60)
    finally:
        cluster.stop()
    assert_same_tables(out, undisturbed)

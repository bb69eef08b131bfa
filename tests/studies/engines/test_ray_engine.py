"""Cells on a real Ray cluster of two nodes: what each gives, and what becomes of those lost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import (
    CELLS,
    assert_same_tables,
    assert_whole,
    done,
    stamps,
    start,
    until,
    written,
)
from made_up_cells import cell
from running import LIMIT, failed, finished, lasting, run, settle, soon
from two_nodes import TwoNodes, ray

import verax
from support.errors import raises
from support.internals import Event, perform
from verax.exams import EXAMS
from verax.studies import DIVERGED, LOST, Engine, Hardware, Job, Progressed, RayEngine
from verax.studies.engines import ray_cluster


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    started = TwoNodes()
    try:
        yield started
    finally:
        started.stop()


@pytest.fixture
def cluster(nodes: TwoNodes) -> TwoNodes:
    """With both nodes, also after a test that has killed one."""
    if nodes.missing:
        nodes.add_node()
    return nodes


@pytest.fixture
def engine(cluster: TwoNodes) -> Iterator[RayEngine]:
    there = RayEngine(Hardware(engine="ray", address=cluster.address))
    try:
        yield there
    finally:
        there.stop()


def all_of(engine: Engine, jobs: list[Job], corpus: verax.Corpus) -> dict[str, Event]:
    """What becomes of jobs by their cells' keys, each submitted when there is room."""
    waiting, outcomes = list(jobs), {}
    while len(outcomes) < len(jobs):
        while waiting and engine.free:
            engine.submit(waiting.pop(0), corpus)
        [outcome] = settle(engine, 1)[:1]
        outcomes[outcome.key] = outcome
    return outcomes


def long_cell(corpus: verax.Corpus, seed: int) -> Job:
    """One that takes some seconds."""
    return Job(cell(corpus, seed=seed, epochs=1000, patience=None))


def endless(corpus: verax.Corpus, *seeds: int) -> list[Job]:
    return [Job(cell(corpus, seed=seed, epochs=10**6, patience=None)) for seed in seeds]


def under_way(engine: RayEngine, *jobs: Job) -> None:
    """Wait until all of these cells are being trained."""
    missing = {job.cell.key for job in jobs}
    until = time.monotonic() + LIMIT
    while missing:
        assert time.monotonic() < until, f"{len(missing)} cells are not under way"
        for event in engine.wait(1):
            assert isinstance(event, Progressed), event
            if event.what.startswith("epoch") and event.done > 3:
                missing.discard(event.key)


@pytest.mark.slow
def test_cells_are_what_this_process_makes_of_them_on_both_nodes(
    cluster: TwoNodes, small: verax.Corpus
) -> None:
    """With more at once than there is room for: the third waits until a worker is idle."""
    jobs = [
        Job(cell(small, seed=0, encoder="conv")),
        Job(cell(small, seed=1, exams=tuple(EXAMS), sample=12), weights=True),
        Job(cell(small, seed=2, projection="sparsemax")),
        Job(cell(small, seed=3, lr=1e30)),
    ]
    engine = RayEngine(Hardware(engine="ray", address=cluster.address, workers=3))
    try:
        assert engine.describe().endswith("up to 3 cells at once")
        found = all_of(engine, jobs, small)
        assert not engine.wait(0.1)
        assert ours(cluster)
    finally:
        engine.stop()
    expected = {job.cell.key: perform(job, small, device="cpu") for job in jobs}
    *good, bad = (job.cell.key for job in jobs)
    for key in good:
        assert lasting(found[key]) == lasting(expected[key])
        assert finished(found[key]).facts["threads"] == 1
    assert "model/model.safetensors" in finished(found[good[1]]).files
    assert len({finished(found[key]).facts["ray_node"] for key in good}) == 2
    diverged = failed(found[bad])
    assert diverged.reason == DIVERGED
    assert diverged.error == failed(expected[bad]).error
    assert "Diverged" in diverged.traceback


@pytest.mark.slow
def test_what_a_killed_node_or_worker_had_is_lost_alone_and_stopping_leaves_nothing(
    cluster: TwoNodes, engine: RayEngine, small: verax.Corpus
) -> None:
    """On one engine: the other node's worker goes on from what happened to a node."""
    where = f"Ray at {cluster.address}: 2 nodes, 2 CPUs, 0 GPUs; up to 2 cells at once"
    assert engine.describe() == where
    lose_a_node(cluster, engine, small)
    lose_a_worker(cluster, engine, small)
    began = time.monotonic()
    engine.stop()
    assert time.monotonic() - began < 15
    assert soon(lambda: not ours(cluster))
    engine.stop()
    assert engine.free == 0
    assert engine.wait(0.1) == []
    assert not ray.is_initialized()
    assert cluster.processes("ray::DashboardAgent")  # the cluster itself is there


def lose_a_node(cluster: TwoNodes, engine: RayEngine, corpus: verax.Corpus) -> None:
    """The cell there is lost, the other is not, and the lost one comes out the same elsewhere."""
    first = ray.get_runtime_context().get_node_id()
    jobs = {job.cell.key: job for job in (long_cell(corpus, seed) for seed in (0, 1))}
    for job in jobs.values():
        engine.submit(job, corpus)
    assert engine.free == 0
    told: list[Event] = []
    until = time.monotonic() + LIMIT
    while set(engine.placed.values()) <= {first}:
        assert time.monotonic() < until, "no cell was placed on the second node"
        told += engine.wait(0.1)
    [there] = [key for key, node in engine.placed.items() if node != first]
    cluster.kill_node()
    try:
        told = [event for event in told if not isinstance(event, Progressed)]
        told += settle(engine, 2 - len(told))
        outcomes = {event.key: event for event in told}
        assert failed(outcomes.pop(there)).reason == LOST
        assert [finished(event).facts["ray_node"] for event in outcomes.values()] == [first]
        assert soon(lambda: (engine.workers, engine.free) == (1, 1))

        outcome = finished(run(engine, jobs[there], corpus))
        assert outcome.facts["ray_node"] == first
        assert not engine.wait(0.5)  # each is told of once
    finally:
        cluster.add_node()
    assert soon(lambda: engine.workers == 2)
    assert lasting(outcome) == lasting(perform(jobs[there], corpus, device="cpu"))


def lose_a_worker(cluster: TwoNodes, engine: RayEngine, corpus: verax.Corpus) -> None:
    """Its cell is lost, and the other goes on."""
    jobs = endless(corpus, 0, 1)
    for job in jobs:
        engine.submit(job, corpus)
    with pytest.raises(RuntimeError, match="no worker is free"):
        engine.submit(jobs[0], corpus)
    under_way(engine, *jobs)
    workers = cluster.processes("ray::RayWorker")
    assert len(workers) == 2
    os.kill(workers[0], signal.SIGKILL)
    lost = failed(settle(engine)[0])
    assert lost.reason == LOST
    [other] = [job for job in jobs if job.cell.key != lost.key]
    assert engine.free == 1
    under_way(engine, other)


@pytest.mark.slow
def test_a_node_with_another_verax_and_a_wrong_token_are_refused(
    cluster: TwoNodes, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = Hardware(engine="ray", address=cluster.address)
    monkeypatch.setattr(ray_cluster, "__version__", "0.0.0")
    with raises("engine.unavailable", verax.__version__, "0.0.0"):
        RayEngine(there)
    assert not ray.is_initialized()
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of another cluster")
    with raises("engine.unavailable", cluster.address):
        RayEngine(there)


@pytest.mark.slow
def test_a_connection_that_was_there_is_used_and_kept(cluster: TwoNodes) -> None:
    ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
    try:
        with raises("engine.unavailable"):
            RayEngine(Hardware(engine="ray", address="192.0.2.7:6379"))
        engine = RayEngine(Hardware(engine="ray"))
        assert engine.describe().startswith(f"Ray at {cluster.address}: 2 nodes")
        engine.stop()
        assert soon(lambda: not ours(cluster))
        assert ray.is_initialized()
    finally:
        ray.shutdown()


@pytest.mark.slow
def test_a_study_whose_runner_a_worker_and_a_node_are_killed(
    cluster: TwoNodes, undisturbed: Path, tmp_path: Path
) -> None:
    """A killed runner leaves nothing on the cluster; the results are those of this process."""
    study, out = written(tmp_path), tmp_path / "out"
    on_it = ("--engine", "ray", "--address", cluster.address)
    runner = start(study, out, *on_it, "--workers", "1")
    until(lambda: done(out) >= 1, "a cell is done")
    assert len(ours(cluster)) == 1
    runner.kill()
    assert_whole(out)
    kept = stamps(out)
    until(lambda: not ours(cluster), "nothing of it runs on the cluster", 60)

    runner = start(study, out, *on_it)
    before = done(out)
    until(lambda: bool(ours(cluster)), "a worker is there")
    os.kill(ours(cluster)[0], signal.SIGKILL)
    until(lambda: done(out) > before, "one more is done")
    assert not runner.over, "the study was over before a node was killed"
    cluster.kill_node()
    text, _ = runner.ended()
    assert f"{CELLS} of {CELLS} cells are done" in text
    assert kept.items() <= stamps(out).items()
    until(lambda: not ours(cluster), "nothing of it runs on the cluster", 60)
    assert_same_tables(out, undisturbed)
    assert bytes_of_tables(out) == bytes_of_tables(undisturbed)


def bytes_of_tables(folder: Path) -> dict[str, bytes]:
    """The tables of every cell; `cell.parquet` has seconds in it."""
    paths = [path for path in folder.glob("cells/*/*.parquet") if path.name != "cell.parquet"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def ours(cluster: TwoNodes) -> list[int]:
    """What an engine has on the cluster."""
    return cluster.processes("ray::RayWorker")

"""Cells in processes of this machine: side by side, with the same results, from few starts."""

from __future__ import annotations

import os
import re
import resource
import signal
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from made_up_cells import cell
from running import LIMIT, children, exists, failed, finished, lasting, run, settle, soon

import verax
from forked_workers import forked_workers
from support.internals import Event, perform
from verax.studies import (
    DIVERGED,
    OUT_OF_MEMORY,
    Engine,
    Finished,
    Hardware,
    Job,
    LocalEngine,
    Progressed,
)
from verax.studies.engines import local


@pytest.fixture(scope="module")
def engines() -> Iterator[list[LocalEngine]]:
    made: list[LocalEngine] = []
    yield made
    for engine in made:
        engine.stop()


@pytest.fixture
def two(engines: list[LocalEngine]) -> LocalEngine:
    """An engine of two workers, which start when there is work; the same until a test stops it."""
    if not engines or not engines[-1].free:
        engines.append(LocalEngine(Hardware(workers=2, device="cpu")))
    return engines[-1]


@pytest.fixture
def one(two: LocalEngine) -> LocalEngine:
    """The same engine with no more than one worker that has started."""
    for pid in two.pids[1:]:
        os.kill(pid, signal.SIGKILL)
    assert soon(lambda: len(two.pids) <= 1)
    return two


@pytest.mark.slow
def test_workers_start_when_there_is_work_and_stay(two: LocalEngine, small: verax.Corpus) -> None:
    as_asked: Engine = two
    assert as_asked.describe() == "2 workers, 1 thread each, CPU"
    assert (as_asked.workers, as_asked.free, two.pids) == (2, 2, [])
    first = finished(run(two, Job(cell(small)), small))
    pids = two.pids
    assert len(pids) == 1
    assert two.free == 2
    again = finished(run(two, Job(cell(small, seed=1)), small))
    assert two.pids == pids
    assert again.facts["seconds"]["total"] < 5
    assert first.facts["threads"] == 1
    assert two.wait(0) == []


@pytest.mark.slow
def test_results_are_those_of_a_process_without_an_engine(
    two: LocalEngine, small: verax.Corpus
) -> None:
    job = Job(cell(small, seed=3, encoder="conv"), weights=True)
    there = lasting(run(two, job, small))
    assert "model/model.safetensors" in there
    assert there == lasting(perform(job, small, device="cpu"))


@pytest.mark.slow
def test_the_same_texts_loaded_otherwise_are_another_corpus(
    two: LocalEngine, small: verax.Corpus
) -> None:
    """Ids and the corpus a verdict names are no part of the fingerprint."""
    other = replace(
        small,
        config={**small.config, "corpus": "elsewhere"},
        test=replace(small.test, ids=small.test.ids + 1000),
    )
    assert other.fingerprint == small.fingerprint
    for corpus in (small, other, small):
        job = Job(cell(corpus))
        assert lasting(run(two, job, corpus)) == lasting(perform(job, corpus, device="cpu"))


def test_failures_are_told_and_do_not_stop_the_rest(two: LocalEngine, small: verax.Corpus) -> None:
    outcome = failed(run(two, Job(cell(small, lr=1e30)), small))
    assert outcome.reason == DIVERGED
    assert "loop.py" in outcome.traceback
    finished(run(two, Job(cell(small)), small))


@pytest.mark.slow
def test_a_worker_keeps_two_corpora_and_is_sent_a_third_again(
    one: LocalEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpora = [verax.load_corpus("planted", documents=60, seed=seed) for seed in (1, 2, 3)]
    packed: list[str] = []
    pack = one._pickle
    monkeypatch.setattr(one, "_pickle", lambda name, c: packed.append(name) or pack(name, c))
    for turn in (0, 1, 0, 1, 2, 1, 0):
        corpus = corpora[turn]
        job = Job(cell(corpus))
        assert lasting(run(one, job, corpus)) == lasting(perform(job, corpus, device="cpu"))
    names = {n: c for c, n in enumerate(dict.fromkeys(packed))}
    assert [names[name] for name in packed] == [0, 1, 2, 0]
    assert len(one.pids) == 1


def memory(pid: int) -> int:
    with open(f"/proc/{pid}/status") as status:
        found = re.search(r"VmSize:\s+(\d+) kB", status.read())
    assert found is not None
    return int(found[1]) * 1024


@pytest.mark.slow
def test_memory_that_runs_out_halves_the_budget_once_and_then_fails(one: LocalEngine) -> None:
    """200 documents of up to 302 tokens: 60,400 are all at once, in about 500 MB; half in 270."""
    corpus = verax.load_corpus("planted", documents=300, length=200)
    big = Job(cell(corpus, embedding_size=600, batch_size=300), max_tokens=60_400)
    little = Job(cell(corpus))
    finished(run(one, little, corpus))
    (pid,) = one.pids
    limit = memory(pid) + (390 << 20)
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
    facts = finished(run(one, big, corpus)).facts
    assert (facts["halved"], facts["max_tokens"]) == (True, 30_200)
    assert one.pids == [pid]
    limit = memory(pid) + (60 << 20)
    resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
    outcome = failed(run(one, big, corpus))
    assert outcome.reason == OUT_OF_MEMORY
    assert outcome.error.endswith("(and so with max_tokens 30200)")
    assert "Traceback" in outcome.traceback
    assert not exists(pid)  # a worker in that state runs nothing else
    with forked_workers():
        finished(run(one, little, corpus))


@pytest.mark.slow
def test_two_cells_run_at_the_same_time_with_the_results_of_one_after_the_other(
    two: LocalEngine, small: verax.Corpus
) -> None:
    jobs = [
        Job(cell(small, seed=seed, encoder="conv", epochs=15, patience=None)) for seed in (0, 1)
    ]
    alone = {job.cell.key: lasting(run(two, job, small)) for job in jobs}
    with forked_workers():
        for seed in (0, 1):  # both must be there: one that starts is late
            two.submit(Job(cell(small, seed=seed)), small)
    assert two.free == 0
    with pytest.raises(RuntimeError, match="no worker is free"):
        two.submit(jobs[0], small)
    settle(two, 2)
    assert len(two.pids) == 2
    for job in jobs:
        two.submit(job, small)
    events: list[Event] = []
    until = time.monotonic() + LIMIT
    while sum(isinstance(event, Finished) for event in events) < 2 and time.monotonic() < until:
        events += two.wait(1)
    done = next(n for n, event in enumerate(events) if isinstance(event, Finished))
    seen = {event.key for event in events[:done] if isinstance(event, Progressed)}
    assert seen == set(alone)  # each was at work before either was done
    assert {e.key: lasting(e) for e in events if isinstance(e, Finished)} == alone


@pytest.mark.slow
def test_stop_leaves_nothing_and_may_be_called_twice(one: LocalEngine, small: verax.Corpus) -> None:
    before = children() - set(one.pids)
    run(one, Job(cell(small)), small)
    one.submit(Job(cell(small, epochs=10_000)), small)
    one.submit(Job(cell(small, epochs=10_000, seed=1)), small)  # still starting
    assert len(children() - before) == 2
    started = time.monotonic()
    one.stop()
    assert time.monotonic() - started < 3
    assert children() <= before
    one.stop()
    assert (one.free, one.pids, one.wait(0)) == (0, [], [])


@pytest.mark.parametrize(
    ("hardware", "gpus", "with_mps", "workers", "words"),
    [
        ({}, 0, False, 4, "4 workers, 1 thread each, CPU"),
        ({"threads": 3}, 0, False, 1, "1 worker, 3 threads each, CPU"),
        ({"threads": 9}, 0, False, 1, "1 worker, 9 threads each, CPU"),
        ({"workers": 7}, 0, False, 7, "7 workers, 1 thread each, CPU"),
        ({}, 2, False, 2, "1 cell on each of 2 GPUs (NVIDIA H200)"),
        ({}, 1, True, 3, "3 cells on each of 1 GPU (NVIDIA H200), MPS on"),
        ({"cells_per_gpu": 5}, 2, True, 10, "5 cells on each of 2 GPUs (NVIDIA H200), MPS on"),
        ({"cells_per_gpu": 4}, 1, False, 4, "slower than one: start it with --mps"),
        ({"workers": 3}, 2, True, 3, "2 cells on each of 2 GPUs (NVIDIA H200), MPS on"),
        ({"workers": 1}, 2, False, 1, "1 cell on each of 1 GPU (NVIDIA H200)"),
        ({"workers": 9, "cells_per_gpu": 2}, 2, True, 4, "2 cells on each of 2 GPUs"),
    ],
)
def test_how_many_workers_and_what_is_said_of_them(
    hardware: dict[str, int],
    gpus: int,
    with_mps: bool,
    workers: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local, "cores", lambda: 4)
    monkeypatch.setattr(local, "gpus", lambda device: [f"cuda:{n}" for n in range(gpus)])
    monkeypatch.setattr(local, "gpu_name", lambda: "NVIDIA H200")
    monkeypatch.setattr(local.mps, "running", lambda: with_mps)
    engine = LocalEngine(Hardware(**hardware))  # type: ignore[arg-type]
    assert engine.workers == workers
    assert words in engine.describe()
    engine.stop()


def test_cells_are_spread_over_gpus(monkeypatch: pytest.MonkeyPatch, small: verax.Corpus) -> None:
    """No GPU is needed to see where workers are sent."""
    monkeypatch.setattr(local, "gpus", lambda device: ["cuda:0", "cuda:1"])
    monkeypatch.setattr(local.mps, "running", lambda: True)
    engine = LocalEngine(Hardware(cells_per_gpu=2))
    try:
        for seed in range(4):
            engine.submit(Job(cell(small, seed=seed)), small)
        devices = sorted(worker.device for worker in engine._busy)
        assert devices == ["cuda:0", "cuda:0", "cuda:1", "cuda:1"]
    finally:
        engine.stop()

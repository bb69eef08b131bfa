"""Workers and runners that are killed, at any moment: nothing hangs, nothing stays."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

import pytest
from commands import FORKS
from made_up_cells import cell
from running import LIMIT, children, exists, failed, lasting, run, settle, soon

import verax
from forked_workers import forked_workers
from support.internals import perform, worker
from verax.studies import LOST, Hardware, Job, LocalEngine, Progressed

HERE = Path(__file__).parent


@pytest.fixture
def engine() -> Iterator[LocalEngine]:
    before = children()
    engine = LocalEngine(Hardware(workers=1, device="cpu"))
    yield engine
    engine.stop()
    assert children() <= before


def at_work(engine: LocalEngine) -> None:
    """Wait until a cell says how far it got."""
    until = time.monotonic() + LIMIT
    while not any(isinstance(event, Progressed) for event in engine.wait(1)):
        assert time.monotonic() < until


@pytest.mark.slow
def test_a_worker_killed_at_any_moment_is_told_and_the_cell_can_be_run_again(
    engine: LocalEngine, small: verax.Corpus
) -> None:
    """But not by Ctrl-C: neither while it starts, when Python would die of it, nor at work."""
    job = Job(cell(small, encoder="conv", epochs=12, patience=None), weights=True)
    for number, working in ((signal.SIGKILL, False), (signal.SIGSEGV, True)):
        with forked_workers(started=not working):
            engine.submit(job, small)
        if working:
            at_work(engine)
        (pid,) = engine.pids
        os.kill(pid, number)
        outcome = failed(settle(engine)[0])
        assert (outcome.key, outcome.reason) == (job.cell.key, LOST)
        assert signal.Signals(number).name in outcome.error
        assert not exists(pid)
        assert engine.free == 1
    assert "Segmentation fault" in outcome.traceback  # a crash says where it was
    assert "performing.py" in outcome.traceback
    expected = lasting(perform(job, small, device="cpu"))
    with forked_workers():
        assert lasting(run(engine, job, small)) == expected
    (pid,) = engine.pids
    os.kill(pid, signal.SIGKILL)  # idle: that is nobody's loss
    assert soon(lambda: not engine.pids)

    engine.submit(job, small)
    (pid,) = engine.pids
    for _ in range(20):
        os.kill(pid, signal.SIGINT)
        time.sleep(0.02)
    at_work(engine)
    os.kill(pid, signal.SIGINT)
    assert lasting(settle(engine)[0]) == expected
    assert engine.pids == [pid]


@pytest.mark.parametrize(
    ("last", "how"),
    [
        ("os.write(fd, struct.pack('!i', 10**6) + b'x' * 100); os.kill(os.getpid(), 9)", "SIGKILL"),
        ("os.write(fd, b'\\0\\0'); os._exit(3)", "exit code 3"),
        ("sys.exit('no such module')", "exit code 1"),
    ],
    ids=["a message that breaks off", "a header that breaks off", "no message"],
)
def test_whatever_a_worker_had_sent_when_it_ended(
    last: str, how: str, engine: LocalEngine, small: verax.Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = f"import os, struct, sys; fd = int(sys.argv[1]); {last}"
    monkeypatch.setattr(worker, "CODE", code)
    outcome = failed(run(engine, Job(cell(small)), small))
    assert outcome.reason == LOST
    assert how in outcome.error
    assert ("no such module" in outcome.traceback) == ("no such module" in last)


def run_without_end(said: Connection) -> None:
    """A runner of a cell that waits to be killed."""
    corpus = verax.load_corpus("planted", documents=40)
    engine = LocalEngine(Hardware(workers=1, device="cpu"))
    with forked_workers():
        engine.submit(Job(cell(corpus, epochs=100_000)), corpus)
    at_work(engine)
    said.send(engine.pids)
    while True:
        engine.wait(600)


@pytest.mark.slow
def test_workers_do_not_outlive_a_runner_that_is_killed() -> None:
    heard, said = FORKS.Pipe(duplex=False)
    runner = FORKS.Process(target=run_without_end, args=(said,))
    runner.start()
    said.close()
    pids = heard.recv()
    assert len(pids) == 1
    assert all(map(exists, pids))
    runner.kill()
    runner.join()
    assert soon(lambda: not any(map(exists, pids)), 5)


FAILING = f"""
import sys
sys.path[:0] = [{str(HERE.parent)!r}, {str(HERE.parents[1])!r}]
import verax
from made_up_cells import cell
from verax.studies import Hardware, Job, LocalEngine

corpus = verax.load_corpus("planted", documents=40)
engine = LocalEngine(Hardware(workers=1, device="cpu"))
engine.submit(Job(cell(corpus, epochs=100_000)), corpus)
while not engine.wait(60):
    pass
print(*engine.pids, flush=True)
raise OSError("disk full")
"""
"""A runner of a cell, with no guard around what it does."""


@pytest.mark.slow
def test_a_runner_that_fails_leaves_nothing_behind() -> None:
    """Given on standard input: there is no file that a worker could run again."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-"],
        input=FAILING,
        capture_output=True,
        text=True,
        timeout=LIMIT,
    )
    assert done.returncode == 1
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 1
    assert not any(map(exists, pids))
    assert done.stderr.strip().splitlines()[-1] == "OSError: disk full"
    assert "resource_tracker" not in done.stderr


@pytest.mark.slow
def test_an_engine_that_is_forgotten_leaves_nothing_behind(small: verax.Corpus) -> None:
    before = children()
    engine = LocalEngine(Hardware(workers=1, device="cpu"))
    engine.submit(Job(cell(small)), small)
    assert len(children() - before) == 1
    del engine
    gc.collect()
    assert children() <= before


@pytest.mark.slow
def test_a_fork_that_ends_takes_no_worker_along(engine: LocalEngine, small: verax.Corpus) -> None:
    engine.submit(Job(cell(small)), small)
    ours = engine.pids
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # 3.12: threads and forks
        pid = os.fork()
    if pid == 0:
        try:
            engine.stop()
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    assert engine.pids == ours

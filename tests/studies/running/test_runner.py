"""The runner's rules: what is run, what is left alone, what is tried again."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from by_hand import study_of
from commands import stamps

from support.engines import EngineByHand, Fate, fine, lost
from support.errors import raises
from support.internals import Event, Runner, scratch
from support.internals import store_cells as cells
from verax.studies import DIVERGED, OUT_OF_MEMORY, Failed, Hardware, Job, Store, Study
from verax.studies.running import runner as running
from verax.studies.running.runner import TRIES
from verax.studies.running.watching import Ran, Watcher


class Notes(Watcher):
    def __init__(self) -> None:
        self.said: list[str] = []
        self.given_up: list[str] = []

    def says(self, note: str) -> None:
        self.said.append(note)

    def gives_up(self, key: str, why: str) -> None:
        self.given_up.append(key)


def run(
    study: Study, folder: Path, engine: EngineByHand, notes: Notes | None = None, **settings: Any
) -> Ran:
    store = Store.create(folder, study.name, study.text, study.resolved())
    runner = Runner(study, store, notes, **settings)
    return runner.run(engine, runner.pending())


@pytest.fixture(scope="module")
def study() -> Study:
    return study_of()


TRACEBACK = 'Traceback (most recent call last):\n  File "loop.py", line 3, in fit\nDiverged'


def failing(*seeds: int, reason: str = DIVERGED) -> Fate:
    def fate(job: Job, time: int) -> Event:
        if job.cell.seed in seeds:
            words = "the loss became nan"
            return Failed(job.cell.key, reason, words, TRACEBACK, code="training.diverged")
        return fine(job, time)

    return fate


def test_every_cell_is_run_once_and_never_again(study: Study, tmp_path: Path) -> None:
    engine = EngineByHand()
    ran = run(study, tmp_path / "s", engine)
    assert (ran.done, ran.kept, ran.left, ran.failed) == (4, 0, 0, {})
    assert set(engine.submitted.values()) == {1}
    assert engine.most == 2
    assert engine.stopped
    before = stamps(tmp_path / "s")
    again = EngineByHand()
    ran = run(study, tmp_path / "s", again)
    assert (ran.done, ran.kept) == (0, 4)
    assert not again.submitted
    assert stamps(tmp_path / "s") == before


def test_another_seed_runs_that_seed_alone(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path / "s", EngineByHand())
    before = stamps(tmp_path / "s")
    more = study_of(5)
    engine = EngineByHand()
    ran = run(more, tmp_path / "s", engine)
    assert (ran.done, ran.kept) == (1, 4)
    assert list(engine.submitted) == [more.cells[4].key]
    assert before.items() <= stamps(tmp_path / "s").items()


def test_failed_cells_do_not_stop_the_rest_and_wait_to_be_retried(
    study: Study, tmp_path: Path
) -> None:
    folder = tmp_path / "s"
    ran = run(study, folder, EngineByHand(fate=failing(1, 2)))
    assert (ran.done, len(ran.failed)) == (2, 2)
    record = Store.open(folder).failures()[study.cells[1].key]
    assert record["reason"] == DIVERGED
    assert record["traceback"] == TRACEBACK
    assert record["code"] == "training.diverged"
    assert Store.open(folder).resolved()["cells"][record["cell"]]["seed"] == 1
    left_alone = EngineByHand()
    ran = run(study, folder, left_alone)
    assert not left_alone.submitted
    assert (ran.kept, len(ran.failed)) == (2, 2)
    retried = EngineByHand(fate=failing(2))
    ran = run(study, folder, retried, retry_failed=True)
    assert set(retried.submitted) == {study.cells[1].key, study.cells[2].key}
    assert (ran.kept, ran.done, list(ran.failed)) == (2, 1, [study.cells[2].key])
    assert list(Store.open(folder).failures()) == [study.cells[2].key]


def test_a_lost_worker_is_worth_another_try(study: Study, tmp_path: Path) -> None:
    def fate(job: Job, time: int) -> Event:
        return lost(job, time) if job.cell.seed == 0 and time < TRIES else fine(job, time)

    engine, notes = EngineByHand(fate=fate), Notes()
    ran = run(study, tmp_path / "s", engine, notes)
    assert (ran.done, ran.failed) == (4, {})
    assert engine.submitted[study.cells[0].key] == TRIES
    assert notes.given_up == [study.cells[0].key] * (TRIES - 1)


def test_but_not_for_ever(study: Study, tmp_path: Path) -> None:
    engine = EngineByHand(fate=lambda job, time: (lost if job.cell.seed == 0 else fine)(job, time))
    ran = run(study, tmp_path / "s", engine)
    assert engine.submitted[study.cells[0].key] == TRIES
    assert ran.failed[study.cells[0].key]["tries"] == TRIES
    assert ran.done == 3


class Clock:
    """Seconds that pass with every job, and not otherwise."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(running, "time", found)
    return found


def test_no_cell_is_begun_after_the_budget_and_those_begun_are_kept(
    study: Study, tmp_path: Path, clock: Clock
) -> None:
    def fate(job: Job, time: int) -> Event:
        clock.now += 10
        return fine(job, time)

    engine = EngineByHand(workers=1, fate=fate)
    ran = run(study, tmp_path / "s", engine, budget=15)
    assert (ran.done, ran.left) == (2, 2)
    ran = run(study, tmp_path / "s", EngineByHand(), budget=15)
    assert (ran.kept, ran.done, ran.left) == (2, 2, 0)


def test_a_cell_lost_after_the_budget_is_left_not_failed(
    study: Study, tmp_path: Path, clock: Clock
) -> None:
    def fate(job: Job, time: int) -> Event:
        clock.now += 10
        return lost(job, time)

    ran = run(study, tmp_path / "s", EngineByHand(workers=1, fate=fate), budget=5)
    assert (ran.done, ran.failed, ran.left) == (0, {}, 4)
    assert Store.open(tmp_path / "s").failures() == {}


@pytest.mark.parametrize("name", ["table.parquet", "manifest.json"])
def test_a_truncated_file_is_noticed_named_and_its_cell_run_again(
    study: Study, tmp_path: Path, name: str
) -> None:
    folder = tmp_path / "s"
    run(study, folder, EngineByHand())
    hurt = study.cells[2].key
    path = folder / "cells" / hurt / name
    path.write_bytes(path.read_bytes()[:-3])
    before = {p: s for p, s in stamps(folder).items() if hurt not in p}
    engine, notes = EngineByHand(), Notes()
    ran = run(study, folder, engine, notes)
    assert list(engine.submitted) == [hurt]
    assert (ran.kept, ran.done) == (3, 1)
    assert any(hurt in note and name in note for note in notes.said)
    assert {p: s for p, s in stamps(folder).items() if hurt not in p} == before
    assert Store.open(folder).verify() == {}


def test_what_another_runner_has_is_waited_for(study: Study, tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "s"
    store = Store.create(folder, study.name, study.text, study.resolved())
    theirs, also_theirs = study.cells[0], study.cells[1]
    claims = [store.lock(c.key) for c in (theirs, also_theirs)]
    assert all(claims)
    slept: list[float] = []

    def sleep(seconds: float) -> None:
        slept.append(seconds)
        if len(slept) == 2:  # one is finished over there, the other runner is killed
            store.commit(theirs.key, theirs.to_json(), {"table.parquet": b"theirs"}, {})
            for claim in claims:
                assert claim is not None
                claim.release()

    clock.sleep = sleep  # type: ignore[method-assign]
    engine = EngineByHand()
    ran = run(study, folder, engine)
    assert theirs.key not in engine.submitted
    assert (ran.done, ran.others, ran.finished) == (3, 1, 4)
    assert (folder / "cells" / theirs.key / "table.parquet").read_bytes() == b"theirs"


def test_a_cell_that_failed_elsewhere_meanwhile_is_not_run(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    last = study.cells[3]

    def fate(job: Job, time: int) -> Event:
        if job.cell.seed == 0:
            Store.open(folder).fail(last.key, {"cell": last.key, "reason": "x", "error": "there"})
        return fine(job, time)

    engine = EngineByHand(workers=1, fate=fate)
    ran = run(study, folder, engine)
    assert last.key not in engine.submitted
    assert (ran.done, list(ran.failed)) == (3, [last.key])


def test_an_exception_leaves_no_claim_and_no_worker(study: Study, tmp_path: Path) -> None:
    def fate(job: Job, time: int) -> Event:
        raise KeyboardInterrupt

    engine = EngineByHand(fate=fate)
    with pytest.raises(KeyboardInterrupt):
        run(study, tmp_path / "s", engine)
    assert engine.stopped
    store = Store.open(tmp_path / "s")
    for cell in study.cells:
        claim = store.lock(cell.key)
        assert claim is not None
        claim.release()
    assert run(study, tmp_path / "s", EngineByHand()).done == 4


def test_memory_that_ran_out_unseen_is_answered_by_half_the_tokens_once(tmp_path: Path) -> None:
    study = study_of(1, hardware=Hardware(max_tokens=1000))
    given: list[int | None] = []

    def fate(job: Job, time: int) -> Event:
        given.append(job.max_tokens)
        return Failed(job.cell.key, OUT_OF_MEMORY, "killed for its memory")

    ran = run(study, tmp_path / "s", EngineByHand(fate=fate))
    assert given == [1000, 500]
    assert list(ran.failed) == [study.cells[0].key]


def test_but_not_if_the_cell_did_so_itself(study: Study, tmp_path: Path) -> None:
    def fate(job: Job, time: int) -> Event:
        return Failed(job.cell.key, OUT_OF_MEMORY, "and so with half", halved=True)

    engine = EngineByHand(fate=fate)
    assert len(run(study, tmp_path / "s", engine).failed) == 4
    assert set(engine.submitted.values()) == {1}


def test_cells_beside_the_study_are_counted(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path / "s", EngineByHand())
    ran = run(study_of(1), tmp_path / "s", EngineByHand())
    assert (ran.cells, ran.kept, ran.beside) == (1, 1, 3)


def test_weights_asked_for_too_late_are_mentioned(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path / "s", EngineByHand())
    notes = Notes()
    run(replace(study, weights=True), tmp_path / "s", EngineByHand(), notes)
    assert any("4 cells were done without weights" in note for note in notes.said)


def test_cells_of_another_version_are_mentioned(study: Study, tmp_path: Path) -> None:
    run(study, tmp_path / "s", EngineByHand())
    notes = Notes()
    run(study, tmp_path / "s", EngineByHand(), notes)
    assert any("0.0.made-up" in note and "4 cells" in note for note in notes.said)


def test_what_killed_runners_left_of_a_cell_is_removed(study: Study, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    store = Store.create(folder, study.name, study.text, study.resolved())
    theirs = folder / ".scratch" / "0123456789abcdef-of-a-runner-that-goes-on"
    keys = [*(cell.key for cell in study.cells[:2]), "fedcba9876543210"]  # and one of other seeds
    left = [folder / ".scratch" / f"{key}-half" for key in keys]
    for path in (theirs, *left):
        path.mkdir(parents=True)
        (path / "summary.parquet").write_bytes(b"half")
    half = folder / ".scratch" / ".verax-0123456789abcdef.part"
    half.write_bytes(b'{"name"')
    assert store.keys() == []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scratch, "YOUNG", 0)
        with store.lock("0123456789abcdef") or pytest.fail("it is locked"):
            run(study, folder, EngineByHand())
    assert list((folder / ".scratch").iterdir()) == [theirs]


def test_a_damaged_cell_that_another_runner_is_at_is_waited_for(
    study: Study, tmp_path: Path, clock: Clock
) -> None:
    folder = tmp_path / "s"
    run(study, folder, EngineByHand())
    hurt = study.cells[1]
    (folder / "cells" / hurt.key / "table.parquet").write_bytes(b"")
    store = Store.open(folder)
    claim = store.lock(hurt.key)
    assert claim is not None

    def sleep(seconds: float) -> None:
        store.commit(hurt.key, hurt.to_json(), {"table.parquet": b"theirs"}, {})
        claim.release()

    clock.sleep = sleep  # type: ignore[method-assign]
    engine, notes = EngineByHand(), Notes()
    ran = run(study, folder, engine, notes)
    assert (ran.kept, ran.others, ran.finished) == (3, 1, 4)
    assert not engine.submitted
    assert not any("damaged" in note for note in notes.said)


def test_a_finished_cell_that_cannot_be_stored_goes_elsewhere(
    study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error says where; moved to its place, it is as if it had been stored."""
    (tmp_path / "room").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "room"))
    write_and_sync, folder = cells.write_and_sync, tmp_path / "s"

    def full(path: Path, data: bytes) -> None:
        if folder in path.parents:
            raise OSError(28, "No space left on device")
        write_and_sync(path, data)

    with monkeypatch.context() as patch:
        patch.setattr(cells, "write_and_sync", full)
        with raises("output.not-writable") as e:
            run(study, folder, EngineByHand())
    assert list((folder / "cells").iterdir()) == []
    place = Path(str(e.value).partition("is in ")[2].partition(":")[0])
    place.rename(folder / "cells" / place.name)
    ran = run(study, folder, engine := EngineByHand())
    assert (ran.kept, ran.done) == (1, 3)
    assert place.name not in engine.submitted

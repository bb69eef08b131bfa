"""Several studies on one engine: each as if it were alone, and no waiting for the last cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from by_hand import study_of

import verax
from support.engines import EngineByHand, fine, lost
from support.errors import raises
from support.internals import Event, perform
from support.internals import running_run as running
from verax.corpora import Corpus
from verax.studies import Failed, Hardware, Job, Store, Study, read_study
from verax.studies.grid import expand as reading
from verax.studies.running import runner
from verax.studies.running.run import run, run_several
from verax.studies.running.watching import Watcher

PLANTED = {"planted": {"documents": 60, "length": 12}}
BOTH = {"corpora": PLANTED, "training": {"epochs": 1}, "exams": ["replacement"]}


def tables(folder: Path) -> dict[str, bytes]:
    """Every table of every cell."""
    files = folder.glob("cells/*/*.parquet")
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def done(folder: Path) -> set[str]:
    return set(Store.open(folder).keys())


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[EngineByHand]:
    """Engines that were made, the last one last."""
    made: list[EngineByHand] = []

    def make(hardware: Hardware) -> EngineByHand:
        made.append(EngineByHand(workers=hardware.workers or 2))
        return made[-1]

    monkeypatch.setattr(running, "make_engine", make)
    return made


class Performing(EngineByHand):
    """Really runs a cell, in this process, when it is waited for."""

    def submit(self, job: Job, corpus: verax.Corpus) -> None:
        super().submit(job, corpus)
        self.corpus = corpus

    def wait(self, timeout: float) -> list[Event]:
        return [perform(self.jobs.pop(0), self.corpus, device="cpu")]


@pytest.mark.slow
def test_results_are_those_of_each_study_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "make_engine", lambda hardware: Performing(workers=2))
    models = {"encoder": "none", "hidden_size": 8, "embedding_size": 8}
    given: list[dict[str, Any]] = [
        {**BOTH, "name": "one", "models": {**models, "projection": ["softmax", "sparsemax"]}},
        {**BOTH, "name": "two", "models": models, "seeds": [0, 1]},
    ]
    loaded: dict[str, Corpus] = {}
    studies = [read_study(each, loaded=loaded) for each in given]
    together = run_several([(study, tmp_path / study.name) for study in studies])
    assert [(ran.cells, ran.done, ran.failed) for ran in together] == [(2, 2, {})] * 2
    for study in studies:
        run(study, tmp_path / f"{study.name}-alone")
        found = tables(tmp_path / study.name)
        assert len(found) >= 2 * 3
        assert found == tables(tmp_path / f"{study.name}-alone")
    shared = done(tmp_path / "one") & done(tmp_path / "two")
    assert len(shared) == 1  # softmax, seed 0


def test_a_shared_cell_is_run_into_both_and_never_twice_at_once(
    engines: list[EngineByHand], tmp_path: Path
) -> None:
    few, many = study_of(2, name="few"), study_of(3, name="many")
    at_once: list[list[str]] = []

    class Starts(Watcher):
        def starts(self, key: str) -> None:
            at_once.append([job.cell.key for job in engines[0].jobs] + [key])

    ran = run_several([(few, tmp_path / "few"), (many, tmp_path / "many")], watcher=Starts())
    assert [(one.cells, one.done) for one in ran] == [(2, 2), (3, 3)]
    assert done(tmp_path / "few") == {cell.key for cell in few.cells}
    assert done(tmp_path / "many") == {cell.key for cell in many.cells}
    assert all(len(set(keys)) == len(keys) for keys in at_once)
    (engine,) = engines
    assert [engine.submitted[cell.key] for cell in many.cells] == [2, 2, 1]
    assert engine.most == 2
    assert engine.stopped


def test_workers_are_shared_by_the_costliest_cells_of_all(
    engines: list[EngineByHand], tmp_path: Path
) -> None:
    two = read_study({**BOTH, "name": "two", "models": {"encoder": ["none", "transformer"]}})
    one = read_study({**BOTH, "name": "one", "models": {"encoder": ["conv"]}})
    two = replace(two, hardware=Hardware(workers=1))
    run_several([(two, tmp_path / "two"), (one, tmp_path / "one")])
    encoders = {cell.key: cell.model["encoder"] for s in (one, two) for cell in s.cells}
    assert [encoders[key] for key in engines[0].submitted] == ["transformer", "conv", "none"]
    assert engines[0].most == 1  # where they run is what the first says


class Clock:
    """Seconds that pass with every job, and not otherwise."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def test_no_cell_of_any_study_is_begun_after_the_budget(
    engines: list[EngineByHand], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(runner, "time", clock)

    def fate(job: Job, time: int) -> Event:
        clock.now += 10
        return fine(job, time)

    one, two = study_of(3, name="one"), others(study_of(3, name="two"))
    hardware = Hardware(workers=1)
    one = replace(one, hardware=hardware)

    def make(hardware: Hardware) -> EngineByHand:
        engines.append(EngineByHand(workers=1, fate=fate))
        return engines[-1]

    monkeypatch.setattr(running, "make_engine", make)
    pairs = [(one, tmp_path / "one"), (two, tmp_path / "two")]
    ran = run_several(pairs, budget=35)
    assert sum(each.done for each in ran) == 4
    assert sum(each.left for each in ran) == 2
    assert all(each.done + each.left == 3 for each in ran)
    assert not list(tmp_path.glob("*/cells/*lock*"))
    rest = run_several(pairs)
    assert [each.finished for each in rest] == [3, 3]
    assert sum(each.kept for each in rest) == 4


def others(study: Study) -> Study:
    """The study with other seeds, so that it shares no cell."""
    cells = tuple(replace(cell, seed=cell.seed + 100) for cell in study.cells)
    return replace(study, cells=cells, labels={cell.key: str(cell.seed) for cell in cells})


def test_what_fails_or_is_lost_is_told_to_its_own_study(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fate(job: Job, time: int) -> Event:
        if job.cell.seed == 0:
            return Failed(job.cell.key, "diverged", "the loss became nan")
        if job.cell.seed == 101 and time == 1:
            return lost(job, time)
        return fine(job, time)

    engine = EngineByHand(fate=fate)
    monkeypatch.setattr(running, "make_engine", lambda hardware: engine)
    one, two = study_of(2, name="one"), others(study_of(2, name="two"))
    first, second = run_several([(one, tmp_path / "one"), (two, tmp_path / "two")])
    assert (first.done, list(first.failed)) == (1, [one.cells[0].key])
    assert (second.done, second.failed) == (2, {})
    assert engine.submitted[two.cells[1].key] == 2
    assert not Store.open(tmp_path / "two").failures()


def test_what_is_there_is_told_for_all_and_no_engine_is_made(
    engines: list[EngineByHand], tmp_path: Path
) -> None:
    told: list[tuple[Any, ...]] = []

    class Begins(Watcher):
        def begins(self, *given: Any) -> None:
            told.append(given)

    pairs = [(study_of(2, name="one"), tmp_path / "one"), (study_of(3), tmp_path / "two")]
    run_several(pairs[:1], watcher=Begins())
    run_several(pairs, watcher=Begins())
    ran = run_several(pairs, watcher=Begins())
    assert told == [("by hand", 2, 0, 0), ("by hand", 5, 2, 0), ("nothing to run", 5, 5, 0)]
    assert [(one.kept, one.done) for one in ran] == [(2, 0), (3, 0)]
    assert len(engines) == 2


def test_studies_read_a_corpus_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Mapping[str, Any]] = []

    def load(name: str, **options: Any) -> Corpus:
        read.append(options)
        return verax.load_corpus(name, **options)

    monkeypatch.setattr(reading, "load_corpus", load)
    loaded: dict[str, Corpus] = {}
    other = {"planted": {"documents": 61, "length": 12}}
    studies = [
        read_study({**BOTH, "corpora": corpora}, loaded=loaded)
        for corpora in (PLANTED, PLANTED, other, [PLANTED, other])
    ]
    assert [options["documents"] for options in read] == [60, 61]
    assert len(loaded) == 2
    assert studies[0].cells == studies[1].cells == read_study(BOTH).cells
    assert studies[3].cells == studies[0].cells + studies[2].cells
    (first,), (second,) = (study.corpora.values() for study in studies[:2])
    assert first is second


def test_a_corpus_that_cannot_be_read_is_tried_again() -> None:
    loaded: dict[str, Corpus] = {}
    for _ in range(2):
        with raises("corpus.unknown"):
            read_study({**BOTH, "corpora": [PLANTED, "no-such-corpus"]}, loaded=loaded)
    assert len(loaded) == 1


class Noting(EngineByHand):
    """Keeps the seeds of cells in the order they were begun."""

    def __init__(self) -> None:
        super().__init__(workers=1)
        self.seeds: list[int] = []

    def submit(self, job: Job, corpus: Corpus) -> None:
        self.seeds.append(job.cell.seed)
        super().submit(job, corpus)


def test_cells_may_become_known_as_others_end(tmp_path: Path) -> None:
    """Seeds 4 and 5 are known once 0 and 1 are done, and go before 2 and 3, which wait."""
    whole = study_of(6)
    first, second = (
        runner.Runner(
            replace(whole, name=f"part-{n}", cells=cells),
            Store.create(tmp_path / str(n), f"part-{n}", "", {}, None),
        )
        for n, cells in enumerate((whole.cells[:4], whole.cells[4:]))
    )
    engine, added = Noting(), []

    def revise(waiting: runner.Waiting) -> runner.Waiting:
        if first.ran.done < 2 or added:
            return waiting
        added.extend((second, cell) for cell in second.pending())
        return [*added, *waiting]

    runner.run_all(engine, [(first, cell) for cell in first.pending()], revise)
    assert engine.seeds == [0, 1, 4, 5, 2, 3]
    assert (first.ran.done, second.ran.done) == (4, 2)

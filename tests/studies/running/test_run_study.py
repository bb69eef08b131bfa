"""`run_study`: what it takes, in which order cells are begun, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from by_hand import study_of

import verax
from support.engines import EngineByHand
from support.errors import raises
from support.internals import Event
from support.internals import running_run as running
from verax.studies import Hardware, Job, read_study
from verax.studies.running.run import (
    refuse_hardware,
    run,
    with_hardware,
)

SMALL = {"corpora": {"planted": {"documents": 60}}, "exams": ["single_token"]}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> EngineByHand:
    made = EngineByHand(workers=1)
    monkeypatch.setattr(running, "make_engine", lambda hardware: made)
    return made


def test_hints_that_are_given_go_over_those_of_the_study() -> None:
    study = study_of(1, hardware=Hardware(workers=3, threads=2, device="cpu"))
    assert with_hardware(study, {}).hardware == study.hardware
    changed = with_hardware(study, {"workers": 1, "max_tokens": 50}).hardware
    assert changed == Hardware(workers=1, threads=2, device="cpu", max_tokens=50)
    with raises("option.out-of-range", "workers"):
        with_hardware(study, {"workers": 0})
    with raises("option.unknown", "workers"):
        with_hardware(study, {"worker": 1})


def test_jobs_are_told_what_is_kept_and_how_much_is_held(
    engine: EngineByHand, tmp_path: Path
) -> None:
    jobs: list[Job] = []
    fate = engine.fate

    def seen(job: Job, time: int) -> Event:
        jobs.append(job)
        return fate(job, time)

    engine.fate = seen
    study = study_of(2, weights=True, hardware=Hardware(max_tokens=70))
    run(study, tmp_path / "s")
    assert [(job.weights, job.max_tokens) for job in jobs] == [(True, 70)] * 2
    assert engine.stopped


def test_the_costliest_cells_are_begun_first(engine: EngineByHand, tmp_path: Path) -> None:
    models = {"encoder": ["none", "transformer", "conv"]}
    study = read_study({**SMALL, "models": models})
    run(study, tmp_path / "s")
    encoders = {cell.key: cell.model["encoder"] for cell in study.cells}
    assert [encoders[key] for key in engine.submitted] == ["transformer", "conv", "none"]


def test_under_a_budget_each_model_has_its_first_seed_before_any_has_its_second(
    engine: EngineByHand, tmp_path: Path
) -> None:
    models = {"encoder": ["none", "transformer"]}
    study = read_study({**SMALL, "models": models, "seeds": [7, 3]})
    cells = {cell.key: (cell.model["encoder"], cell.seed) for cell in study.cells}
    run(study, tmp_path / "free")
    free = [cells[key] for key in engine.submitted]
    assert free == [("transformer", 7), ("transformer", 3), ("none", 7), ("none", 3)]
    engine.submitted.clear()
    run(study, tmp_path / "bounded", budget=1000.0)
    bounded = [cells[key] for key in engine.submitted]
    assert bounded == [("transformer", 7), ("none", 7), ("transformer", 3), ("none", 3)]


def test_nothing_is_started_where_nothing_is_left(
    engine: EngineByHand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_of(2)
    assert run(study, tmp_path / "s").done == 2

    def never(hardware: Hardware) -> Any:
        raise AssertionError("an engine was made")

    monkeypatch.setattr(running, "make_engine", never)
    ran = run(study, tmp_path / "s")
    assert (ran.kept, ran.done, ran.finished) == (2, 0, 2)


def test_the_engine_is_stopped_whatever_happens(engine: EngineByHand, tmp_path: Path) -> None:
    def fate(job: Job, time: int) -> Event:
        raise OSError("the disk is gone")

    engine.fate = fate
    with pytest.raises(OSError, match="the disk"):
        run(study_of(1), tmp_path / "s")
    assert engine.stopped


@pytest.mark.parametrize("budget", [0, -1, "soon"])
def test_a_budget_is_a_time(budget: Any, tmp_path: Path) -> None:
    with raises("option.*", "budget"):
        run(study_of(1), tmp_path / "s", budget=budget)
    assert not (tmp_path / "s").exists()


def test_a_study_that_was_read_takes_no_other_seeds(tmp_path: Path) -> None:
    study = study_of(1)
    others: list[dict[str, Any]] = [
        {"seeds": [1]},
        {"exams": ["single_token"]},
        {"corpora": ["planted"]},
        {"changed": {}},
    ]
    for given in others:
        with raises("option.conflict"):
            verax.run_study(study, tmp_path / "s", **given)
    assert not (tmp_path / "s").exists()


def test_an_address_is_for_ray() -> None:
    with raises("option.conflict", "address"):
        refuse_hardware(Hardware(address="10.0.0.1:6379"))

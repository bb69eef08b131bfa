"""`run_studies` and a stored cell trained again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from by_hand import study_of

import verax
from support.engines import EngineByHand
from support.errors import raises
from support.internals import Event
from support.internals import running_run as running
from verax.studies import Job

STUDY = {
    "corpora": {"planted": {"documents": 60}},
    "models": {"encoder": "none"},
    "training": {"epochs": 1},
    "exams": ["replacement"],
    "seeds": [3],
}


def test_cells_start_in_the_given_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    engine = EngineByHand(workers=1)
    started: list[int] = []
    fate = engine.fate

    def seen(job: Job, time: int) -> Event:
        started.append(job.cell.seed)
        return fate(job, time)

    engine.fate = seen
    monkeypatch.setattr(running, "make_engine", lambda hardware: engine)
    every = study_of(5)
    one, other = (replace(every, cells=every.cells[part::2]) for part in (0, 1))
    results = verax.run_studies(
        [(one, tmp_path / "one"), (other, tmp_path / "other")],
        order=lambda study, cell: -cell.seed,
    )
    assert [study.counts for study in results] == [{"done": 3}, {"done": 2}]
    assert started == [4, 3, 2, 1, 0]


@pytest.mark.slow
def test_a_stored_cell_comes_out_equal(tmp_path: Path) -> None:
    (results,) = verax.run_studies([(STUDY, tmp_path / "s")], workers=1, device="cpu")
    (key,) = results.done
    cell = results.cell(key)
    assert cell.key == key
    tables, facts = cell.run(device="cpu")
    stored = results.summary_of(key)
    numbers = ["value", "low", "high", "n"]
    pd.testing.assert_frame_equal(tables["summary"][numbers], stored[numbers])
    assert facts["test"] == results.facts(key)["test"]
    changed = replace(cell, fingerprint="another")
    with raises("corpus.changed", "planted"):
        changed.run(device="cpu")


def test_hardware_is_checked_before_anything_is_written(tmp_path: Path) -> None:
    with raises("option.out-of-range", "workers"):
        verax.run_studies([(STUDY, tmp_path / "s")], workers=0)
    assert not (tmp_path / "s").exists()

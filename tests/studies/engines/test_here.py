"""The engine of this process: one cell at a time, what `perform` gives, and interruptions."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_cells import cell
from running import finished, lasting

import verax
from support.errors import raises
from support.internals import CELL_TRAIN, perform
from verax.studies import Finished, HereEngine, Job, Progressed


@pytest.mark.slow
def test_a_cell_is_run_when_it_is_waited_for(small: verax.Corpus) -> None:
    job = Job(cell(small))
    told: list[Progressed] = []
    engine = HereEngine("cpu", told.append)
    assert (engine.free, engine.workers, engine.wait(0)) == (1, 1, [])
    engine.submit(job, small)
    assert engine.free == 0
    with pytest.raises(RuntimeError, match="not run yet"):
        engine.submit(job, small)
    (event,) = engine.wait(0)
    assert isinstance(event, Finished)
    assert lasting(event) == lasting(finished(perform(job, small, device="cpu")))
    assert engine.free == 1
    assert told[-1].what == "writing"
    assert "cpu" in engine.describe()


def test_an_interruption_is_passed_on_and_leaves_room(
    small: verax.Corpus, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    engine = HereEngine("cpu")
    engine.submit(Job(cell(small)), small)
    monkeypatch.setattr(CELL_TRAIN, stopped)
    with pytest.raises(KeyboardInterrupt):
        engine.wait(0)
    assert engine.free == 1
    engine.submit(Job(cell(small)), small)
    engine.stop()
    engine.stop()
    assert engine.wait(0) == []


def test_a_device_that_is_not_there_is_told() -> None:
    with raises("device.unknown", "gpu"):
        HereEngine("gpu")

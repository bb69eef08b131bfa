"""`run_study` shows how far it got where somebody can see it."""

from __future__ import annotations

from pathlib import Path

import pytest
from by_hand import study_of

import verax
from support.engines import EngineByHand
from support.internals import running_run as running


def test_bars_by_default_where_somebody_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    study = study_of(2)
    monkeypatch.setattr(running, "make_engine", lambda hardware: EngineByHand(workers=1))
    monkeypatch.setenv("VERAX_PROGRESS", "1")
    verax.run_study(study, tmp_path / "watched")
    told = capsys.readouterr().err
    assert "2 cells" in told
    for label in study.labels.values():
        assert label in told
    verax.run_study(study, tmp_path / "quiet", progress=False)
    monkeypatch.setenv("VERAX_PROGRESS", "0")
    verax.run_study(study, tmp_path / "off")
    assert capsys.readouterr() == ("", "")

"""`verax examine --full` prints the interval of each number beside it."""

from __future__ import annotations

import math

import pytest

from made_up_summaries import cell, verdict
from verax.cli.examine import show_tables


def test_intervals_stand_beside_their_numbers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    place = ("replacement", "replacement", "uniform")
    show_tables(
        verdict(
            cell(*place, "survival", 64.0, 57.25, 70.75, "percent"),
            cell(*place, "f1", 61.0, unit="percent"),
            cell(*place, "delta_f1", -3.0, -8.0, 2.0, "points"),
            cell(*place, "tvd", 0.0123, 0.0101, 0.0147),
            cell("replacement", "replacement.documents", "documents", "value", 50, unit="count"),
            cell(*place, "entropy", math.nan),
        )
    )
    printed = capsys.readouterr().out
    for text in ("64.0% [57.2, 70.8]", " 61.0% ", "-3.0 [-8.0, +2.0]", "0.012 [0.01, 0.015]", "–"):
        assert text in printed
    assert "brackets hold 95% intervals" in printed

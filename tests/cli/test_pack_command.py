"""`verax pack`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

from verax.cli import main
from verax.studies import Cell, Store, open_study


@pytest.fixture
def study(alone: None) -> str:
    """A store of one finished cell and one that waits."""
    done, waits = (
        Cell({"corpus": "sst"}, "f", {"encoder": "none"}, {"lr": 0.1}, seed, {"single_token": {}})
        for seed in (0, 1)
    )
    listed = {cell.key: cell.to_json() for cell in (done, waits)}
    store = Store.create("study", "tiny [bold]", "", {"name": "tiny [bold]", "cells": listed})
    files = {"verdict.json": json.dumps({"tables": ["single_token"]}).encode()}
    for name in ("summary", "single_token"):
        pd.DataFrame({"cell": [done.key], "value": [0.5]}).to_parquet(f"{name}.parquet")
        files[f"{name}.parquet"] = Path(f"{name}.parquet").read_bytes()
    store.commit(done.key, done.to_json(), files, {"device": "cpu"})
    return "study"


def test_a_study_is_packed(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", study, "--out", "packed"]) == 0
    out = capsys.readouterr().out
    assert [line.split()[0] for line in out.splitlines()[1:4]] == [
        "cells.parquet",
        "single_token.parquet",
        "summary.parquet",
    ]
    assert "packed tiny [bold]: 2 cells (1 done, 1 missing), in packed" in out
    assert open_study("packed").table("single_token")["value"].tolist() == [0.5]


def test_cells_that_ran_with_uncommitted_changes_are_refused(
    study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store = Store.open(study)
    changed = Cell(
        {"corpus": "sst"}, "f", {"encoder": "none"}, {"lr": 0.1}, 1, {"single_token": {}}
    )
    store.commit(changed.key, changed.to_json(), {}, {"commit": f"{'a' * 40}-dirty"})
    words = ["pack", study, "--out", "packed"]
    refusal(capsys, words, "study.uncommitted", changed.key)
    assert not Path("packed").exists()


def test_some_tables_are_packed(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["pack", study, "--out", "packed", "--tables", "summary, "]) == 0
    assert "without single_token" in capsys.readouterr().out
    assert sorted(path.name for path in Path("packed").iterdir()) == [
        "cells.parquet",
        "summary.parquet",
    ]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["pack", "study"], ("command.usage", "--out")),
        (["pack", "nowhere", "--out", "a"], ("result.missing",)),
        (["pack", "study", "--out", "study"], ("output.occupied",)),
        (["pack", "study", "--out", "a", "--tables", "sumary"], ("result.unknown-name", "summary")),
        (["pack", "study", "--out", "a", "--tables", ","], ("option.empty",)),
        (["pack", "nowhere://x", "--out", "a"], ("option.unknown-value",)),
    ],
)
def test_bad_input_is_told_in_a_line(
    arguments: list[str], expected: tuple[str, ...], study: str, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, arguments, *expected)
    assert not Path("a").exists()


@pytest.mark.slow
def test_models_are_packed_when_asked_for(study: str, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store.open(study)
    (waits,) = set(store.resolved()["cells"]) - set(store.keys())
    config = store.resolved()["cells"][waits]
    store.commit(waits, config, {"model/model.safetensors": b"weights"}, {"device": "cpu"})
    assert main(["pack", study, "--out", "without"]) == 0
    assert "without model" in capsys.readouterr().out
    assert not Path("without/files.parquet").exists()
    assert main(["pack", study, "--out", "packed", "--weights"]) == 0
    Path("again").mkdir()
    Path("packed").rename("again/packed")
    assert Store.open("again").read(waits, "model/model.safetensors") == b"weights"

"""Means over seeds of stored numbers, and studies opened from several folders."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from made_up_store import made_up_cell, made_up_store
from scipy import stats

from support.errors import raises
from verax.studies import StudyResults, open_study, pack

NUMBER = "single_made.é.value"
"""A cell's value is half more than its seed."""
SOFTMAX = [made_up_cell(seed=seed) for seed in (0, 1, 4)]
SPARSE = [made_up_cell(seed=seed, projection="sparsegen", lam=0.5) for seed in (0, 1)]


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    """A store and a pack, which share a cell; one cell of the store is done in the pack alone."""
    one, other = tmp_path / "one", tmp_path / "other"
    made_up_store(one, SOFTMAX[:2], [SOFTMAX[2]])
    made_up_store(other, [*SOFTMAX[1:], *SPARSE], name="other")
    pack(other, tmp_path / "packed")
    return one, tmp_path / "packed"


@pytest.fixture
def found(folders: tuple[Path, Path]) -> StudyResults:
    return open_study(*folders)


def test_folders_are_one_study(found: StudyResults, folders: tuple[Path, Path]) -> None:
    assert found.name == "made up, other"
    assert found.counts == {"done": 5}
    assert found.done == [cell.key for cell in (*SOFTMAX, *SPARSE)]
    assert found.cells["seed"].tolist() == [0, 1, 4, 0, 1]
    both = pd.concat([open_study(folder).table("history", []) for folder in folders])
    both = both.astype({"cell": str}).drop_duplicates()
    assert len(found.table("history")) == 5 * 3 == len(both)
    for cell in (*SOFTMAX, *SPARSE):
        assert found.cell(cell.key).key == cell.key
        assert found.manifest(cell.key)["exams"] == ["single_made"]
    assert open_study(folders[0]).counts == {"done": 2, "missing": 1}


def test_numbers_are_means_over_seeds(found: StudyResults) -> None:
    softmax, sparse = found.numbers(NUMBER, by="projection").values()
    assert softmax.values == (0.5, 1.5, 4.5)
    assert softmax.cells == tuple(cell.key for cell in SOFTMAX)
    assert sparse.values == (0.5, 1.5)
    assert (softmax.value, softmax.seeds, softmax.n) == (pytest.approx(6.5 / 3), 3, 3)
    oracle = stats.t.interval(0.95, 2, 6.5 / 3, stats.sem(softmax.values))
    assert (softmax.low, softmax.high) == pytest.approx(oracle)


def test_groups_are_configurations_by_default(found: StudyResults) -> None:
    assert list(found.numbers(NUMBER)) == [("softmax", None), ("sparsegen", 0.5)]
    assert list(found.numbers(NUMBER, projection="softmax")) == [()]
    assert list(found.numbers(NUMBER, by=["corpus", "projection"], lam=0.5)) == [
        ("sst", "sparsegen")
    ]
    (one,) = found.numbers(NUMBER, seed=4).values()
    assert (one.value, one.over, math.isnan(one.sd)) == (4.5, "none", True)


def test_numbers_that_cannot_be_had_are_errors(found: StudyResults) -> None:
    with raises("result.unknown-name", "single_made.é.value"):
        found.numbers("single_made.e.value")
    with raises("result.unknown-name", "projection"):
        found.numbers(NUMBER, by="projektion")
    with raises("result.unknown-name", "encoder"):
        found.numbers(NUMBER, encodr="none")
    with raises("result.incomparable", "projection"):
        found.numbers(NUMBER, by=[])

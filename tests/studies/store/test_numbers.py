"""Means over seeds of stored numbers, and studies opened from several folders."""

from __future__ import annotations

import math
from pathlib import Path

import pandas as pd
import pytest
from made_up_store import FACTS, files_of, made_up_cell, made_up_store, made_up_tables
from scipy import stats

from support.errors import raises
from support.internals import numbers_over_seeds
from verax.exams.authoring import number_cell, summary_frame
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


def test_numbers_and_judgements_have_the_same_intervals(tmp_path: Path) -> None:
    """Seeds that differ, with an end beyond what the number can be, and seeds that agree."""
    cells, store = SOFTMAX, made_up_store(tmp_path, [], SOFTMAX)
    for cell, differing in zip(cells, (99.0, 80.0, 60.0), strict=True):
        rows = [
            number_cell("replacement", "uniform", "accuracy", (differing, 50.0, 99.5), 40),
            number_cell("replacement", "uniform", "survived", (70.0, 60.0 + cell.seed, 80.0), 40),
        ]
        tables = {**made_up_tables(cell.seed), "summary": summary_frame("replacement", rows)}
        store.commit(cell.key, cell.to_json(), files_of(cell, tables), FACTS)
    found = open_study(tmp_path)
    frame = numbers_over_seeds(found.summary(), "corpus").set_index("measure")
    expected = {"accuracy": ("seeds", None, 100.0), "survived": ("documents", 60.0, 80.0)}
    for column, (over, low, high) in expected.items():
        id = f"replacement.uniform.{column}"
        (number,) = found.numbers(id).values()
        row = frame.loc[id]
        ends = ["value", "low", "high", "over"]
        assert row[ends].tolist() == [getattr(number, name) for name in ends]
        assert (number.over, number.high) == (over, high)
        assert low is None or number.low == low


def test_numbers_that_cannot_be_had_are_errors(found: StudyResults) -> None:
    with raises("result.unknown-name", "single_made.é.value"):
        found.numbers("single_made.e.value")
    with raises("result.unknown-name", "projection"):
        found.numbers(NUMBER, by="projektion")
    with raises("result.unknown-name", "encoder"):
        found.numbers(NUMBER, encodr="none")
    with raises("result.incomparable", "projection"):
        found.numbers(NUMBER, by=[])

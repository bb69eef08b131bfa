"""`open_study`: tables over all cells, the same from a store and from a packed study."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from made_up_store import FACTS, PLACES, files_of, made_up_cell, made_up_store, made_up_tables

from support.errors import raises
from verax.studies import Store, StudyResults, open_study, pack

PLAIN = made_up_cell(seed=0)
SECOND = made_up_cell(seed=1)
SPARSE = made_up_cell(seed=0, projection="sparsegen", lam=0.5)
FAILS = made_up_cell(seed=1, projection="sparsegen", lam=0.5)
WAITS = made_up_cell(seed=2)
RECORD = {"cell": FAILS.key, "reason": "diverged", "error": "loss is\nnan", "attempts": 1}

Opening = Callable[[Path], StudyResults]


def make(folder: Path) -> Store:
    store = made_up_store(folder, [PLAIN, SECOND, SPARSE], [FAILS, WAITS])
    store.fail(FAILS.key, RECORD)
    return store


@pytest.fixture(params=["store", "packed"])
def found(request: pytest.FixtureRequest, tmp_path: Path) -> StudyResults:
    make(tmp_path / "study")
    if request.param == "store":
        return open_study(tmp_path / "study")
    pack(tmp_path / "study", tmp_path / "packed")
    return open_study(tmp_path / "packed")


def test_every_cell_of_the_study_is_a_row(found: StudyResults) -> None:
    cells = found.cells.set_index("cell")
    assert list(cells.index) == [c.key for c in (PLAIN, SECOND, SPARSE, FAILS, WAITS)]
    assert cells["status"].tolist() == ["done", "done", "done", "failed", "missing"]
    assert cells["seed"].tolist() == [0, 1, 0, 1, 2]
    assert cells["lam"].isna().tolist() == [True, True, False, False, True]
    assert cells["seconds"].tolist()[:3] == [2.0, 2.0, 2.0]
    assert cells.loc[PLAIN.key, ["verax", "device", "test_accuracy"]].tolist() == [
        "0.1",
        "cpu",
        0.75,
    ]
    assert cells["error"].dropna().to_dict() == {FAILS.key: "diverged: loss is nan"}
    assert (found.name, found.question, found.format) == ("made up", "why?", 3)
    assert repr(found) == "StudyResults(made up: 3 done, 1 failed, 1 missing)"


def test_failures_are_told_with_what_varies(found: StudyResults) -> None:
    row = found.failures.iloc[0]
    assert row[["cell", "corpus", "seed", "projection", "lam"]].tolist() == [
        *(FAILS.key, "sst", 1, "sparsegen", 0.5)
    ]
    assert row[["reason", "error", "attempts"]].tolist() == ["diverged", "loss is\nnan", 1]


def test_tables_have_the_configuration_that_varies(found: StudyResults) -> None:
    assert found.tables == ["erasure_made", "history", "single_made", "summary"]
    single_made = found.table("single_made")
    added = ["cell", "corpus", "seed", "projection", "lam"]
    assert list(single_made) == [*added, "id", "measure", "value"]
    assert single_made["cell"].tolist() == [
        c.key for c in (PLAIN, SECOND, SPARSE) for _ in range(3)
    ]
    assert single_made["projection"].tolist() == [*["softmax"] * 6, *["sparsegen"] * 3]
    assert single_made["value"].fillna(-1).tolist() == [0, -1, 0.25, 1, -1, 0.25, 0, -1, 0.25]
    assert single_made["lam"].isna().sum() == 6
    for name in ("cell", "corpus", "projection", "measure"):
        assert isinstance(single_made[name].dtype, pd.CategoricalDtype)
    assert single_made.query("seed > 0")["cell"].nunique() == 1
    assert found.summary()["value"].tolist() == [0.5, 1.5, 0.5]
    assert found.summary()["row"].tolist() == ["é"] * 3


def test_any_configuration_can_be_a_column(found: StudyResults) -> None:
    assert list(found.table("single_made", ["encoder"]))[:2] == ["cell", "encoder"]
    assert list(found.table("single_made", "epochs"))[:2] == ["cell", "epochs"]
    everything = found.table("history", "all")
    assert everything["lr"].tolist() == [0.01, 0.01, 0.005] * 3  # an epoch's own
    assert everything["cell_lr"].tolist() == [0.01] * 9
    assert everything["fingerprint"].tolist() == ["print of sst"] * 9
    with raises("result.unknown-name", "encodr", "encoder"):
        found.table("single_made", ["encodr"])
    with raises("result.unknown-name", "single_tokn", "single_made"):
        found.table("single_tokn")


def test_verdicts_come_back_by_configuration(found: StudyResults) -> None:
    verdict = found.verdict(SECOND.key)
    tables = made_up_tables(1)
    assert sorted(verdict.tables) == ["erasure_made", "single_made"]
    for name, table in verdict.tables.items():
        pd.testing.assert_frame_equal(table, tables[name], check_categorical=False)
    pd.testing.assert_frame_equal(verdict.summary(), tables["summary"])
    assert list(found.verdicts()) == [PLAIN.key, SECOND.key, SPARSE.key]
    assert list(found.verdicts(projection="softmax", seed=[1, 2])) == [SECOND.key]
    assert list(found.verdicts(lam=None)) == [PLAIN.key, SECOND.key]
    assert list(found.verdicts(lam=0.5)) == [SPARSE.key]
    assert found.verdicts(seed=2) == {}  # of the study, and not done yet
    with raises("result.unknown-name", "projektion", "projection"):
        found.verdicts(projektion="softmax")
    with raises("result.unknown-name", "x"):
        found.verdicts(projection="x")


def test_what_is_not_done_says_why(found: StudyResults) -> None:
    with raises("result.unfinished"):
        found.verdict(FAILS.key)
    with raises("result.unfinished"):
        found.verdict(WAITS.key)
    with raises("result.unknown-name", "x"):
        found.verdict("x")
    with raises("study.not-kept"):
        found.model(PLAIN.key)


@pytest.mark.parametrize("kind", PLACES)
def test_a_study_opens_on_every_filesystem(kind: str, tmp_path: Path) -> None:
    folder, filesystem = PLACES[kind](tmp_path)
    made_up_store(folder, [PLAIN, SECOND], filesystem=filesystem)
    found = open_study(folder, filesystem=filesystem)
    assert found.table("single_made")["seed"].tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.slow
def test_cells_that_the_study_no_longer_lists_are_left_out(tmp_path: Path) -> None:
    make(tmp_path)
    made_up_store(tmp_path, [], [PLAIN, WAITS])
    found = open_study(tmp_path)
    assert found.cells["cell"].tolist() == [PLAIN.key, WAITS.key]
    assert found.summary()["cell"].tolist() == [PLAIN.key]
    assert "1 done, 1 missing, 2 of other seeds or options left out" in repr(found)
    path = tmp_path / "cells" / FAILS.key / "manifest.json"
    make(tmp_path).commit(FAILS.key, FAILS.to_json(), files_of(FAILS), FACTS)
    path.write_bytes(path.read_bytes().replace(b"1", b"2"))
    made_up_store(tmp_path, [], [PLAIN, WAITS])
    whole = open_study(tmp_path, every=True)  # without one that is neither listed nor whole
    assert set(whole.summary()["cell"]) == {PLAIN.key, SECOND.key, SPARSE.key}


def test_a_table_that_some_cells_lack_is_of_the_others(tmp_path: Path) -> None:
    store = made_up_store(tmp_path, [PLAIN], [SECOND])
    more = pd.DataFrame({"id": [7], "more": ["x"]})
    tables = {**made_up_tables(1), "adversary": more, "single_made": more}
    store.commit(SECOND.key, SECOND.to_json(), files_of(SECOND, tables), FACTS)
    found = open_study(tmp_path)
    assert found.table("adversary")["cell"].tolist() == [SECOND.key]
    single_made = found.table("single_made")
    assert single_made["id"].tolist() == [0, 0, 1, 7]
    assert single_made["more"].fillna("").tolist() == ["", "", "", "x"]


def test_damage_is_told_where_it_is_met(tmp_path: Path) -> None:
    make(tmp_path)
    path = tmp_path / "cells" / PLAIN.key / "single_made.parquet"
    data = path.read_bytes()
    path.write_bytes(data[:100])
    found = open_study(tmp_path)
    states = found.cells.set_index("cell")
    assert states.loc[PLAIN.key, "status"] == "damaged"
    assert states.loc[PLAIN.key, "error"] == f"single_made.parquet has 100 of {len(data):,} bytes"
    with pytest.warns(UserWarning, match="1 damaged cells of made up are left out"):
        assert found.summary()["cell"].tolist() == [SECOND.key, SPARSE.key]
    path.write_bytes(data[:-1] + b"x")
    with raises("result.damaged", PLAIN.key, "single_made.parquet"):
        open_study(tmp_path).table("single_made")


def test_a_study_of_which_nothing_is_done_opens(tmp_path: Path) -> None:
    made_up_store(tmp_path, [], [PLAIN])
    found = open_study(tmp_path)
    assert found.cells["status"].tolist() == ["missing"]
    assert (found.tables, found.verdicts(), len(found.failures)) == ([], {}, 0)
    with raises("result.unfinished"):
        found.summary()
    made_up_store(tmp_path / "empty", [])
    assert len(open_study(tmp_path / "empty").cells) == 0


def test_what_is_no_study_is_refused(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "nowhere"):
        with raises("result.missing"):
            open_study(folder)
    (tmp_path / "cells.parquet").write_bytes(b"not Parquet")
    with raises("result.damaged", "cells.parquet"):
        open_study(tmp_path)
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "cells.parquet")
    with raises("result.damaged", "cells.parquet"):
        open_study(tmp_path)


def test_every_file_of_a_cell_can_be_read_by_itself(tmp_path: Path) -> None:
    make(tmp_path)
    manifest = json.loads((tmp_path / "cells" / PLAIN.key / "manifest.json").read_text())
    assert manifest["config"] == PLAIN.to_json()
    assert (manifest["cell"], manifest["seconds"]["total"]) == (PLAIN.key, 2.0)
    summary = pd.read_parquet(tmp_path / "cells" / PLAIN.key / "summary.parquet")
    assert set(summary["cell"]) == {PLAIN.key}

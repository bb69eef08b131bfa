"""Small print of stores: orders, names and types that only show when something goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fsspec
import pandas as pd
import pytest
from made_up_store import FACTS, files_of, labelled, made_up_cell, made_up_store, resolved

from support.errors import raises
from verax.studies import Store, pack
from verax.studies.store.folders import StorageFolder
from verax.studies.store.tables import arrow_rows, frame_of


def test_a_cell_half_removed_elsewhere_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where folders have no names to lose at once, the manifest goes first."""
    cell = made_up_cell()
    store = made_up_store(f"/{tmp_path.name}/study", [cell], filesystem=fsspec.filesystem("memory"))
    assert store.keys() == [cell.key]

    def fail(folder: StorageFolder, name: str) -> None:
        raise OSError("the line is dead")

    monkeypatch.setattr(StorageFolder, "remove_folder", fail)
    with raises("output.not-writable"):
        store.discard(cell.key)
    assert store.keys() == []
    assert not store.complete(cell.key)


def test_what_others_wrote_since_is_seen(tmp_path: Path) -> None:
    """A filesystem may remember listings: it is asked to forget before each."""

    class Remembering(type(fsspec.filesystem("memory"))):  # type: ignore[misc]
        cachable = False
        forgot = 0

        def invalidate_cache(self, path: Any = None) -> None:
            type(self).forgot += 1

    store = made_up_store(f"/{tmp_path.name}/study", [], filesystem=Remembering())
    for look in (store.keys, store.failures, lambda: store.complete("0" * 16)):
        before = Remembering.forgot
        look()
        assert Remembering.forgot > before


def test_a_failure_is_forgotten_for_good_once_the_cell_is_done(tmp_path: Path) -> None:
    cell = made_up_cell()
    store = Store.create(tmp_path / "s", "made up", "", resolved([cell]))
    store.fail(cell.key, {"cell": cell.key, "reason": "error", "error": "oh"})
    store.commit(cell.key, cell.to_json(), files_of(cell), FACTS)
    store.discard(cell.key)
    assert store.failures() == {}


def test_rows_of_another_cell_are_not_packed(tmp_path: Path) -> None:
    cell = made_up_cell()
    store = Store.create(tmp_path / "s", "made up", "", resolved([cell]))
    files = files_of(cell)
    files["single_made.parquet"] = labelled(pd.DataFrame({"value": [1.0]}), "0" * 16)
    store.commit(cell.key, cell.to_json(), files, FACTS)
    with raises("result.damaged", "single_made.parquet"):
        pack(tmp_path / "s", tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


def test_who_made_a_store_is_not_who_packs_it(tmp_path: Path) -> None:
    made_up_store(tmp_path / "s", [made_up_cell()])
    about = tmp_path / "s" / "store.json"
    about.write_text(about.read_text().replace(Store.open(tmp_path / "s").about["verax"], "0.0.1"))
    pack(tmp_path / "s", tmp_path / "again" / "packed")
    assert Store.open(tmp_path / "again").about == Store.open(tmp_path / "s").about
    assert Store.open(tmp_path / "again").about["verax"] == "0.0.1"


def test_a_column_of_whole_and_other_numbers_is_of_numbers() -> None:
    rows = [{"lam": 1}, {"lam": 2.5}, {"lam": None}]
    assert arrow_rows(rows).column("lam").to_pylist() == [1.0, 2.5, None]
    assert frame_of(rows)["lam"].dtype == "float64"

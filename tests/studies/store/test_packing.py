"""A packed study holds all of a store, and is read as it is."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_up_store import (
    FACTS,
    MODEL,
    PLACES,
    everything,
    files_of,
    made_up_cell,
    made_up_store,
    made_up_tables,
)

from support.errors import raises
from support.internals import PRIVATE_SOURCE, STORE_GROUP
from verax.studies import Store, open_study, pack

CELLS = [made_up_cell(seed=seed) for seed in range(4)]
FAILS, WAITS = made_up_cell(seed=4), made_up_cell(seed=5)


@pytest.fixture
def study(tmp_path: Path) -> Path:
    store = made_up_store(tmp_path / "study", CELLS, [FAILS, WAITS], weights=True)
    store.fail(FAILS.key, {"cell": FAILS.key, "reason": "error", "error": "é", "attempts": 2})
    return tmp_path / "study"


def contents(folder: Path) -> dict[str, str]:
    paths = sorted(folder.iterdir())
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def beside(packed: Path, folder: Path) -> Path:
    """A new folder that holds a pack, to continue its study in."""
    shutil.copytree(packed, folder / "packed")
    return folder


@pytest.mark.slow
def test_a_store_reads_a_pack_as_its_own_cells(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", weights=True)
    tables = [f"{name}.parquet" for name in made_up_tables()]
    names = sorted(["cells.parquet", "files.parquet", *tables])
    assert list(contents(tmp_path / "packed")) == names
    made_up_store(beside(tmp_path / "packed", tmp_path / "again"), [], [*CELLS, FAILS, WAITS])
    before, after = Store.open(study), Store.open(tmp_path / "again")
    keys = before.keys()
    assert after.keys() == keys
    assert after.verify(contents=True) == {}
    for name in ("store.json", "study.yaml", "resolved.json"):
        assert (tmp_path / "again" / name).read_bytes() == (study / name).read_bytes()
    for key in keys:
        was, now = before.manifest(key), after.manifest(key)
        assert sorted(now.pop("files")) == sorted(was.pop("files"))
        assert now == {name: was[name] for name in now}
        for name in (*MODEL, "verdict.json"):
            assert after.read(key, name) == before.read(key, name)
        for name in made_up_tables():
            files = (io.BytesIO(store.read(key, f"{name}.parquet")) for store in (before, after))
            frames = (pd.read_parquet(file).astype(object) for file in files)
            pd.testing.assert_frame_equal(*frames)
    found = open_study(tmp_path / "again")
    assert repr(found) == "StudyResults(made up: 4 done, 2 missing)"  # a failure may be retried
    assert repr(open_study(tmp_path / "packed")) == (
        "StudyResults(made up: 4 done, 1 failed, 1 missing)"
    )


def test_new_cells_stand_beside_a_pack_and_replace_damaged_ones(
    study: Path, tmp_path: Path
) -> None:
    pack(study, tmp_path / "packed")
    again = beside(tmp_path / "packed", tmp_path / "again")
    store = made_up_store(again, [FAILS], [*CELLS, WAITS])
    assert store.keys() == sorted(cell.key for cell in (*CELLS, FAILS))
    pack(again, tmp_path / "both")
    assert open_study(tmp_path / "both").counts == {"done": 5, "missing": 1}
    file = again / "packed" / "single_made.parquet"
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2] + b"x" + data[len(data) // 2 + 1 :])
    store = Store.open(again)
    assert not store.verify(contents=False)
    damaged = store.verify(contents=True)
    assert set(damaged) == {cell.key for cell in CELLS}
    assert "single_made.parquet has other contents" in damaged[CELLS[0].key]
    for cell in CELLS:
        store.discard(cell.key)
        assert not store.complete(cell.key)
        store.commit(cell.key, cell.to_json(), files_of(cell), FACTS)
        assert store.complete(cell.key)
    assert Store.open(again).verify(contents=True) == {}
    assert open_study(again).counts == {"done": 5, "missing": 1}


def test_a_pack_of_another_study_is_not_taken(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    again = beside(tmp_path / "packed", tmp_path / "again")
    with raises("output.occupied", "made up", "other"):
        made_up_store(again, [], CELLS, name="other")


@pytest.mark.slow
def test_the_same_cells_give_the_same_bytes_also_by_a_detour(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "a", weights=True)
    pack(study, tmp_path / "b", weights=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    again = made_up_store(
        beside(tmp_path / "a", tmp_path / "again"), [], [*CELLS, FAILS, WAITS], weights=True
    )
    again.fail(FAILS.key, {"cell": FAILS.key, "reason": "error", "error": "é", "attempts": 2})
    pack(tmp_path / "again", tmp_path / "c", weights=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "c")
    pack(study, tmp_path / "a", weights=True)  # replaced by what has all of it
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


@pytest.mark.slow
def test_a_pack_is_not_replaced_by_one_that_has_less(study: Path, tmp_path: Path) -> None:
    packed = tmp_path / "packed"
    pack(study, packed, weights=True)
    before = contents(packed)
    with raises("output.occupied"):
        pack(study, packed)
    with raises("output.occupied", "single_made"):
        pack(study, packed, tables=["summary"], weights=True)
    made_up_store(tmp_path / "less", CELLS[:1])
    with raises("output.occupied", "made up"):
        pack(tmp_path / "less", packed, weights=True)
    made_up_store(tmp_path / "other", CELLS, name="other")
    with raises("output.occupied", "made up"):
        pack(tmp_path / "other", packed, weights=True)
    assert contents(packed) == before


@pytest.mark.slow
def test_a_rerun_finds_everything_done(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    again = beside(tmp_path / "packed", tmp_path / "again")
    made_up_store(again, [], [*CELLS, FAILS, WAITS])
    before = everything(again)
    made_up_store(again, CELLS, [FAILS, WAITS])
    assert everything(again) == before


@pytest.mark.slow
def test_what_is_left_out_is_recorded_and_is_no_damage(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", tables=["summary", "single_made"])
    again = beside(tmp_path / "packed", tmp_path / "again")
    assert made_up_store(again, [], [*CELLS, FAILS, WAITS]).verify() == {}
    for folder in ("packed", "again"):
        found = open_study(tmp_path / folder)
        assert found.tables == ["single_made", "summary"]
        assert found.left_out == ["erasure_made", "history", "model"]
        assert "packed without 3 tables" in repr(found)
        with raises("study.not-kept", "history"):
            found.history()
        with raises("study.not-kept", "erasure_made"):
            found.verdict(CELLS[0].key)
        with raises("study.not-kept"):
            found.model(CELLS[0].key)
    pack(again, tmp_path / "twice")
    assert open_study(tmp_path / "twice").left_out == ["erasure_made", "history", "model"]


@pytest.mark.slow
def test_rows_are_written_in_groups_and_found_again(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(study, tmp_path / "one")
    monkeypatch.setattr(STORE_GROUP, 6)  # two cells of single_made
    pack(study, tmp_path / "small")
    files = (pq.ParquetFile(tmp_path / n / "single_made.parquet") for n in ("one", "small"))
    assert [file.num_row_groups for file in files] == [1, 2]
    for name in ("single_made", "erasure_made", "summary"):
        tables = (open_study(tmp_path / folder).table(name) for folder in ("study", "small"))
        pd.testing.assert_frame_equal(*tables, check_categorical=False)


def test_packed_files_are_plain_tables(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    table = pd.read_parquet(tmp_path / "packed" / "single_made.parquet")
    assert next(iter(table)) == "cell"
    own = table[table["cell"] == CELLS[2].key]
    assert own["value"].fillna(-1).tolist() == [2.0, -1, 0.25]
    assert own["measure"].tolist() == ["alone", "agreeing", "alone"]
    cells = pd.read_parquet(tmp_path / "packed" / "cells.parquet").set_index("cell")
    assert cells["status"].tolist() == ["done"] * 4 + ["failed", "missing"]
    assert json.loads(cells.loc[FAILS.key, "failure"])["error"] == "é"
    assert json.loads(cells.loc[CELLS[0].key, "manifest"])["device"] == "cpu"
    configs = [json.loads(text) for text in cells["config"]]
    assert configs == [cell.to_json() for cell in (*CELLS, FAILS, WAITS)]


def test_a_configuration_is_stored_once_and_not_in_a_footer(study: Path, tmp_path: Path) -> None:
    cell = made_up_cell(encoder="an encoder of this name")
    made_up_store(tmp_path / "one", [cell])
    pack(tmp_path / "one", tmp_path / "packed")
    told = [path.name for path in (tmp_path / "packed").iterdir() if b"this name" in footer(path)]
    assert told == []
    column = pq.read_table(tmp_path / "packed" / "cells.parquet", columns=["config"])
    assert column["config"].to_pylist() == [json.dumps(cell.to_json(), ensure_ascii=False)]
    made_up_store(beside(tmp_path / "packed", tmp_path / "two"), [], [cell])
    for folder, expected in (("one", ["manifest.json"]), ("two", ["cells.parquet"])):
        stored = (p for p in (tmp_path / folder).rglob("*") if p.is_file())
        assert [p.name for p in stored if says(p, b"this name")] == expected
        assert Store.open(tmp_path / folder).resolved()["cells"] == {cell.key: cell.to_json()}


def says(path: Path, word: bytes) -> bool:
    """Whether a file has a word, compressed or not."""
    if path.suffix == ".parquet":
        return word in str(pq.read_table(path).to_pylist()).encode()
    return word in path.read_bytes()


def test_the_plan_has_the_configuration_of_what_is_not_finished(tmp_path: Path) -> None:
    made_up_store(tmp_path, CELLS[:1], [WAITS])
    plan = json.loads((tmp_path / "resolved.json").read_text())["cells"]
    assert plan == {CELLS[0].key: None, WAITS.key: json.loads(json.dumps(WAITS.to_json()))}
    (tmp_path / "cells" / CELLS[0].key / "manifest.json").write_text("{half")
    cells = open_study(tmp_path).cells.set_index("cell")
    assert cells["status"].tolist() == ["damaged", "missing"]
    assert cells["encoder"].isna().tolist() == [True, False]
    made_up_store(tmp_path, CELLS[:1], [WAITS])
    assert open_study(tmp_path).cells["encoder"].tolist() == ["none", "none"]


def footer(path: Path) -> bytes:
    data = path.read_bytes()
    return data[-8 - int.from_bytes(data[-8:-4], "little") : -8]


def test_columns_of_two_kinds_are_promoted_or_refused(tmp_path: Path) -> None:
    store = made_up_store(tmp_path / "study", [], CELLS[:3])
    for cell, values in zip(CELLS, ([1, 2], [0.5, None], ["x", "y"]), strict=False):
        tables = {**made_up_tables(), "mixed": pd.DataFrame({"draw": values, "none": None})}
        store.commit(cell.key, cell.to_json(), files_of(cell, tables), FACTS)
        if cell is CELLS[1]:
            pack(tmp_path / "study", tmp_path / "packed")
    mixed = open_study(tmp_path / "packed").table("mixed")["draw"]
    assert mixed.fillna(-1).tolist() == [1, 2, 0.5, -1]
    with raises("result.incomparable", "mixed"):
        pack(tmp_path / "study", tmp_path / "other")
    assert not (tmp_path / "other").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", PLACES)
def test_studies_are_packed_from_every_filesystem(kind: str, tmp_path: Path) -> None:
    folder, filesystem = PLACES[kind](tmp_path)
    made_up_store(folder, CELLS, filesystem=filesystem)
    pack(folder, tmp_path / "packed", filesystem=filesystem)
    made_up_store(tmp_path / "other", CELLS)
    pack(tmp_path / "other", tmp_path / "expected")
    assert contents(tmp_path / "packed") == contents(tmp_path / "expected")


@pytest.mark.slow
def test_packed_studies_are_opened_elsewhere(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", weights=True)
    folder, filesystem = PLACES["fsspec memory"](tmp_path)
    for path in (tmp_path / "packed").iterdir():
        filesystem.pipe(f"{folder}/{path.name}", path.read_bytes())
    pd.testing.assert_frame_equal(
        open_study(folder, filesystem=filesystem).table("single_made"),
        open_study(study).table("single_made"),
        check_categorical=False,
    )
    for path in (tmp_path / "packed").iterdir():
        filesystem.pipe(f"{folder}/again/packed/{path.name}", path.read_bytes())
    store = made_up_store(f"{folder}/again", [], CELLS, filesystem)
    assert store.verify(contents=True) == {}
    assert len(store.keys()) == 4


@pytest.mark.slow
def test_files_of_two_packed_studies_are_told_apart(study: Path, tmp_path: Path) -> None:
    """The same cells but for one, so that numbers of rows are the same."""
    pack(study, tmp_path / "packed")
    made_up_store(tmp_path / "other", [*CELLS[1:], FAILS])
    pack(tmp_path / "other", tmp_path / "second")
    for name in ("summary", "single_made"):
        mixed = tmp_path / f"mixed {name}"
        shutil.copytree(tmp_path / "packed", mixed)
        shutil.copy(tmp_path / "second" / f"{name}.parquet", mixed)
        with raises("result.damaged", name):
            read(mixed)


@pytest.mark.slow
def test_what_cannot_be_packed_is_refused(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    made_up_store(tmp_path / "empty", [], CELLS)
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("mine")
    before = everything(tmp_path)
    for given, code in (
        ("packed", "result.wrong-kind"),
        ("thesis", "result.missing"),
        ("nowhere", "result.missing"),
        ("empty", "result.unfinished"),
    ):
        with raises(code):
            pack(tmp_path / given, tmp_path / "out")
    for out in ("thesis", "study"):
        with raises("output.occupied"):
            pack(study, tmp_path / out)
    with raises("result.unknown-name", "sumary", "summary"):
        pack(study, tmp_path / "out", tables=["sumary"])
    with raises("output.wrong-kind"):
        pack(study, "memory://out")
    with raises("option.empty"):
        pack(study, tmp_path / "out", tables=[])
    assert everything(tmp_path) == before


@pytest.mark.slow
def test_damage_is_named_before_anything_is_packed(study: Path, tmp_path: Path) -> None:
    for cell in CELLS[:2]:
        path = study / "cells" / cell.key / "single_made.parquet"
        path.write_bytes(path.read_bytes()[:-1])
    with raises("result.damaged") as told:
        pack(study, tmp_path / "packed")
    lines = str(told.value).splitlines()
    assert [cell.key in line for cell, line in zip(CELLS, lines, strict=False)] == [True, True]
    path = study / "cells" / CELLS[0].key / "single_made.parquet"
    made_up_store(study, CELLS, [FAILS, WAITS])
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with raises("result.damaged", CELLS[0].key, "single_made.parquet"):
        pack(study, tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


def test_cells_that_ran_with_uncommitted_changes_are_not_packed(tmp_path: Path) -> None:
    store = made_up_store(tmp_path / "study", CELLS[:1], [*CELLS[1:], WAITS])
    assert pack(tmp_path / "study", tmp_path / "packed").done == [CELLS[0].key]
    before = contents(tmp_path / "packed")
    for cell, commit in zip(CELLS[1:], ("b" * 40, "c" * 40 + "-dirty", "d-dirty"), strict=True):
        store.commit(cell.key, cell.to_json(), {}, {"commit": commit})
    with raises("study.uncommitted", CELLS[2].key):
        pack(tmp_path / "study", tmp_path / "packed")
    assert contents(tmp_path / "packed") == before


def read(packed: Path) -> None:
    """Read everything that a pack holds."""
    found = open_study(packed)
    for key in found.done:
        found.summary_of(key)
        found.verdict(key)
        getattr(found, PRIVATE_SOURCE).model(key)
    for table in found.tables:
        found.table(table)


@pytest.mark.slow
@pytest.mark.parametrize("file", ["single_made", "summary", "files", "history"])
def test_a_damaged_packed_file_is_named(file: str, study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", weights=True)
    path = tmp_path / "packed" / f"{file}.parquet"
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[: len(whole) // 2], b"", None):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
        with raises("result.damaged", f"{file}.parquet"):
            open_study(tmp_path / "packed")


@pytest.mark.parametrize("file", ["history", "single_made", "summary", "files"])
def test_changed_bytes_are_noticed_and_named(file: str, study: Path, tmp_path: Path) -> None:
    """The file has its length, so that it is noticed when it is read."""
    pack(study, tmp_path / "packed", weights=True)
    path = tmp_path / "packed" / f"{file}.parquet"
    data, pages = path.read_bytes(), pq.ParquetFile(path).metadata.row_group(0).column(0)
    end = pages.dictionary_page_offset + pages.total_compressed_size
    path.write_bytes(data[: end - 4] + b"oops" + data[end:])
    with raises("result.damaged", file):
        read(tmp_path / "packed")
    (wrong,) = set(Store.open(beside(tmp_path / "packed", tmp_path / "s")).verify().values())
    assert wrong == f"{file}.parquet has other contents than were written"


def rewritten(first: Path, column: str, change: Callable[[str], str]) -> None:
    """Change the first row of a column of `cells.parquet`."""
    table, metadata = pq.read_table(first), pq.read_metadata(first).metadata
    values = table[column].to_pylist()
    values[0] = change(values[0])
    place = table.schema.get_field_index(column)
    table = table.set_column(place, column, pa.array(values, pa.string()))
    about = {b"verax.study": metadata[b"verax.study"]}
    pq.write_table(table.replace_schema_metadata(about), first)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("cell", "../../../escaped"),
        ("tables", '{"../escaped": {"rows": 1}}'),
        ("tables", '{"summary": {"rows": 1000}}'),
        ("tables", '{"summary": {"rows": -1}}'),
        ("tables", '{"summary": [1, 2]}'),
    ],
)
def test_names_and_numbers_that_cannot_be_are_refused(
    column: str, value: str, study: Path, tmp_path: Path
) -> None:
    pack(study, tmp_path / "packed")
    rewritten(tmp_path / "packed" / "cells.parquet", column, lambda _: value)
    with raises("result.damaged"):
        read(tmp_path / "packed")
    assert not list(tmp_path.rglob("*escaped*"))


def test_another_format_says_what_to_do(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    path = tmp_path / "packed" / "cells.parquet"
    table, metadata = pq.read_table(path), pq.read_metadata(path).metadata
    changed = json.dumps({**json.loads(metadata[b"verax.study"]), "packed": 99})
    pq.write_table(table.replace_schema_metadata({"verax.study": changed}), path)
    with raises("result.other-format", "99"):
        open_study(tmp_path / "packed")


@pytest.mark.parametrize("name", ["resolved.json", "cells.parquet"])
def test_the_configuration_of_another_cell_is_noticed(name: str, tmp_path: Path) -> None:
    cell = replace(made_up_cell(), exams={"erasure": {"draws": 5}})  # which is registered
    made_up_store(tmp_path / "study", [cell], [WAITS])
    pack(tmp_path / "study", tmp_path / "packed")

    def other(config: str) -> str:
        return config.replace('"epochs": 3', '"epochs": 4')

    if name == "resolved.json":
        file = tmp_path / "study" / name
        file.write_text(other(file.read_text()))
        with raises("result.damaged"):
            open_study(tmp_path / "study")
        return
    rewritten(tmp_path / "packed" / name, "config", other)
    with raises("result.damaged"):
        open_study(tmp_path / "packed")

"""A packed study holds all of a store, and gives it back."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import shutil
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
from verax.errors import VeraxError
from verax.studies import Store, open_study, pack, unpack
from verax.studies.store import packing
from verax.studies.store.packed import ABOUT

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


@pytest.mark.slow
def test_packing_and_unpacking_give_back_every_file(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", weights=True)
    names = ["cells", "history", "instances", "models", "summary"]
    assert list(contents(tmp_path / "packed")) == [f"{name}.parquet" for name in names]
    found = unpack(tmp_path / "packed", tmp_path / "again")
    assert repr(found) == "StudyResults(made up: 4 done, 1 failed, 1 missing)"
    before, after = Store.open(study), Store.open(tmp_path / "again")
    keys = before.keys()
    assert after.keys() == keys
    assert after.verify() == {}
    assert after.failures() == before.failures()
    for name in ("store.json", "study.yaml", "resolved.json"):
        assert (tmp_path / "again" / name).read_bytes() == (study / name).read_bytes()
    for key in keys:
        was, now = before.manifest(key), after.manifest(key)
        assert sorted(now.pop("files")) == sorted(was.pop("files"))
        assert now.pop("sha256") != was.pop("sha256")  # that of a manifest with other files
        assert now == was
        for name in (*MODEL, "config.json", "verdict.json"):
            assert after.read(key, name) == before.read(key, name)
        for name in (*made_up_tables(), "cell"):
            tables = (f"{folder}/cells/{key}/{name}.parquet" for folder in (study, found_in(after)))
            pd.testing.assert_frame_equal(*map(pd.read_parquet, tables))


def found_in(store: Store) -> Path:
    assert store.folder.local is not None
    return store.folder.local


@pytest.mark.slow
def test_the_same_store_gives_the_same_bytes_also_by_a_detour(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "a", weights=True)
    pack(study, tmp_path / "b", weights=True)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    unpack(tmp_path / "a", tmp_path / "again")
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
    unpack(tmp_path / "packed", tmp_path / "again")
    before = everything(tmp_path / "again")
    made_up_store(tmp_path / "again", CELLS, [FAILS, WAITS])
    assert everything(tmp_path / "again") == before


@pytest.mark.slow
def test_what_is_left_out_is_recorded_and_is_no_damage(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", tables=["summary", "single_made"])
    unpack(tmp_path / "packed", tmp_path / "again")
    assert Store.open(tmp_path / "again").verify() == {}
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
    pack(tmp_path / "again", tmp_path / "twice")
    assert contents(tmp_path / "twice") == contents(tmp_path / "packed")


@pytest.mark.slow
def test_rows_are_written_in_groups_and_found_again(
    study: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(study, tmp_path / "one")
    monkeypatch.setattr(packing, "GROUP", 6)  # two cells of single_made
    pack(study, tmp_path / "small")
    groups = {
        name: pq.ParquetFile(tmp_path / name / "instances.parquet") for name in ("one", "small")
    }
    assert [groups[name].num_row_groups for name in groups] == [2, 3]
    for name in ("single_made", "erasure_made", "summary"):
        tables = (open_study(tmp_path / folder).table(name) for folder in ("study", "small"))
        pd.testing.assert_frame_equal(*tables)


def test_packed_files_are_plain_tables(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    instances = pd.read_parquet(tmp_path / "packed" / "instances.parquet")
    assert list(instances)[:2] == ["cell", "table"]
    own = instances[(instances["cell"] == CELLS[2].key) & (instances["table"] == "single_made")]
    assert own["value"].fillna(-1).tolist() == [2.0, -1, 0.25]
    assert own["measure"].tolist() == ["alone", "agreeing", "alone"]
    assert own["draw"].isna().all()
    cells = pd.read_parquet(tmp_path / "packed" / "cells.parquet").set_index("cell")
    assert cells["status"].tolist() == ["done"] * 4 + ["failed", "missing"]
    assert json.loads(cells.loc[FAILS.key, "failure"])["error"] == "é"
    assert json.loads(cells.loc[CELLS[0].key, "manifest"])["device"] == "cpu"
    assert cells["seed"].tolist() == [0, 1, 2, 3, 4, 5]


def test_columns_of_one_name_and_two_types_have_a_column_each(tmp_path: Path) -> None:
    store = made_up_store(tmp_path / "study", [], CELLS[:2])
    for cell, values in zip(CELLS, ([1, 2], ["x", "y"]), strict=False):
        tables = {
            **made_up_tables(),
            "mixed": pd.DataFrame({"draw": values, "table": 7, "none": None}),
        }
        store.commit(cell.key, cell.to_json(), files_of(cell, tables), FACTS)
    pack(tmp_path / "study", tmp_path / "packed")
    schema = pq.read_schema(tmp_path / "packed" / "instances.parquet")
    assert {"draw_int64", "draw_string", "table", "table_int64", "none"} <= set(schema.names)
    unpack(tmp_path / "packed", tmp_path / "again")
    for cell in CELLS[:2]:
        tables = (f"{tmp_path}/{s}/cells/{cell.key}/mixed.parquet" for s in ("study", "again"))
        pd.testing.assert_frame_equal(*map(pd.read_parquet, tables))


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
def test_packed_studies_are_opened_and_unpacked_elsewhere(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", weights=True)
    folder, filesystem = PLACES["fsspec memory"](tmp_path)
    for path in (tmp_path / "packed").iterdir():
        filesystem.pipe(f"{folder}/{path.name}", path.read_bytes())
    pd.testing.assert_frame_equal(
        open_study(folder, filesystem).table("single_made"),
        open_study(study).table("single_made"),
    )
    url, _ = PLACES["fsspec memory URL"](tmp_path)
    unpack(folder, url, filesystem=filesystem)
    assert Store.open(url).verify(contents=True) == {}
    assert len(Store.open(url).keys()) == 4
    with raises("output.occupied"):
        unpack(folder, url, filesystem=filesystem)


@pytest.mark.slow
def test_files_of_two_packed_studies_are_told_apart(study: Path, tmp_path: Path) -> None:
    """The same cells but for one, so that numbers of rows are the same."""
    pack(study, tmp_path / "packed")
    made_up_store(tmp_path / "other", [*CELLS[1:], FAILS])
    pack(tmp_path / "other", tmp_path / "second")
    for name in ("summary", "instances"):
        mixed = tmp_path / f"mixed {name}"
        shutil.copytree(tmp_path / "packed", mixed)
        shutil.copy(tmp_path / "second" / f"{name}.parquet", mixed)
        with raises("result.damaged", name):
            unpack(mixed, tmp_path / "out")


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
        with raises("output.occupied"):
            unpack(tmp_path / "packed", tmp_path / out)
    with raises("result.unknown-name", "sumary", "summary"):
        pack(study, tmp_path / "out", tables=["sumary"])
    with raises("output.wrong-kind"):
        pack(study, "memory://out")
    with raises("option.empty"):
        pack(study, tmp_path / "out", tables=[])
    with raises("result.wrong-kind"):
        unpack(study, tmp_path / "out")
    with raises("result.damaged"):
        unpack(tmp_path / "thesis", tmp_path / "out")
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


@pytest.mark.slow
@pytest.mark.parametrize("file", ["instances", "summary", "models"])
def test_a_damaged_packed_file_is_named(file: str, study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed", weights=True)
    path = tmp_path / "packed" / f"{file}.parquet"
    whole = path.read_bytes()
    for damaged in (whole[:-9], whole[: len(whole) // 2], b"", None):
        path.unlink()
        if damaged is not None:
            path.write_bytes(damaged)
        elif file == "models":
            continue  # as if there were no weights
        with raises("result.damaged", file):
            unpack(tmp_path / "packed", tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_changed_bytes_of_a_packed_file_are_noticed(study: Path, tmp_path: Path) -> None:
    """The weights do not compress, so that they stand in the file as they are."""
    pack(study, tmp_path / "packed", weights=True)
    path = tmp_path / "packed" / "models.parquet"
    data, part = path.read_bytes(), bytes(range(100, 140))
    assert part in data
    path.write_bytes(data.replace(part, part[::-1], 1))
    with raises("result.damaged", "models.parquet"):
        unpack(tmp_path / "packed", tmp_path / "out")


@pytest.mark.parametrize("file", ["history", "instances", "summary"])
def test_the_file_that_is_damaged_is_the_one_named(file: str, study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    path = tmp_path / "packed" / f"{file}.parquet"
    data, pages = path.read_bytes(), pq.ParquetFile(path).metadata.row_group(0).column(0)
    end = pages.dictionary_page_offset + pages.total_compressed_size
    path.write_bytes(data[: end - 4] + b"oops" + data[end:])
    with raises("result.damaged", file):
        unpack(tmp_path / "packed", tmp_path / "out")


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("cell", "../../../escaped", "result.damaged"),
        ("tables", '{"../escaped": [1, 0]}', "result.damaged"),
        ("others", '{"/escaped": ""}', "result.damaged"),
    ],
)
def test_names_that_leave_the_folder_are_refused(
    column: str, value: str, code: str, study: Path, tmp_path: Path
) -> None:
    pack(study, tmp_path / "packed")
    path = tmp_path / "packed" / "cells.parquet"
    table = pq.read_table(path)
    rows = table.to_pylist()
    rows[0][column] = value
    pq.write_table(type(table).from_pylist(rows, schema=table.schema), path)
    with raises(code):
        unpack(tmp_path / "packed", tmp_path / "out")
    assert not list(tmp_path.rglob("*escaped*"))


def test_another_format_says_what_to_do(study: Path, tmp_path: Path) -> None:
    pack(study, tmp_path / "packed")
    path = tmp_path / "packed" / "cells.parquet"
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[ABOUT])
    changed = json.dumps({**about, "packed": 99})
    pq.write_table(table.replace_schema_metadata({ABOUT: changed}), path)
    with raises("result.other-format", "99"):
        open_study(tmp_path / "packed")


@pytest.mark.slow
def test_a_shape_that_lies_about_its_lengths_is_refused(tmp_path: Path) -> None:
    """Arrow takes a stream at its word: read without a check, this one ends the process."""
    made_up_store(tmp_path / "study", [made_up_cell()])
    pack(tmp_path / "study", tmp_path / "packed")
    first = tmp_path / "packed" / "cells.parquet"
    table = pq.read_table(first)
    about = json.loads(table.schema.metadata[ABOUT])
    refused = 0
    for number, shape in enumerate(about["shapes"]):
        data = bytearray(base64.b64decode(shape["shape"]))
        for place in range(5, len(data), len(data) // 12):
            spoilt = bytearray(data)
            spoilt[place] ^= 0x40
            forged = copy.deepcopy(about)
            forged["shapes"][number]["shape"] = base64.b64encode(spoilt).decode()
            written = table.replace_schema_metadata({ABOUT: json.dumps(forged)})
            pq.write_table(written, first)
            try:
                open_study(tmp_path / "packed").verdicts()
            except VeraxError:
                refused += 1
    assert refused > 5


@pytest.mark.parametrize("name", ["resolved.json", "cells.parquet"])
def test_the_configuration_of_another_cell_is_noticed(name: str, tmp_path: Path) -> None:
    made_up_store(tmp_path / "study", [made_up_cell()])
    pack(tmp_path / "study", tmp_path / "packed")
    if name == "resolved.json":
        file = tmp_path / "study" / name
        file.write_text(file.read_text().replace('"epochs": 3', '"epochs": 4'))
        with raises("result.damaged"):
            open_study(tmp_path / "study")
        return
    first = tmp_path / "packed" / name
    table = pq.read_table(first)
    configs = [c.replace('"epochs": 3', '"epochs": 4') for c in table["config"].to_pylist()]
    place = table.schema.get_field_index("config")
    pq.write_table(table.set_column(place, "config", pa.array(configs)), first)
    with raises("result.damaged"):
        open_study(tmp_path / "packed")

"""A store has whole cells or none, and says what is wrong with one that was damaged."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from made_up_store import (
    FACTS,
    PLACES,
    everything,
    files_of,
    made_up_cell,
    made_up_store,
    resolved,
)

from support.errors import raises
from verax.studies import Store

CELL = made_up_cell()
OTHER = made_up_cell(seed=1)


@pytest.mark.parametrize("kind", PLACES)
def test_cells_are_kept_on_every_filesystem(kind: str, tmp_path: Path) -> None:
    folder, filesystem = PLACES[kind](tmp_path)
    store = made_up_store(folder, [CELL], [OTHER], filesystem, weights=True)
    again = Store.open(folder, filesystem)
    assert (again.name, again.format) == ("made up", 3)
    assert again.text() == "name: made up\n"
    assert again.resolved() == json.loads(json.dumps(resolved([CELL, OTHER])))
    assert again.keys() == [CELL.key]
    assert again.complete(CELL.key)
    assert not again.complete(OTHER.key)
    assert again.verify(contents=True) == {}
    for name, data in files_of(CELL, weights=True).items():
        assert again.read(CELL.key, name) == data
    assert again.manifest(CELL.key)["config"] == CELL.to_json()
    assert again.cell(CELL.key) == CELL
    assert again.manifest(CELL.key)["seconds"] == FACTS["seconds"]
    assert store.lock(OTHER.key) is not None
    store.fail(OTHER.key, {"cell": OTHER.key, "reason": "error", "error": "é"})
    assert again.failures() == {
        OTHER.key: {"cell": OTHER.key, "reason": "error", "error": "é"},
    }
    store.commit(OTHER.key, OTHER.to_json(), files_of(OTHER), FACTS)
    assert again.failures() == {}
    assert again.keys() == sorted([CELL.key, OTHER.key])
    again.discard(CELL.key)
    assert again.keys() == [OTHER.key]


def test_the_disk_has_a_cells_files_before_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loss of power leaves no cell with half of its files."""
    store, events, rename = made_up_store(tmp_path / "study", [], [CELL]), [], os.rename

    def renamed(source: Path, target: Path) -> None:
        rename(source, target)
        events.append(("named", target))

    def synced(descriptor: int) -> None:
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        events.append((path.name, os.fstat(descriptor).st_size if path.is_file() else None))

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "rename", renamed)
    store.commit(CELL.key, CELL.to_json(), files_of(CELL, weights=True), FACTS)
    monkeypatch.undo()
    cell = tmp_path / "study" / "cells" / CELL.key
    before = set(events[: events.index(("named", cell))])
    files = {(path.name, path.stat().st_size) for path in cell.rglob("*") if path.is_file()}
    assert len(files) > 5
    assert files <= before
    assert ("model", None) in before  # the names in a folder
    assert events[events.index(("named", cell)) + 1] == ("cells", None)


@pytest.mark.parametrize("kind", ["local path", "pyarrow mock", "fsspec memory"])
def test_a_complete_cell_is_left_alone_and_a_damaged_one_replaced(
    kind: str, tmp_path: Path
) -> None:
    store = made_up_store(*_given(kind, tmp_path))
    first = store.manifest(CELL.key)
    store.commit(CELL.key, CELL.to_json(), files_of(CELL), {**FACTS, "device": "other"})
    assert store.manifest(CELL.key) == first
    store.folder.write_bytes(f"cells/{CELL.key}/single_made.parquet", b"short")
    assert not store.complete(CELL.key)
    store.commit(CELL.key, CELL.to_json(), files_of(CELL), {**FACTS, "device": "other"})
    assert store.manifest(CELL.key)["device"] == "other"
    assert store.verify(contents=True) == {}
    if kind == "local path":
        assert list((tmp_path / "study" / ".scratch").iterdir()) == []


class Full(MemoryFileSystem):  # type: ignore[misc]
    """A filesystem that takes so many more files."""

    left = 1_000_000

    def _open(self, path, mode="rb", **settings):  # type: ignore[no-untyped-def]
        if mode == "wb":
            Full.left -= 1
            if Full.left < 0:
                raise OSError(28, "No space left on device")
        return super()._open(path, mode, **settings)


def test_where_folders_cannot_be_renamed_a_cell_appears_with_its_last_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = made_up_store("/full/study", [], filesystem=Full())
    files = len(files_of(CELL)) + 1
    for left in range(files):
        monkeypatch.setattr(Full, "left", left)
        with raises("output.not-writable"):
            store.commit(CELL.key, CELL.to_json(), files_of(CELL), FACTS)
        assert len(store.folder.sizes("cells")) == left
        assert store.keys() == []
        assert not store.complete(CELL.key)
    monkeypatch.setattr(Full, "left", files)
    store.commit(CELL.key, CELL.to_json(), files_of(CELL), FACTS)
    assert store.keys() == [CELL.key]
    assert store.verify(contents=True) == {}


def test_a_rerun_touches_nothing(tmp_path: Path) -> None:
    made_up_store(tmp_path / "study", [CELL])
    before = everything(tmp_path)
    store = made_up_store(tmp_path / "study", [CELL])
    assert everything(tmp_path) == before
    store.lock(CELL.key)
    made_up_store(tmp_path / "study", [CELL], [OTHER])
    changed = {n for n, was in everything(tmp_path).items() if before.get(n) != was}
    assert changed == {"study/resolved.json", f"study/.locks/{CELL.key}"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["local path", "fsspec memory", "pyarrow mock"])
def test_every_truncated_or_missing_file_is_noticed_and_named(kind: str, tmp_path: Path) -> None:
    store = made_up_store(*_given(kind, tmp_path), weights=True)
    above = f"cells/{CELL.key}"
    sizes = store.folder.sizes(above)
    assert len(sizes) == 9
    for name, size in sizes.items():
        whole = store.folder.read_bytes(f"{above}/{name}")
        for left in (size - 1, size // 2, 0):
            store.folder.write_bytes(f"{above}/{name}", whole[:left])
            assert not store.complete(CELL.key)
            wrong = store.verify()[CELL.key]
            if name == "manifest.json":
                assert wrong == "manifest.json is not JSON"
            else:
                assert wrong == f"{name} has {left:,} of {size:,} bytes"
                with raises("result.damaged", CELL.key, name):
                    store.read(CELL.key, name)
        store.folder.remove(f"{above}/{name}")
        assert not store.complete(CELL.key)
        if name != "manifest.json":
            assert store.verify() == {CELL.key: f"{name} is missing"}
        elif kind == "local path":  # elsewhere a cell without a manifest is not there
            assert store.verify() == {CELL.key: "manifest.json is missing"}
        else:
            assert store.keys() == []
        store.folder.write_bytes(f"{above}/{name}", whole)
        assert store.verify() == {}


def test_changed_bytes_are_noticed_by_their_checksum(tmp_path: Path) -> None:
    store = made_up_store(tmp_path, [CELL, OTHER], weights=True)
    path = tmp_path / "cells" / CELL.key / "model" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    words = "model/model.safetensors has other contents than were written"
    assert store.verify() == {CELL.key: words}
    assert store.verify([OTHER.key]) == {}
    assert store.verify(contents=False) == {}
    assert store.complete(CELL.key)
    with raises("result.damaged", CELL.key, "model/model.safetensors"):
        store.read(CELL.key, "model/model.safetensors")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, ""),
        ({"cell": OTHER.key}, "is of another cell"),
        ({"files": {"../../a": {"size": 1}}}, "names a file outside"),
        ({"files": {"/etc/passwd": {"size": 1}}}, "names a file outside"),
    ],
)
def test_a_manifest_is_read_with_suspicion(
    change: dict[str, Any], words: str, tmp_path: Path
) -> None:
    store = made_up_store(tmp_path, [CELL])
    path = tmp_path / "cells" / CELL.key / "manifest.json"
    manifest = {**json.loads(path.read_text()), **change}
    del manifest["sha256"]
    for written in ({**manifest, "sha256": "0" * 64}, manifest):
        path.write_text(json.dumps(written))
        assert store.verify() == {CELL.key: "manifest.json has other contents than were written"}
    text = json.dumps(manifest, sort_keys=True, separators=(",", ":"))
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps({**manifest, "sha256": sha256}))  # by who knows how
    assert words in store.verify().get(CELL.key, "")
    if change:
        with raises("result.damaged", CELL.key):
            store.manifest(CELL.key)


@pytest.mark.parametrize("name", ["../a", "/a", "deep/a", "model/deep/a", "manifest.json", ""])
def test_a_file_stays_in_its_cell(name: str, tmp_path: Path) -> None:
    store = made_up_store(tmp_path, [])
    with pytest.raises(ValueError, match="cannot be the name of a cell's file"):
        store.commit(CELL.key, CELL.to_json(), {name: b""}, FACTS)
    assert store.keys() == []


def test_leftovers_of_a_cell_are_swept_and_those_of_others_kept(tmp_path: Path) -> None:
    store = made_up_store(tmp_path, [])
    for name in (CELL.key, OTHER.key):
        (tmp_path / ".scratch" / f"{name}-1").mkdir(parents=True)
        (tmp_path / ".scratch" / f"{name}-1" / "file").write_text("half")
        (tmp_path / ".scratch" / f"{name}-2").write_text("half a failure")
    store.sweep(CELL.key)
    left = sorted(path.name for path in (tmp_path / ".scratch").iterdir())
    assert left == [f"{OTHER.key}-1", f"{OTHER.key}-2"]


def test_failures_are_kept_until_forgiven(tmp_path: Path) -> None:
    store = made_up_store(tmp_path, [CELL])
    store.fail(CELL.key, {"error": "of a cell that is done by now"})
    store.fail(OTHER.key, {"error": "new"})
    assert store.failures() == {OTHER.key: {"error": "new"}}
    (tmp_path / "failed" / f"{OTHER.key}.json").write_text("{half")
    assert store.failures()[OTHER.key]["error"] == "its record cannot be read"
    store.forgive(OTHER.key)
    store.forgive(OTHER.key)
    assert store.failures() == {}


def test_another_study_and_other_files_are_refused_untouched(tmp_path: Path) -> None:
    made_up_store(tmp_path / "study", [CELL])
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("mine")
    before = everything(tmp_path)
    with raises("output.occupied", "made up", "other"):
        Store.create(tmp_path / "study", "other", "", {"cells": {}})
    with raises("output.occupied"):
        Store.create(tmp_path / "thesis", "other", "", {"cells": {}})
    with raises("result.missing"):
        Store.open(tmp_path / "thesis")
    with raises("result.missing"):
        Store.open(tmp_path / "nowhere")
    assert everything(tmp_path) == before
    folder, filesystem = PLACES["fsspec memory"](tmp_path)
    filesystem.pipe(f"{folder}/chapter", b"mine")
    with raises("output.occupied"):
        Store.create(folder, "other", "", {"cells": {}}, filesystem)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({"format": 4}, ("result.other-format", "9.9")),
        ({"format": None}, ("result.other-format",)),
    ],
)
def test_another_format_says_what_to_do(
    found: dict[str, Any], expected: tuple[str, ...], tmp_path: Path
) -> None:
    made_up_store(tmp_path, [])
    about = {"name": "made up", "verax": "9.9", **found}
    (tmp_path / "store.json").write_text(json.dumps(about))
    for opening in (lambda: Store.open(tmp_path), lambda: made_up_store(tmp_path, [])):
        with raises(*expected):
            opening()


def _read_all(folder: Path) -> tuple[str, Any]:
    store = Store.open(folder)
    return store.text(), store.resolved()


@pytest.mark.parametrize("name", ["store.json", "resolved.json"])
def test_a_store_whose_own_files_are_damaged_says_so_and_a_rerun_mends_it(
    name: str, tmp_path: Path
) -> None:
    made_up_store(tmp_path, [CELL])
    (tmp_path / name).write_text("{half")
    with raises("result.damaged", name):
        _read_all(tmp_path)
    if name == "store.json":
        (tmp_path / name).unlink()
    store = made_up_store(tmp_path, [CELL])
    assert (store.keys(), store.verify()) == ([CELL.key], {})
    _read_all(tmp_path)


@pytest.mark.parametrize("name", ["study.yaml", "resolved.json"])
def test_a_store_whose_own_files_are_missing_says_so_and_a_rerun_mends_it(
    name: str, tmp_path: Path
) -> None:
    made_up_store(tmp_path, [CELL])
    (tmp_path / name).unlink()
    with raises("result.damaged", name):
        _read_all(tmp_path)
    made_up_store(tmp_path, [CELL])
    _read_all(tmp_path)


def _given(kind: str, tmp_path: Path) -> tuple[Any, Any, Any, Any]:
    folder, filesystem = PLACES[kind](tmp_path)
    return folder, [CELL], (), filesystem

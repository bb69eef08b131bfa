"""A folder is the same on every filesystem."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from made_up_store import FACTS, LOCAL, PLACES, files_of, made_up_cell, made_up_store

from support.errors import raises
from verax.studies import Store
from verax.studies.store.folders import SCRATCH, StorageFolder, storage_folder


@pytest.mark.parametrize("kind", PLACES)
def test_files_are_written_listed_read_and_removed(kind: str, tmp_path: Path) -> None:
    where = storage_folder(*PLACES[kind](tmp_path))
    assert where.is_local == (kind in LOCAL)
    assert where.names() == []
    assert where.sizes("deep") == {}
    assert not where.exists("a")
    where.write_bytes("a", b"one")
    where.write_bytes("deep/er/b", b"")
    where.write_bytes("deep/c", b"four")
    where.write_bytes("deep/c", b"other")
    assert [name for name in where.names() if name != SCRATCH] == ["a", "deep"]
    assert where.names("deep") == ["c", "er"]
    assert where.sizes("deep") == {"c": 5, "er/b": 0}
    assert where.read_bytes("deep/c") == b"other"
    assert (where.exists("deep/c"), where.exists("deep"), where.exists("no")) == (True, True, False)
    with where.open("a") as stream:
        assert stream.read(2) == b"on"
    with pytest.raises(FileNotFoundError):
        where.read_bytes("deep/no")
    where.remove("deep/c")
    where.remove("deep/c")
    assert where.names("deep") == ["er"]
    where.remove_folder("deep")
    where.remove_folder("deep")
    assert where.sizes() == {"a": 3}


@pytest.mark.parametrize("kind", LOCAL)
def test_a_local_folder_is_known_as_one(kind: str, tmp_path: Path) -> None:
    storage_folder(*PLACES[kind](tmp_path)).write_bytes("a", b"one")
    assert (tmp_path / "study" / "a").read_bytes() == b"one"


def test_what_another_wrote_is_seen(tmp_path: Path) -> None:
    """fsspec may remember listings: a filesystem that does must be asked anew."""

    class Remembering(MemoryFileSystem):  # type: ignore[misc]
        remembered: dict[str, object] = {}  # noqa: RUF012

        def ls(self, path, detail=True, **settings):  # type: ignore[no-untyped-def]
            if path not in self.remembered:
                self.remembered[path] = super().ls(path, detail=True)
            found = self.remembered[path]
            return found if detail else [entry["name"] for entry in found]  # type: ignore[attr-defined]

        def invalidate_cache(self, path=None):  # type: ignore[no-untyped-def]
            self.remembered.clear()

    where = storage_folder("/remembered", Remembering())
    where.write_bytes("a", b"")
    assert where.names() == ["a"]
    MemoryFileSystem().pipe("/remembered/b", b"")
    assert where.names() == ["a", "b"]


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    where = storage_folder(tmp_path)
    where.write_bytes("a", b"old")
    with pytest.raises(TypeError):
        where.write_bytes("a", "text")  # type: ignore[arg-type]
    assert where.sizes() == {"a": 3}


def test_what_cannot_be_opened_is_told_in_one_line() -> None:
    fsspec.register_implementation("needy", "not_there.Needy", errtxt="Install needy to have it")
    told = {
        "nowhere://x/y": "option.unknown-value",
        "needy://x/y": "package.missing",
    }
    for url, code in told.items():
        with raises(code) as error:
            storage_folder(url)
        assert "\n" not in str(error.value)


def test_a_filesystem_that_fails_is_told_in_one_line() -> None:
    class Locked(MemoryFileSystem):  # type: ignore[misc]
        def _refuse(self, *given, **settings):  # type: ignore[no-untyped-def]
            raise PermissionError("no credentials\nand a long story")

        info = cat_file = _refuse

    where = storage_folder("/locked", Locked(skip_instance_cache=True))
    for asked in (lambda: where.exists("a"), lambda: Store.open(where)):
        with raises("file.unreadable"):
            asked()


def test_an_object_that_is_no_filesystem_is_refused() -> None:
    with raises("option.wrong-type", "filesystem"):
        storage_folder("x", 7)


PLAIN = made_up_cell()


def test_other_contents_of_the_same_length_are_noticed_elsewhere_too() -> None:
    store = made_up_store("memory://contents", [PLAIN])
    name = f"cells/{PLAIN.key}/single_made.parquet"
    data = store.folder.read_bytes(name)
    store.folder.write_bytes(name, data[:-1] + bytes([data[-1] ^ 1]))
    assert store.verify() == {}  # lengths alone, unless asked
    assert "single_made.parquet" in store.verify(contents=True)[PLAIN.key]


def test_a_cell_that_another_runner_wrote_into_is_written_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = made_up_store("memory://mixed", [])
    write, disturbed = type(store.folder).write_bytes, []

    def disturbing(self: StorageFolder, name: str, data: bytes) -> None:
        write(self, name, data)
        if name.endswith("manifest.json") and not disturbed:
            disturbed.append(name)
            write(self, name.replace("manifest.json", "single_made.parquet"), b"of another runner")

    monkeypatch.setattr(type(store.folder), "write_bytes", disturbing)
    store.commit(PLAIN.key, PLAIN.to_json(), files_of(PLAIN), FACTS)
    assert disturbed
    assert store.verify(contents=True) == {}

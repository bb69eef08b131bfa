"""A folder is there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.errors import raises
from support.internals import refuse_foreign
from verax.errors import VeraxError
from verax.files import replace_folder, write_text


def ours(folder: Path) -> bool:
    return (folder / "mark").is_file()


def fill(content: str):  # type: ignore[no-untyped-def]
    def write(folder: Path) -> None:
        (folder / "mark").write_text(content)
        (folder / "deep").mkdir()
        (folder / "deep" / "file").write_text(content)

    return write


def everything(folder: Path) -> dict[str, str]:
    found = sorted(folder.rglob("*"))
    return {str(p.relative_to(folder)): p.read_text() for p in found if p.is_file()}


def test_a_new_folder_and_its_parents_are_made(tmp_path: Path) -> None:
    replace_folder(tmp_path / "a" / "b", fill("new"), ours)
    assert everything(tmp_path) == {"a/b/mark": "new", "a/b/deep/file": "new"}


def test_an_empty_folder_and_an_earlier_result_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for content in ("first", "second"):
        replace_folder(tmp_path / "a", fill(content), ours)
        (tmp_path / "a" / "stale").write_text("from before")
    replace_folder(tmp_path / "a", fill("third"), ours)
    assert everything(tmp_path) == {"a/mark": "third", "a/deep/file": "third"}
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, OSError])
@pytest.mark.parametrize("there", [True, False])
def test_a_failure_leaves_all_as_it_was(
    error: type[BaseException], there: bool, tmp_path: Path
) -> None:
    if there:
        replace_folder(tmp_path / "a", fill("old"), ours)
    before = everything(tmp_path)

    def fail(folder: Path) -> None:
        fill("new")(folder)
        raise error(28, "No space left on device")

    with pytest.raises(VeraxError if error is OSError else error, match="space left"):
        replace_folder(tmp_path / "a", fail, ours)
    assert everything(tmp_path) == before
    assert [p.name for p in tmp_path.iterdir()] == (["a"] if there else [])


def test_an_old_folder_comes_back_when_the_new_cannot_take_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_folder(tmp_path / "a", fill("old"), ours)
    rename = os.rename

    def fail_on_new(source: Path, target: Path) -> None:
        if Path(source).name == "new":
            raise OSError(5, "Input/output error")
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_on_new)
    with raises("output.not-writable"):
        replace_folder(tmp_path / "a", fill("new"), ours)
    assert everything(tmp_path) == {"a/mark": "old", "a/deep/file": "old"}


def test_what_is_not_ours_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis").write_text("mine")
    (tmp_path / "file").write_text("mine")
    before = everything(tmp_path)
    cases = {"a": "output.occupied", "file": "output.wrong-kind", "file/a/b": "output.not-writable"}
    for place, code in cases.items():
        with raises(code):
            replace_folder(tmp_path / place, fill("new"), ours)
        with raises(code):
            refuse_foreign(tmp_path / place, ours)
    assert everything(tmp_path) == before


def test_a_link_is_followed_and_one_to_nothing_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = tmp_path / "elsewhere" / "real"
    replace_folder(real, fill("old"), ours)
    (tmp_path / "link").symlink_to(real)
    replace_folder(tmp_path / "link", fill("new"), ours)
    assert (tmp_path / "link").readlink() == real
    assert (real / "mark").read_text() == "new"
    (tmp_path / "file").symlink_to(real / "mark")
    write_text(tmp_path / "file", "newer")
    assert (real / "mark").read_text() == "newer"
    for name, leads in {"dangling": tmp_path / "nothing", "loop": tmp_path / "loop"}.items():
        (tmp_path / name).symlink_to(leads)
        with raises("output.not-writable"):
            refuse_foreign(tmp_path / name, ours)
        with raises("output.not-writable"):
            write_text(tmp_path / name, "")
    assert not (tmp_path / "nothing").exists()


def test_text_is_written_as_utf_8_with_unix_line_ends(tmp_path: Path) -> None:
    write_text(tmp_path / "file", "é\nb\n")
    assert (tmp_path / "file").read_bytes() == b"\xc3\xa9\nb\n"

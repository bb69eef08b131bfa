"""Names that nobody can guess, links, devices, places that cannot be written to, and other ones."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from faults import temporary

from support.errors import raises
from support.storage import (
    files,
    json_text,
    kept_if_possible,
    new_file,
    parquet_bytes,
    recover,
    refuse_foreign,
    refuse_unwritable,
    replace_folder,
    scratch,
    scratch_folder,
    sweep,
    write_bytes,
    write_elsewhere,
    write_files,
    write_table,
    write_text,
)
from verax.errors import VeraxWarning, WriteError

PART = ".verax-0123456789abcdef.part"


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "YOUNG", -1.0)


def test_a_planted_link_is_neither_followed_nor_swept_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Even where a name was guessed: what the link leads to stays as it is."""
    secret = tmp_path / "secret"
    secret.write_text("mine")
    monkeypatch.setattr(scratch.secrets, "token_hex", lambda count: "0123456789abcdef")
    (tmp_path / PART).symlink_to(secret)
    for write in (
        lambda: write_bytes(tmp_path / "file", b"theirs"),
        lambda: write_files(tmp_path, {"file": "theirs"}),
        lambda: replace_folder(tmp_path / "folder", lambda target: None, lambda place: True),
    ):
        with raises("output.not-writable"):
            write()
    assert secret.read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == [PART, "secret"]


def test_what_a_living_process_writes_is_left_alone(tmp_path: Path) -> None:
    with new_file(tmp_path / "file") as stream, scratch_folder(tmp_path) as folder:
        stream.write(b"half")
        asked, told = os.pipe()
        child = os.fork()
        if not child:
            sweep(tmp_path)
            write_bytes(tmp_path / "other", b"theirs")
            os.write(told, b"." * len(temporary(tmp_path)))
            os._exit(0)
        os.waitpid(child, 0)
        assert len(os.read(asked, 9)) == 2
        assert folder.is_dir()
        stream.write(b" and half")
    assert (tmp_path / "file").read_bytes() == b"half and half"
    assert temporary(tmp_path) == []


def test_what_others_left_is_swept_unless_it_is_new_or_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / PART).write_text("half")
    (tmp_path / ".verax-mine").write_text("no name of ours")
    monkeypatch.setattr(scratch, "YOUNG", 1.0)
    sweep(tmp_path)
    assert (tmp_path / PART).exists()
    monkeypatch.setattr(scratch, "YOUNG", -1.0)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        sweep(tmp_path)
    assert (tmp_path / PART).exists()
    sweep(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [".verax-mine"]
    os.mkfifo(tmp_path / PART)  # does not wait for somebody to write to it
    sweep(tmp_path)
    sweep(tmp_path / "nowhere")


def test_a_folder_that_was_put_aside_comes_back_before_it_is_read(tmp_path: Path) -> None:
    (tmp_path / PART / "old" / "model").mkdir(parents=True)
    (tmp_path / PART / "old" / "model" / "file").write_text("old")
    recover(tmp_path / "model")
    assert (tmp_path / "model" / "file").read_text() == "old"
    assert temporary(tmp_path) == []


def test_files_that_cannot_be_moved_later_do_not_come_back_over_newer_ones(
    tmp_path: Path,
) -> None:
    ready = tmp_path / PART / "ready"
    (ready / "a").mkdir(parents=True)
    (ready / "a" / "b").write_text("old")
    (ready / "c").write_text("old")
    (tmp_path / "a").write_text("in the way")
    sweep(tmp_path)
    assert (ready / "c").exists()
    write_files(tmp_path, {"c": "new"})
    assert temporary(tmp_path) == []
    assert (tmp_path / "c").read_text() == "new"


def test_modes_follow_the_umask_and_a_private_file_stays_private(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "file", "first")
        replace_folder(tmp_path / "folder", lambda target: None, lambda place: True)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750
    (tmp_path / "file").chmod(0o600)
    write_text(tmp_path / "file", "second")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


def test_a_name_as_long_as_a_name_can_be(tmp_path: Path) -> None:
    """A temporary name that held it would be too long."""
    name = "n" * 255
    write_text(tmp_path / name, "file")
    replace_folder(tmp_path / ("f" * 255), lambda target: None, lambda place: True)
    assert (tmp_path / name).read_text() == "file"


def test_a_device_is_written_to_as_it_is(tmp_path: Path) -> None:
    write_text("/dev/null", "gone")
    with raises("output.not-writable"):
        write_text("/dev/full", "full")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_a_folder_that_cannot_be_replaced_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A shell, or a mount, would go on in the old one."""
    with raises("output.wrong-kind"):
        refuse_foreign("/proc", lambda folder: True)
    monkeypatch.chdir(tmp_path)
    with raises("output.wrong-kind"):
        refuse_foreign(".", lambda folder: True)
    refuse_foreign(".", lambda folder: True, replaced=False)
    refuse_foreign("in-it", lambda folder: True)


def test_a_place_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/proc/result", "/proc/deep/result"):
        with raises("output.not-writable"):
            refuse_unwritable(path)
    refuse_unwritable(tmp_path / "deep" / "result")
    assert list(tmp_path.iterdir()) == []
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    with raises("output.not-writable"):
        refuse_foreign("result", lambda folder: True)


class TestElsewhere:
    """What could not be written where it was asked for."""

    @pytest.fixture
    def places(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
        names = [tmp_path / name for name in ("temporary", "here", "home")]
        for path in names:
            path.mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(names[0]))
        monkeypatch.chdir(names[1])
        monkeypatch.setattr(Path, "home", lambda: names[2])
        return names

    def write(self, path: Path, full: list[Path]) -> None:
        if any(place in path.parents for place in full):
            raise WriteError(f"cannot write {path}: No space left on device")
        write_text(path, "content")

    @pytest.mark.parametrize("full", [0, 1, 2])
    def test_it_is_in_the_next_place_with_room(self, places: list[Path], full: int) -> None:
        error = WriteError("cannot write out: Read-only file system")
        path = write_elsewhere("out", lambda path: self.write(path, places[:full]), error)
        assert path.name == "out"
        assert path.read_text() == "content"
        assert path.parent.parent == places[full]
        assert [list(place.iterdir()) for place in places[:full]] == [[]] * full

    def test_where_nothing_has_room_the_line_says_so(self, places: list[Path]) -> None:
        error = WriteError("cannot write out: No space left on device")
        with raises("output.not-writable"):
            write_elsewhere("out", lambda path: self.write(path, places), error)
        assert [list(place.iterdir()) for place in places] == [[]] * 3

    def test_what_is_kept_for_later_may_be_left_out(self) -> None:
        said = "Read-only file system; it goes on without"
        with pytest.warns(VeraxWarning, match=said), kept_if_possible():
            raise WriteError("cannot write m.candidates: Read-only file system")


def test_the_bytes_of_a_table_are_those_of_pandas(tmp_path: Path) -> None:
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    frame.to_parquet(tmp_path / "pandas", index=False, compression="zstd")
    write_table(tmp_path / "ours", frame, index=False, compression="zstd")
    expected = (tmp_path / "pandas").read_bytes()
    assert (tmp_path / "ours").read_bytes() == expected
    assert parquet_bytes(frame, index=False, compression="zstd") == expected


def test_json_holds_text_that_is_not_utf_8() -> None:
    assert json_text({"é": 1}) == '{"é": 1}'
    assert json_text(["\ud800"]) == '["\\ud800"]'


def test_a_full_disk_is_told_by_the_name_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(stream: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "sync", full)
    monkeypatch.chdir(tmp_path)
    for write in (
        lambda: write_text("out", "text"),
        lambda: write_files("out", {"deep/file": "text"}),
        lambda: replace_folder("out", lambda p: write_text(p / "file", ""), lambda p: True),
    ):
        with raises("output.not-writable", "out", "No space left on device"):
            write()

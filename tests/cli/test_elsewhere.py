"""What cannot be written where it was asked for is written elsewhere, and said."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import verax
from support.errors import raises, refused
from support.internals import PROBE, SAVED_BYTES, files
from verax.cli import main
from verax.errors import WriteError

pytestmark = pytest.mark.usefixtures("alone")

CORPUS = "planted:documents=60,length=12"
QUICK = ["--encoder", "none", "--embedding-size", "4", "--epochs", "1", "--device", "cpu"]


@pytest.fixture
def full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A disk that is full once the work is done: all but the folder for temporary files."""
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    write_bytes = files.write_bytes

    def filled(path: Path, data: bytes, *via: Any) -> None:
        if room not in Path(os.path.abspath(path)).parents and len(data) != len(PROBE):
            raise OSError(28, "No space left on device")
        write_bytes(path, data, *via)

    monkeypatch.setattr(files, "write_bytes", filled)
    monkeypatch.setattr(SAVED_BYTES, filled)
    return room


def test_a_model_is_saved_elsewhere(full: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", CORPUS, *QUICK, "--out", "m"]) == 74
    out, err = capsys.readouterr()
    line = re.fullmatch(rf"verax: .*\bm\b.* ({re.escape(str(full))}/\S+)\n", err)
    assert line is not None
    place = Path(line[1])
    assert full in place.parents
    assert out.endswith(f"saved in {place}\n")
    assert verax.load(place).classes == ["0", "1"]
    assert [path.name for path in Path().iterdir()] == ["room"]


@pytest.mark.slow
def test_a_verdict_is_saved_elsewhere_with_its_page(
    full: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--fail-on has the last word on the exit code."""
    corpus = verax.load_corpus(CORPUS)
    model = verax.train(corpus, encoder="none", embedding_size=4, epochs=1, device="cpu")
    model.save(full / "model")
    words = ["examine", str(full / "model"), "--exams", "replacement", "--out", "v"]
    assert main(words) == 74
    out, err = capsys.readouterr()
    assert err.startswith("verax: ")
    (page,) = (Path(line.split(": ")[1]) for line in out.splitlines() if "to look at" in line)
    assert page.is_file()
    assert isinstance(verax.open(page.parent), verax.Verdict)
    judgement = verax.open(page.parent).judgement
    fails = bool(judgement.withheld or judgement.speaks("against"))
    judged = main([*words, "--limits", "2026-11", "--fail-on", "against"])
    assert judged == (3 if fails else 74)


@pytest.mark.slow
def test_a_verdict_whose_folder_somebody_else_took_meanwhile_is_saved_elsewhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two processes are given one --out, and the other one ends first."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    corpus = verax.load_corpus(CORPUS)
    model = verax.train(corpus, encoder="none", embedding_size=4, epochs=1, device="cpu")
    model.save("model")
    other = verax.examine(model, corpus, "erasure")
    save = verax.Verdict.save

    def late(self: verax.Verdict, folder: Any, **how: Any) -> None:
        if not Path("v").exists():
            save(other, "v")
        save(self, folder, **how)

    monkeypatch.setattr(verax.Verdict, "save", late)
    assert main(["examine", "model", "--exams", "replacement", "--out", "v"]) == 74
    err = capsys.readouterr().err
    place = Path(err.strip().rpartition("it is in ")[2])
    assert verax.load_verdict(place).manifest["exams"] == ["replacement"]
    assert verax.load_verdict("v").manifest["exams"] == ["erasure"]


def test_where_nothing_has_room_it_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(model: object, folder: str, **how: object) -> None:
        raise WriteError(f"cannot write {folder}: No space left on device")

    monkeypatch.setattr(verax.AttentionClassifier, "save", full)
    refused(["train", CORPUS, *QUICK, "--out", "m"], "output.not-writable", "m")
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.slow
def test_candidates_that_cannot_be_kept_are_no_reason_to_stop(
    full: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    auto = ["--grounding", "tying", "--strength", "auto", "--strengths", "1"]
    words = ["train", CORPUS, "--encoder", "mlp", "--hidden-size", "4", *QUICK[2:], *auto]
    assert main([*words, "--out", str(full / "m")]) == 0
    assert verax.load(full / "m").record["strength"]["chosen"] == 1
    assert main([*words, "--out", "m"]) == 74
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[1] for line in lines] == [" warning", " warning", " cannot write m"]
    assert "it goes on without" in lines[0]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["train", "caf\udce9.csv", "--out", "m"], r"caf\udce9.csv"),
        (["examine", "caf\udce9"], r"caf\udce9"),
        (["compare", "a", "caf\udce9"], r"caf\udce9"),
        (["run", "caf\udce9.yaml"], r"caf\udce9.yaml"),
    ],
)
def test_names_that_are_not_utf_8_are_refused_before_the_work(words: list[str], name: str) -> None:
    refused(words, "text.invalid-unicode", name)


def test_so_they_are_in_python() -> None:
    Path("caf\udce9.csv").write_text("text,label\na,b\n")
    with raises("file.bad-name"):
        verax.load_corpus("caf\udce9.csv")


STUDY: dict[str, Any] = {
    "corpora": {"planted": {"documents": 60}},
    "models": {"encoder": "none", "embedding_size": 4},
    "training": {"epochs": 1},
    "exams": ["replacement"],
}


@pytest.mark.parametrize(
    "changed",
    [
        {"sample": 2**63},
        {"training": {"patience": 10**30}},
        {"exams": [{"erasure": {"draws": 2**63}}]},
    ],
)
def test_numbers_that_no_table_holds_are_refused_before_the_work(
    changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Callable[..., Any] = verax.studies.read_study
    assert read({**STUDY, "sample": 2**31 - 1}).cells[0].sample == 2**31 - 1
    with raises("option.out-of-range"):
        read({**STUDY, **changed})

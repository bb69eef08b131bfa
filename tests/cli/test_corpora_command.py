"""`verax corpora`: listing, JSON, saving."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from verax.cli import main
from verax.corpora import describe, load_corpus

pytestmark = pytest.mark.usefixtures("alone")

PLANTED = "planted:documents=60,length=12"


def write_rows(path: str) -> None:
    texts = ["" if i == 5 else f"text {i}, 'quoted'" for i in range(40)]
    Path(path).write_text("text,label\n" + "".join(f'"{t}",{i % 4}\n' for i, t in enumerate(texts)))


def test_json_holds_the_numbers_of_describe(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["corpora", PLANTED, "--json"]) == 0
    out, err = capsys.readouterr()
    (row,) = json.loads(out)
    corpus = load_corpus(PLANTED)
    assert row == {**describe(corpus), "names": ["0", "1"], "notes": []}
    assert err == ""


def test_the_table_names_every_corpus_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    write_rows("a-file-with-quite-a-long-name-that-should-not-be-cut.csv")
    names = [PLANTED, "a-file-with-quite-a-long-name-that-should-not-be-cut.csv"]
    assert main(["corpora", *names]) == 0
    out = capsys.readouterr().out
    assert "…" not in out
    assert names[1] in out
    assert f"{names[1]}: train: 1 empty documents dropped" in out.splitlines()


@pytest.mark.parametrize("flags_first", [False, True])
def test_a_file_is_saved_as_a_corpus(flags_first: bool, capsys: pytest.CaptureFixture[str]) -> None:
    write_rows("mine.csv")
    flags = ["--save", "saved", "--labels", "0=world,2=business"]
    arguments = [*flags, "mine.csv"] if flags_first else ["mine.csv", *flags]
    assert main(["corpora", *arguments]) == 0
    assert capsys.readouterr().err == ""
    saved = load_corpus("saved")
    assert saved.classes == ["world", "business"]
    reference = load_corpus("mine.csv", labels={0: "world", 2: "business"})
    assert saved.fingerprint == reference.fingerprint


def test_reading_options_are_flags(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--limit", "20", "--no-lowercase", "--max-length", "14"]
    assert main(["corpora", PLANTED, "--json", *flags]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    corpus = load_corpus(PLANTED, limit=20, lowercase=False, max_words=14)
    assert row["train"] == len(corpus.train) < 20
    assert row["notes"] == list(corpus.notes)


def test_a_file_of_texts_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one.csv").write_text("body\nGood food, nice staff\nBad\n")
    flags = ["--text-column", "body", "--label-column", "none"]
    assert main(["corpora", str(tmp_path / "one.csv"), *flags]) == 0
    printed = capsys.readouterr().out
    assert "no labels and no splits: all documents are in test" in printed
    assert "warning" not in printed

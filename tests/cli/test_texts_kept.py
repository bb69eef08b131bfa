"""What commands keep of texts: nothing of the user's own, unless asked, and covered where asked."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import verax
from support.errors import refused
from verax.cli import main

SECRET = "agent-47"


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a user's own file, and a model trained on it."""
    folder = tmp_path_factory.mktemp("own")
    lines = ["text,label"]
    lines += [f"{'fine' if n % 2 else 'poor'} work of {SECRET} no {n},{n % 2}" for n in range(60)]
    (folder / "own.csv").write_text("\n".join(lines) + "\n")
    corpus = verax.load_corpus(folder / "own.csv")
    verax.train(corpus, encoder="none", epochs=1, device="cpu").save(folder / "model")
    return folder


def kept(folder: Path) -> bool:
    assert (folder / "report.html").is_file()
    return (folder / "gallery_tokens.parquet").is_file()


@pytest.mark.slow
def test_documents_of_ones_own_are_kept_only_if_asked(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["examine", str(own / "model"), "--corpus", str(own / "own.csv")]
    command += ["--exams", "replacement", "--out"]
    assert main([*command, str(tmp_path / "default")]) == 0
    assert not kept(tmp_path / "default")
    assert "texts of your own are not kept: --gallery 50 shows" in capsys.readouterr().out
    assert main([*command, str(tmp_path / "asked"), "--gallery", "2"]) == 0
    assert kept(tmp_path / "asked")
    assert "not kept" not in capsys.readouterr().out


@pytest.mark.slow
def test_documents_that_come_with_verax_are_kept(tmp_path: Path) -> None:
    corpus = verax.load_corpus("planted", documents=60)
    verax.train(corpus, encoder="none", epochs=1, device="cpu").save(tmp_path / "model")
    command = ["examine", str(tmp_path / "model"), "--exams", "replacement"]
    assert main([*command, "--out", str(tmp_path / "verdict")]) == 0
    assert kept(tmp_path / "verdict")


@pytest.mark.slow
def test_redact_covers_words_in_the_verdict_and_the_page(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "verdict"
    command = ["examine", str(own / "model"), "--corpus", str(own / "own.csv"), "--out", str(out)]
    command += ["--exams", "replacement", "--gallery", "3", "--redact", r"agent-\d+"]
    assert main([*command, "--redact", "no such words"]) == 0
    assert "--redact: words covered in 6 documents" in capsys.readouterr().out
    words = verax.open(out).tables["gallery_tokens"]["text"].tolist()
    assert words.count("█") == 9, "agent, - and 47, in three documents"
    assert not {"agent", "47"} & set(words)
    assert "agent" not in (out / "report.html").read_text().partition("<body")[2].replace(
        "User-Agent", ""
    )


def test_an_explanation_is_covered_before_it_is_written(own: Path, tmp_path: Path) -> None:
    command = ["explain", str(own / "model"), f"fine work of {SECRET}", "--redact", r"agent-\d+"]
    for name in ("words.csv", "words.jsonl", "page.html"):
        assert main([*command, "--out", str(tmp_path / name)]) == 0
        text = (tmp_path / name).read_text()
        assert "█" in text
        assert "agent" not in text
        assert ",47," not in text


def test_a_bad_pattern_is_one_line(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["examine", str(own / "model")], ["explain", str(own / "model"), "text"]):
        refused([*command, "--redact", "("], "option.malformed", "redact")
        assert capsys.readouterr().err.count("\n") == 1


def test_words_that_are_formulas_are_text_in_a_table_of_words(own: Path, tmp_path: Path) -> None:
    path = tmp_path / "words.csv"
    assert main(["explain", str(own / "model"), "fine = @ - +", "--out", str(path)]) == 0
    with path.open(newline="") as file:
        words = [row["word"] for row in csv.DictReader(file)]
    assert words == ["fine", "'=", "'@", "'-", "'+"]

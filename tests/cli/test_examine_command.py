"""`verax examine` as people call it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

import verax
from support.errors import raises
from verax.cli import main
from verax.exams import load_verdict


@pytest.fixture(scope="module")
def folder(planted: verax.Corpus, tmp_path_factory: pytest.TempPathFactory) -> str:
    model = verax.train(planted, tokenizer="whitespace", encoder="none", epochs=3, lr=1e-2)
    where = tmp_path_factory.mktemp("models") / "model"
    model.save(where)
    return str(where)


@pytest.mark.slow
def test_prints_the_tables_and_keeps_every_number(
    folder: str, planted: verax.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "verdict"
    command = ["examine", folder, "--exams", "erasure", "--out", str(out), "--draws", "2"]
    assert main([*command, "--full"]) == 0
    printed = capsys.readouterr().out
    for word in (
        "accuracy",
        "only top",
        "never flips",
        "optimum",
        "mean ratio",
        "random (all draws)",
    ):
        assert word in printed
    kept = load_verdict(out)
    same = verax.examine(folder, planted, "erasure", draws=2)
    pd.testing.assert_frame_equal(kept.summary(), same.summary())


@pytest.mark.slow
def test_another_corpus_and_split(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["examine", folder, "--corpus", "planted", "--documents", "60", "--split", "train"]
    command += ["--exams", "replacement"]
    assert main([*command, "--out", str(tmp_path / "v")]) == 0
    assert load_verdict(tmp_path / "v").manifest["documents"] == 40


@pytest.mark.slow
def test_what_tokens_say_alone_is_kept_for_the_report(folder: str, tmp_path: Path) -> None:
    command = ["examine", folder, "--exams", "single_token", "--out", str(tmp_path / "v")]
    assert main(command) == 0
    tables = load_verdict(tmp_path / "v").tables
    assert tables["single_token_tokens"]["id"].nunique() == 3
    assert main([*command, "--curves", "0", "--overwrite"]) == 0  # over its own earlier result
    assert "single_token_tokens" not in load_verdict(tmp_path / "v").tables


@pytest.mark.slow
def test_a_file_is_read_as_the_model_reads(folder: str, tmp_path: Path) -> None:
    rows = [
        {"tokens": [f"w{i}", f"good{i % 2}_{i % 7}", "w2"], "stars": str(i % 2)} for i in range(90)
    ]
    pd.DataFrame(rows).to_json(tmp_path / "mine.jsonl", orient="records", lines=True)
    command = ["examine", folder, "--corpus", str(tmp_path / "mine.jsonl"), "--exams", "erasure"]
    assert main([*command, "--label-column", "stars", "--out", str(tmp_path / "v")]) == 0


@pytest.mark.slow
def test_all_of_a_lone_file_is_examined_with_labels_or_without(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"tokens": ["w1", f"good{i % 2}_{i % 7}", "never-seen"], "label": 0} for i in range(9)]
    pd.DataFrame(rows).to_json(tmp_path / "mine.jsonl", orient="records", lines=True)
    command = ["examine", folder, "--exams", "erasure,replacement", "--draws", "2"]
    assert main([*command, "--corpus", str(tmp_path / "mine.jsonl")]) == 0
    printed = capsys.readouterr().out
    assert "no splits: all documents are examined" in printed
    assert "9 documents of mine.jsonl, all\n" in printed
    assert "warning: all: 33% of the words are not in the vocabulary" in printed
    assert "accuracy" in printed
    unlabelled = pd.DataFrame(rows)[["tokens"]]
    unlabelled.to_json(tmp_path / "mine.jsonl", orient="records", lines=True)
    out = ["--out", str(tmp_path / "v"), "--gallery", "2"]
    assert main([*command, "--corpus", str(tmp_path / "mine.jsonl"), *out]) == 0
    assert "read without labels, so accuracy is not known" in capsys.readouterr().out
    verdict = load_verdict(tmp_path / "v")
    assert verdict.judgement.accuracy is None
    assert any("have no labels" in line for line in verdict.judgement.caveats)


def test_a_new_file_is_read_like_the_one_trained_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.DataFrame({"body": [f"{w} café {i}" for i in range(20) for w in ("good", "bad")]})
    path = tmp_path / "train.csv"
    frame.assign(label=["a", "b"] * 20).to_csv(path, index=False, encoding="latin-1")
    corpus = verax.load_corpus(path, text_column="body", encoding="latin-1")
    model = verax.train(corpus, encoder="none", epochs=1)
    model.save(tmp_path / "model")
    frame[:9].to_csv(tmp_path / "new.csv", index=False, encoding="latin-1")
    command = ["examine", str(tmp_path / "model"), "--exams", "replacement"]
    assert main([*command, "--corpus", str(tmp_path / "new.csv")]) == 0
    printed = capsys.readouterr().out
    for note in (
        "not UTF-8: read as latin-1, as the corpus that the model was trained on",
        "no column 'text': text is column 'body', as in the corpus that the model was trained on",
        "no column 'label': read without labels",
        "9 documents of new.csv, all",
    ):
        assert note in printed
    in_python = verax.examine(model, frame[:9], "replacement")
    assert in_python.manifest["documents"] == 9
    assert "without_labels" in in_python.manifest
    both = frame.assign(text="good")
    assert verax.examine(model, both, "replacement").manifest["corpus"]["text_column"] == "text"
    with raises("corpus.missing-column", "text_column"):
        verax.examine(model, frame.rename(columns={"body": "review"}), "replacement")


def test_documents_of_all_splits(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["examine", folder, "--exams", "replacement", "--split", "all"]) == 0
    printed = capsys.readouterr().out
    assert "300 documents of planted, all (200 train, 50 validation, 50 test)" in printed


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--exams", "erasur"], ("option.unknown-value", "erasur")),
        (["--exams", ","], ("option.missing",)),
        (["--split", "dev"], ("option.unknown-value", "dev")),
        (["--corpus", "plantd"], ("corpus.unknown", "plantd")),
        (["--limit", "5"], ("option.missing", "--limit", "--corpus")),
        (["--drows", "5"], ("option.unknown", "--drows")),
        (["--draws", "0"], ("option.out-of-range", "draws")),
        (["--draws", "many"], ("option.wrong-type", "draws", "many")),
        (["--max-tokens", "0"], ("option.out-of-range", "--max-tokens")),
        (["--seed", "-1"], ("option.out-of-range", "--seed")),
        (["--limits", "2026-10"], ("limits.unknown-version",)),
        (["--fail-on", "against"], ("option.missing", "--fail-on", "--limits")),
        (["--fail-on", "all", "--limits", "2026-11"], ("option.unknown-value", "all")),
    ],
)
def test_bad_input(
    folder: str, arguments: list[str], expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, ["examine", folder, *arguments], *expected)


def test_no_such_model_and_no_room(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, ["examine", str(tmp_path / "none")], "model.missing")
    (tmp_path / "letter.txt").write_text("dear")
    refusal(capsys, ["examine", folder, "--out", str(tmp_path)], "output.occupied")

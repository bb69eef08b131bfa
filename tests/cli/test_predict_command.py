"""`verax predict`: texts from arguments, files and standard input."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

import verax
from verax.cli import main

TEXTS = ["w1 good0_3 .", "good1_2 good1_1 .", "unseen words"]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("models") / "model"
    corpus = verax.load_corpus("planted:documents=60,length=12")
    verax.train(corpus, encoder="none", epochs=1).save(folder)
    return str(folder)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def expected(model: str) -> pd.DataFrame:
    return verax.load(model).predict(TEXTS)


def on_stdin(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    stream = io.TextIOWrapper(io.BytesIO(content), encoding="utf-8")
    monkeypatch.setattr("sys.stdin", stream)


@pytest.mark.parametrize("flags_first", [False, True])
def test_texts_as_arguments(
    flags_first: bool, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["--device", "cpu"]
    arguments = [model, *flags, *TEXTS] if flags_first else [model, *TEXTS, *flags]
    assert main(["predict", *arguments]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["text", "label", "p_0", "p_1"]
    for line, text, row in zip(lines[1:], TEXTS, expected(model).itertuples(), strict=True):
        assert line.startswith(text)
        assert line.split()[-3:] == [row.label, f"{row.p_0:.4f}", f"{row.p_1:.4f}"]


def test_numbers_are_not_cut_off_beside_long_texts(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", model, "word " * 100]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert "…" not in line.split("…", 1)[1]
    assert len(line.split()[-1]) == 6


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_in_and_a_file_out(
    suffix: str, model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = [TEXTS[0], " ", *TEXTS[1:]]
    pd.DataFrame({"review": texts, "label": ""}).to_csv("in.csv", index=False)
    arguments = ["--file", "in.csv", "--text-column", "review", "--out", f"out{suffix}"]
    assert main(["predict", model, *arguments]) == 0
    assert capsys.readouterr().err == "1 empty text left out\n"
    readers = {
        ".csv": lambda path: pd.read_csv(path, dtype={"label": str}),
        ".jsonl": lambda path: pd.DataFrame(map(json.loads, Path(path).read_text().splitlines())),
        ".parquet": pd.read_parquet,
    }
    frame = readers[suffix](f"out{suffix}")
    assert frame["row"].tolist() == [0, 2, 3]
    assert frame["label"].tolist() == expected(model)["label"].tolist()
    assert frame["p_1"].to_numpy() == pytest.approx(expected(model)["p_1"].to_numpy(), abs=1e-6)
    assert sorted(p.name for p in Path().iterdir()) == sorted(["in.csv", f"out{suffix}"])


def test_one_text_a_line_on_standard_input(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    on_stdin(monkeypatch, "\r\n".join(TEXTS).replace("unseen words", "unseen\u2028words").encode())
    assert main(["predict", model, "--out", "out.csv"]) == 0
    assert pd.read_csv("out.csv")["p_0"].tolist() == pytest.approx(
        expected(model)["p_0"].tolist(), abs=1e-6
    )


def test_a_text_may_hold_commands_for_a_terminal(
    model: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["predict", model, "\x1b[31mred [bold]w1[/bold]"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "[bold]w1[/bold]" in out


@pytest.mark.slow
def test_bad_requests_are_one_line(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("in.csv").write_text("review,label\na,1\n")
    Path("null.jsonl").write_text('{"text": "a"}\n{"text": null}\n')
    Path("empty").mkdir()
    cases = [
        (["empty", "a"], ("model.missing",)),
        (["missing", "a"], ("model.missing",)),
        (["in.csv", "a"], ("model.missing", "in.csv")),
        ([model, "--file", "in.csv"], ("corpus.missing-column", "text")),
        (
            [model, "--file", "in.csv", "--text-column", "revew"],
            ("corpus.missing-column", "review"),
        ),
        ([model, "--file", "none.csv"], ("file.missing",)),
        ([model, "--file", "null.jsonl"], ("corpus.null-value", "1")),
        ([model, "a", "--file", "in.csv"], ("option.conflict",)),
        ([model, "a", "--out", "out.txt"], ("output.unknown-format",)),
        ([model, "a", "--out", "/dev/null/out.csv"], ("output.not-writable", "out.csv")),
        ([model, "a", "--out", "/proc/out.parquet"], ("output.not-writable", "out.parquet")),
        ([model, "a", "--max-tokens", "0"], ("option.out-of-range", "--max-tokens")),
        ([model, "a", "--max-tokens", "x"], ("option.wrong-type", "--max-tokens")),
        ([model, " ", ""], ("text.missing",)),
        ([model, "a", "--devise", "cpu"], ("option.unknown", "--device")),
        ([], ("command.usage",)),
    ]
    for arguments, expected in cases:
        assert "None" not in refusal(capsys, ["predict", *arguments], *expected)
    assert sorted(p.name for p in Path().iterdir()) == ["empty", "in.csv", "null.jsonl"]


def test_standard_input_that_is_no_text_is_one_line(
    model: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    on_stdin(monkeypatch, b"caf\xe9\n")
    refusal(capsys, ["predict", model], "file.wrong-encoding")
    on_stdin(monkeypatch, b"")
    refusal(capsys, ["predict", model], "text.missing")

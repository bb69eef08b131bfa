"""Everything a user can get wrong: one line, exit code 2, nothing written, no traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

import verax
from support.commands import LOADING
from support.errors import raises
from verax.cli import main

pytestmark = pytest.mark.usefixtures("alone")

PLANTED = "planted:documents=60,length=12"
QUICK = ["--encoder", "none", "--epochs", "1"]


def rows(n: int = 40) -> pd.DataFrame:
    return pd.DataFrame(
        {"text": [f"text {i}" for i in range(n)], "label": [i % 2 for i in range(n)]}
    )


def write_null_parquet() -> None:
    rows().assign(text=lambda t: t["text"].where(t.index != 3, None)).to_parquet("mine.parquet")


def write_null_jsonl() -> None:
    lines = [json.dumps({"text": None if i == 3 else f"t {i}", "label": i % 2}) for i in range(40)]
    Path("mine.jsonl").write_text("\n".join(lines))


def write_unseen_label() -> None:
    Path("folder").mkdir()
    rows().to_csv("folder/train.csv", index=False)
    rows().to_csv("folder/validation.csv", index=False)
    rows(5).assign(label="surprise").to_csv("folder/test.csv", index=False)


def csv(content: str | bytes) -> Callable[[], None]:
    raw = content.encode() if isinstance(content, str) else content
    return lambda: Path("mine.csv").write_bytes(raw) and None


BAD_CORPORA: dict[str, tuple[Callable[[], object], str, tuple[str, ...]]] = {
    "missing file": (lambda: None, "mine.csv", ("file.missing", "mine.csv")),
    "missing column": (
        csv("texts,label\na,0\nb,1\n"),
        "mine.csv",
        ("corpus.missing-column", "texts", "text_column", "--text-column"),
    ),
    "column named with escapes": (
        csv('"te\nxt\x1b[31m",label\na,0\n'),
        "mine.csv",
        ("corpus.missing-column", "text"),
    ),
    "empty file": (csv(""), "mine.csv", ("file.empty", "mine.csv")),
    "header only": (csv("text,label\n"), "mine.csv", ("file.empty", "mine.csv")),
    "one class": (
        csv("text,label\n" + "".join(f"a {i},1\n" for i in range(40))),
        "mine.csv",
        ("corpus.one-class", "1"),
    ),
    "copies of too few texts": (
        csv("text,label\n" + "good film,1\nbad film,0\n" * 40),
        "mine.csv",
        ("corpus.empty-split",),
    ),
    "unseen label": (write_unseen_label, "folder", ("corpus.unseen-label", "surprise")),
    "not UTF-8": (csv(b"text,label\ncaf\xe9,1\n"), "mine.csv", ("file.wrong-encoding",)),
    "null in Parquet": (write_null_parquet, "mine.parquet", ("corpus.null-value", "3")),
    "null in JSONL": (write_null_jsonl, "mine.jsonl", ("corpus.null-value", "3")),
    "only empty documents": (
        csv("text,label\n" + ' ,1\n"<br />",0\n' * 20),
        "mine.csv",
        ("corpus.empty-split", "40"),
    ),
    "unquoted commas": (csv("text,label\na, b,1\nc, d,0\n"), "mine.csv", ("file.malformed",)),
    "unknown corpus": (lambda: None, "rotten_tomatos", ("corpus.unknown", "rotten_tomatoes")),
    "bad knob": (lambda: None, "planted:clases=3", ("option.unknown", "classes")),
}


@pytest.mark.parametrize("verb", ["train", "corpora"])
@pytest.mark.parametrize("case", BAD_CORPORA)
def test_bad_corpora(case: str, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    prepare, name, expected = BAD_CORPORA[case]
    prepare()
    flags = ["--out", "out", *QUICK] if verb == "train" else ["--save", "out"]
    refusal(capsys, [verb, name, *flags], *expected)
    assert not Path("out").exists()


BAD_OPTIONS: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "lam 1": (["--lam", "1"], ("option.out-of-range", "lam", "1.0")),
    "lam 1.5": (["--lam", "1.5"], ("option.out-of-range", "lam", "1.5")),
    "lam text": (["--lam", "much"], ("option.wrong-type", "lam", "much")),
    "lam missing": (["--lam"], ("command.usage", "--lam")),
    "epochs 0": (["--epochs", "0"], ("option.out-of-range", "epochs")),
    "epochs half": (["--epochs", "1.5"], ("option.wrong-type", "epochs", "1.5")),
    "tying sizes": (
        ["--encoder", "bilstm", "--grounding", "tying", "--hidden-size", "64"],
        ("option.conflict", "hidden_size", "64", "embedding_size", "100"),
    ),
    "tying without an encoder": (["--grounding", "tying"], ("option.conflict", "tying")),
    "mlm without an encoder": (["--grounding", "mlm"], ("option.conflict", "mlm")),
    "unknown flag": (["--encodr", "conv"], ("option.unknown", "--encodr", "--encoder")),
    "unknown flag with =": (["--encodr=conv"], ("option.unknown", "--encoder")),
    "abbreviated flag": (["--enc", "conv"], ("option.unknown", "--enc")),
    "unknown encoder": (["--encoder", "bilstn"], ("option.unknown-value", "bilstn", "bilstm")),
    "far-off encoder": (["--encoder", "qqq"], ("option.unknown-value", "encoder")),
    "surplus argument": (["again"], ("command.usage", "again")),
    "labels": (["--labels", "0"], ("option.wrong-type", "labels", "0")),
    "negative seed": (["--seed", "-1"], ("option.out-of-range", "--seed")),
    "huge seed": (["--seed", str(2**70)], ("option.out-of-range", "--seed")),
    "no such device": (["--device", "gpu"], ("device.unknown", "gpu")),
    "missing vectors": (["--vectors", "none.txt"], ("file.missing", "none.txt")),
    "missing config": (["--config", "none.yaml"], ("file.unreadable", "none.yaml")),
    "min_df": (["--min-df", "99"], ("corpus.too-small", "min_df", "--min-df")),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags, expected = BAD_OPTIONS[case]
    refusal(capsys, ["train", PLANTED, "--out", "out", *QUICK, *flags], *expected)
    assert not Path("out").exists()


def test_a_gpu_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", PLANTED, "--out", "out", *QUICK, "--device", "cuda:99"]
    refusal(capsys, words, "device.unavailable", "cuda:99", "--device cpu")
    assert not Path("out").exists()


def test_vectors_with_ragged_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("vectors.txt").write_text("good0_1 1 2 3\nw0 1 2\n")
    flags = ["--out", "out", "--vectors", "vectors.txt", *QUICK]
    refusal(capsys, ["train", PLANTED, *flags], "vectors.malformed", "vectors.txt line 2")
    assert not Path("out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("encodr: conv\n", ("option.unknown", "encodr", "my.yaml", "encoder")),
        ("encoder: [conv\n", ("file.malformed", "my.yaml", "1")),
        ("encoder:\n\t- conv\n", ("file.malformed", "my.yaml", "2")),
        ("epochs: 1\nepochs: 2\n", ("option.duplicate", "2", "epochs", "1")),
        ("min-df: 1\nmin_df: 2\n", ("option.duplicate", "min_df")),
        ("a: &a [x]\nb: &b [*a, *b]\n", ("file.malformed",)),
        ("epochs: !!python/object:os.system\n", ("file.malformed",)),
        ("[" * 3000, ("file.malformed",)),
        ("just words\n", ("file.malformed",)),
        ("", ("file.malformed",)),
        ("epochs: many\n", ("option.wrong-type", "epochs", "many")),
        ("epochs: true\n", ("option.wrong-type", "epochs")),
        ("seed: one\n", ("option.wrong-type", "seed", "one")),
        ("seed: -1\n", ("option.out-of-range", "seed")),
        ("labels: zero\n", ("option.wrong-type", "labels", "zero")),
        ("lowercase: 1\n", ("option.wrong-type", "lowercase")),
        ("caf\xe9: 1\n".encode("latin1"), ("file.wrong-encoding",)),
    ],
)
def test_bad_config_files(
    content: str | bytes, expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    raw = content.encode() if isinstance(content, str) else content
    Path("my.yaml").write_bytes(raw)
    arguments = ["train", PLANTED, "--out", "out", "--config", "my.yaml", "--encoder", "none"]
    refusal(capsys, arguments, *expected)
    assert not Path("out").exists()


def test_unknown_names_as_python_keywords() -> None:
    corpus = verax.load_corpus(PLANTED)
    with raises("option.unknown", "encodr", "encoder"):
        verax.train(corpus, encodr="conv")
    with raises("option.unknown", "min_wrds", "min_words"):
        verax.load_corpus(PLANTED, min_wrds=3)


def test_unknown_commands(capsys: pytest.CaptureFixture[str]) -> None:
    refusal(capsys, ["tarin"], "option.unknown-value", "train")
    refusal(capsys, ["zzzzz"], "option.unknown-value")


@pytest.mark.parametrize("missing", ["corpus", "out"])
def test_train_needs_a_corpus_and_a_place(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--out", "out"] if missing == "corpus" else [PLANTED]
    refusal(capsys, ["train", *arguments, *QUICK], "option.missing", missing)


@pytest.mark.parametrize("verb", ["train", "corpora", "demo"])
@pytest.mark.parametrize("place", ["a folder of other things", "a file", "inside a file"])
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    verb: str, place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is made impossible: whoever asks only after it fails this test."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("worked before looking at the place")

    for place in LOADING:
        monkeypatch.setattr(place, never)
    out = "mine"
    if place == "a folder of other things":
        Path("mine").mkdir()
        Path("mine/thesis.txt").write_text("years of work")
    else:
        Path("mine").write_text("years of work")
        out = "mine/deep/er" if place == "inside a file" else out
    arguments = {
        "train": ["train", PLANTED, "--out", out, *QUICK],
        "corpora": ["corpora", PLANTED, "--save", out],
        "demo": ["demo", "--out", out],
    }
    before = sorted(p.name for p in Path().rglob("*"))
    refusal(capsys, arguments[verb], "output.*", out)
    assert sorted(p.name for p in Path().rglob("*")) == before


def test_several_corpora_cannot_be_saved_in_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["corpora", PLANTED, "planted:documents=30", "--save", "out"]
    refusal(capsys, words, "option.missing", "--save")
    assert not Path("out").exists()


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "COMMAND" in capsys.readouterr().out


def test_a_label_asked_for_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["train", PLANTED, "--out", "out", "--labels", "0=a,7=b"]
    refusal(capsys, words, "option.unknown-value", "labels", "7")

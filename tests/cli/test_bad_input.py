"""Everything a user can get wrong: one line, exit code 2, nothing written, no traceback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

import verax
from verax.cli import main
from verax.errors import VeraxError

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


BAD_CORPORA: dict[str, tuple[Callable[[], object], str, list[str]]] = {
    "missing file": (lambda: None, "mine.csv", ["no such file", "mine.csv"]),
    "missing column": (
        csv("texts,label\na,0\nb,1\n"),
        "mine.csv",
        ["no column 'text'", "did you mean 'texts'?", "name it with text_column (--text-column)"],
    ),
    "column named with escapes": (
        csv('"te\nxt\x1b[31m",label\na,0\n'),
        "mine.csv",
        ["no column 'text'"],
    ),
    "empty file": (csv(""), "mine.csv", ["mine.csv is empty"]),
    "header only": (csv("text,label\n"), "mine.csv", ["mine.csv has no rows"]),
    "one class": (
        csv("text,label\n" + "".join(f"a {i},1\n" for i in range(40))),
        "mine.csv",
        ["one class only", "'1'"],
    ),
    "copies of too few texts": (
        csv("text,label\n" + "good film,1\nbad film,0\n" * 40),
        "mine.csv",
        ["no documents left in validation", "more different texts"],
    ),
    "unseen label": (write_unseen_label, "folder", ["label in test never seen", "'surprise'"]),
    "not UTF-8": (csv(b"text,label\ncaf\xe9,1\n"), "mine.csv", ["not UTF-8", "iconv"]),
    "null in Parquet": (write_null_parquet, "mine.parquet", ["null text", "first: row 3"]),
    "null in JSONL": (write_null_jsonl, "mine.jsonl", ["null text", "first: row 3"]),
    "only empty documents": (
        csv("text,label\n" + ' ,1\n"<br />",0\n' * 20),
        "mine.csv",
        ["no documents left", "40 empty documents dropped"],
    ),
    "unquoted commas": (csv("text,label\na, b,1\nc, d,0\n"), "mine.csv", ["more cells", "quotes"]),
    "unknown corpus": (lambda: None, "rotten_tomatos", ["did you mean 'rotten_tomatoes'?"]),
    "bad knob": (lambda: None, "planted:clases=3", ["did you mean 'classes'?"]),
}


@pytest.mark.parametrize("verb", ["train", "corpora"])
@pytest.mark.parametrize("case", BAD_CORPORA)
def test_bad_corpora(case: str, verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    prepare, name, fragments = BAD_CORPORA[case]
    prepare()
    flags = ["--out", "out", *QUICK] if verb == "train" else ["--save", "out"]
    line = refusal(capsys, [verb, name, *flags])
    assert all(fragment in line for fragment in fragments)
    assert not Path("out").exists()


BAD_OPTIONS: dict[str, tuple[list[str], list[str]]] = {
    "lam 1": (["--lam", "1"], ["'lam' is 1.0", "below 1"]),
    "lam 1.5": (["--lam", "1.5"], ["'lam' is 1.5", "below 1"]),
    "lam text": (["--lam", "much"], ["'lam' is 'much'", "expected a number"]),
    "lam missing": (["--lam"], ["--lam", "expected one argument"]),
    "epochs 0": (["--epochs", "0"], ["'epochs' is 0", "at least 1"]),
    "epochs half": (["--epochs", "1.5"], ["'epochs' is '1.5'", "expected a whole number"]),
    "tying sizes": (
        ["--encoder", "bilstm", "--grounding", "tying", "--hidden-size", "64"],
        ["hidden_size (64)", "embedding_size (100)"],
    ),
    "tying without an encoder": (["--grounding", "tying"], ["'tying' needs an encoder"]),
    "mlm without an encoder": (["--grounding", "mlm"], ["'mlm' needs an encoder"]),
    "unknown flag": (["--encodr", "conv"], ["unknown option '--encodr'", "'--encoder'"]),
    "unknown flag with =": (["--encodr=conv"], ["unknown option", "'--encoder'"]),
    "abbreviated flag": (["--enc", "conv"], ["unknown option '--enc'"]),
    "unknown encoder": (["--encoder", "bilstn"], ["'bilstn'", "did you mean 'bilstm'?"]),
    "far-off encoder": (["--encoder", "qqq"], ["choose from bigru, bilstm, conv"]),
    "surplus argument": (["again"], ["unexpected argument 'again'"]),
    "labels": (["--labels", "0"], ["'labels' is '0'", "0=negative"]),
    "negative seed": (["--seed", "-1"], ["--seed is -1", "at least 0"]),
    "huge seed": (["--seed", str(2**70)], ["--seed", "at most"]),
    "no such device": (["--device", "gpu"], ["unknown device 'gpu'"]),
    "missing vectors": (["--vectors", "none.txt"], ["no such vectors file: none.txt"]),
    "missing config": (["--config", "none.yaml"], ["cannot read config none.yaml"]),
    "min_df": (["--min-df", "99"], ["lower min_df (--min-df)"]),
}


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags, fragments = BAD_OPTIONS[case]
    line = refusal(capsys, ["train", PLANTED, "--out", "out", *QUICK, *flags])
    assert all(fragment in line for fragment in fragments)
    assert not Path("out").exists()


def test_a_gpu_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, ["train", PLANTED, "--out", "out", *QUICK, "--device", "cuda:99"])
    assert "device 'cuda:99' is not there: use device cpu or auto (--device cpu)" in line
    assert not Path("out").exists()


def test_vectors_with_ragged_rows(capsys: pytest.CaptureFixture[str]) -> None:
    Path("vectors.txt").write_text("good0_1 1 2 3\nw0 1 2\n")
    flags = ["--out", "out", "--vectors", "vectors.txt", *QUICK]
    line = refusal(capsys, ["train", PLANTED, *flags])
    assert "vectors.txt line 2" in line
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("content", "fragments"),
    [
        ("encodr: conv\n", ["unknown option 'encodr' in my.yaml", "did you mean 'encoder'?"]),
        ("encoder: [conv\n", ["config my.yaml line 1: not valid YAML"]),
        ("encoder:\n\t- conv\n", ["config my.yaml line 2: not valid YAML", "tabs"]),
        ("epochs: 1\nepochs: 2\n", ["line 2: key 'epochs' is given already, in line 1"]),
        ("min-df: 1\nmin_df: 2\n", ["option 'min_df' is given already, written otherwise"]),
        ("a: &a [x]\nb: &b [*a, *b]\n", ["an alias names what it stands in"]),
        ("epochs: !!python/object:os.system\n", ["is not for a config"]),
        ("[" * 3000, ["nested too deep"]),
        ("just words\n", ["names and values"]),
        ("", ["names and values"]),
        ("epochs: many\n", ["'epochs' is 'many'", "expected a whole number"]),
        ("epochs: true\n", ["'epochs' is True", "expected a whole number"]),
        ("seed: one\n", ["'seed' is 'one'"]),
        ("seed: -1\n", ["'seed' is -1"]),
        ("labels: zero\n", ["'labels' is 'zero'", "a mapping"]),
        ("lowercase: 1\n", ["'lowercase' is 1", "true or false"]),
        ("caf\xe9: 1\n".encode("latin1"), ["not UTF-8"]),
    ],
)
def test_bad_config_files(
    content: str | bytes, fragments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    raw = content.encode() if isinstance(content, str) else content
    Path("my.yaml").write_bytes(raw)
    arguments = ["train", PLANTED, "--out", "out", "--config", "my.yaml", "--encoder", "none"]
    line = refusal(capsys, arguments)
    assert all(fragment in line for fragment in fragments)
    assert not Path("out").exists()


def test_unknown_names_as_python_keywords() -> None:
    corpus = verax.load_corpus(PLANTED)
    with pytest.raises(VeraxError, match="unknown option 'encodr': did you mean 'encoder'"):
        verax.train(corpus, encodr="conv")
    with pytest.raises(VeraxError, match="unknown option 'lowercse': did you mean 'lowercase'"):
        verax.load_corpus(PLANTED, lowercse=True)


def test_unknown_commands(capsys: pytest.CaptureFixture[str]) -> None:
    assert "did you mean 'train'?" in refusal(capsys, ["tarin"])
    assert "choose from adversary" in refusal(capsys, ["zzzzz"])


@pytest.mark.parametrize("missing", ["corpus", "out"])
def test_train_needs_a_corpus_and_a_place(missing: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--out", "out"] if missing == "corpus" else [PLANTED]
    assert f"no {missing} given" in refusal(capsys, ["train", *arguments, *QUICK])


@pytest.mark.parametrize("verb", ["train", "corpora", "demo"])
@pytest.mark.parametrize("place", ["a folder of other things", "a file", "inside a file"])
def test_a_place_that_cannot_be_written_is_told_before_the_work(
    verb: str, place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The work is made impossible: whoever asks only after it fails this test."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("worked before looking at the place")

    for module in ("loading", "corpora", "demo"):
        monkeypatch.setattr(f"verax.cli.{module}.load_corpus", never)
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
    assert f"cannot write {out}" in refusal(capsys, arguments[verb])
    assert sorted(p.name for p in Path().rglob("*")) == before


def test_several_corpora_cannot_be_saved_in_one_place(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, ["corpora", PLANTED, "planted:documents=30", "--save", "out"])
    assert "--save takes one corpus" in line
    assert not Path("out").exists()


def test_no_command_prints_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert "COMMAND" in capsys.readouterr().out


def test_a_label_asked_for_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    line = refusal(capsys, ["train", PLANTED, "--out", "out", "--labels", "0=a,7=b"])
    assert "'labels' has '7'" in line

"""Models that were not trained here, wherever a model is named: commands, compare, report."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from wrapped import untrained, wrapped

import verax
from support.errors import raises, refused
from verax.cli import main

MODULE = """
import numpy as np
import verax

def make():
    def by_length(texts):
        share = np.array([min(len(text), 40) / 40 for text in texts])
        return np.stack([1 - share, share], axis=1)
    return verax.from_predict(by_length, ["LABEL_0", "LABEL_1"])

def broken():
    return 1 / 0

def number():
    return 3

def leaving():
    raise SystemExit(0)

def closing():
    raise GeneratorExit

def made_to_leave():
    def by_length(texts):
        if "a b c" in texts:
            raise SystemExit(0)
        share = np.array([min(len(text), 40) / 40 for text in texts])
        return np.stack([1 - share, share], axis=1)
    return verax.from_predict(by_length, ["LABEL_0", "LABEL_1"])
"""


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("module") / "my_module.py"
    file.write_text(MODULE)
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, bert: Any) -> Path:
    target = tmp_path_factory.mktemp("bert")
    bert.module.save_pretrained(target)
    bert.reader.tokenizer.save_pretrained(target)
    return target


@pytest.fixture(scope="module")
def corpus_file(tmp_path_factory: pytest.TempPathFactory, reviews: verax.Corpus) -> Path:
    file = tmp_path_factory.mktemp("corpus") / "reviews.csv"
    reviews.documents("all").to_frame(reviews.classes)[["text", "label"]].to_csv(file, index=False)
    return file


@pytest.fixture(scope="module")
def pooled(reviews: verax.Corpus) -> Any:
    return wrapped(untrained(reviews, encoder="conv"), "functions", name="mine")


@pytest.fixture(scope="module")
def verdict(pooled: Any, reviews: verax.Corpus) -> verax.Verdict:
    return verax.examine(pooled, reviews, ["replacement", "single_token"], split="train")


def test_predict_and_explain_take_a_file(module: Path, capsys: Any) -> None:
    assert main(["predict", f"{module}:make", "a film", "--device", "cpu"]) == 0
    said = capsys.readouterr()
    assert f"running {module}, whose make() makes the model" in said.err
    assert "LABEL_0" in said.out
    assert main(["explain", f"{module}:make", "a film"]) == 0
    assert "leave-one-out" in capsys.readouterr().out


@pytest.mark.slow
def test_a_folder_of_hugging_face_is_a_model(folder: Path, tmp_path: Path, capsys: Any) -> None:
    flags = ["--class-names", "no,yes", "--pieces", "12", "--readout", "first"]
    assert main(["predict", f"hf:{folder}", "the film was good", *flags]) == 0
    assert "p_yes" in capsys.readouterr().out
    texts = ["the film was good " * 2 + "the film" + end for end in ("", " bad", " awful bad")]
    for pieces, answers in (("12", 1), ("16", 3)):  # two are special: ten words are read
        flags[3], out = pieces, tmp_path / f"{pieces}.csv"
        assert main(["predict", f"hf:{folder}", *texts, *flags, "--out", str(out)]) == 0
        assert pd.read_csv(out)["p_yes"].nunique() == answers


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["predict", "{}", "a"], ("option.malformed",)),
        (["predict", "{}:none", "a"], ("model.missing", "none")),
        (["predict", "{}:broken", "a"], ("model.failed", "ZeroDivisionError")),
        (["predict", "{}:number", "a"], ("model.wrong-type", "int")),
        (["predict", "{}:leaving", "a"], ("model.failed", "leaving", "SystemExit")),
        (["predict", "{}:closing", "a"], ("model.failed", "closing", "GeneratorExit")),
        (["explain", "{}:made_to_leave", "a b c"], ("model.failed", "SystemExit")),
        (["predict", "no.py:make", "a"], ("file.missing", "no.py")),
        (["predict", "{}:make", "a", "--pieces", "3"], ("option.not-applicable", "--pieces")),
        (["examine", "{}:make", "--exams", "replacement"], ("corpus.not-named",)),
        (["predict", "hf:nowhere", "a"], ("model.missing", "nowhere")),
        (["predict", "hf:{folder}", "a", "--separator", "\\t"], ("option.malformed", "separator")),
        (["explain", "hf:{folder}", "a", "--separator", " "], ("option.malformed", "separator")),
    ],
)
def test_bad_names_are_refused_in_one_line(
    module: Path, folder: Path, words: list[str], expected: tuple[str, ...], capsys: Any
) -> None:
    refused([word.format(module, folder=folder) for word in words], *expected)
    lines = [line for line in capsys.readouterr().err.splitlines() if "running" not in line]
    assert len(lines) == 1


def test_a_file_or_plugin_that_leaves_is_an_error(tmp_path: Path, capsys: Any) -> None:
    file = tmp_path / "leaving_file.py"
    file.write_text("import sys\nsys.exit(0)\n")
    refused(["predict", f"{file}:make", "a"], "model.failed", file, "SystemExit")
    refused(["--plugin", str(file), "exams"], "plugin.import-failed", "leaving_file.py")


def test_an_exam_that_leaves_is_an_error(
    module: Path, corpus_file: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(verax.EXAMS["deletion"], "see", lambda *_: sys.exit(0))
    words = ["examine", f"{module}:make", "--corpus", str(corpus_file), "--exams", "deletion"]
    refused(words, "model.failed", "SystemExit")


def test_classes_of_one_name_are_refused_whatever_the_way_in(
    folder: Path, tmp_path: Path, capsys: Any
) -> None:
    words = ["predict", f"hf:{folder}", "a film", "--class-names", "pos,pos"]
    refused(words, "model.class-names", "pos")
    file = tmp_path / "twice.py"
    file.write_text(MODULE.replace('"LABEL_0", "LABEL_1"', '"pos", "pos"'))
    refused(["predict", f"{file}:make", "a film"], "model.class-names", "pos")
    with raises("model.class-names", "pos"):
        verax.from_transformers(folder, classes=["pos", "pos"])


def test_examine_prints_the_plan(tmp_path: Path, corpus_file: Path, capsys: Any) -> None:
    file = tmp_path / "own.py"
    file.write_text(
        f"import sys\nsys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import verax\nfrom wrapped import untrained, wrapped\n\n"
        "def make():\n"
        f"    corpus = verax.load_corpus({str(corpus_file)!r})\n"
        "    return wrapped(untrained(corpus, encoder='none'), 'functions')\n"
    )
    words = ["examine", f"{file}:make", "--corpus", str(corpus_file), "--exams", "replacement"]
    assert main([*words, "--permutations", "2"]) == 0
    assert "replacement  exact" in capsys.readouterr().err


def test_a_saved_verdict_keeps_the_kind_of_its_model(
    tmp_path: Path, verdict: verax.Verdict
) -> None:
    verdict.save(tmp_path / "out")
    opened = verax.open(tmp_path / "out")
    assert isinstance(opened, verax.Verdict)
    assert opened.manifest["kind"] == "pooled"
    assert opened.manifest["plan"] == verdict.manifest["plan"]
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["kind"] == "verdict"


def test_an_exam_that_does_not_apply_is_refused(module: Path, corpus_file: Path) -> None:
    with raises("exam.not-applicable"):
        verax.examine(f"{module}:make", corpus_file, ["replacement"])


def test_exams_tells_of_kinds(capsys: Any) -> None:
    assert main(["exams", "single_token"]) == 0
    said = capsys.readouterr().out
    assert "pooled       exact" in said
    assert "predict      not applicable" in said


@pytest.mark.slow
def test_two_kinds_of_model_are_compared_where_both_have_numbers(
    verdict: verax.Verdict, pooled: Any, bert: Any, reviews: verax.Corpus
) -> None:
    exams = ["replacement", "single_token"]
    comparison = verax.compare(
        [pooled, bert], reviews, exams, split="train", permutations=2, progress=False
    )
    assert comparison.groups == ["mine", "BertForSequenceClassification"]
    table = comparison.table().set_index("measure")
    assert table.loc["replacement.uniform.survival", "pairs"] == len(reviews.train)
    only = comparison.only()
    assert "single_token" in only["mine"]
    assert (table[table["note"].str.startswith("only ")]["judged"] == "").all()
    assert "only mine has some numbers of these exams" in str(comparison)
    theirs = verax.examine(bert, reviews, ["replacement"], split="train")
    side = {"mine": verdict, "theirs": theirs}  # each read the same texts by its own tokeniser
    assert "replacement.uniform.survival" in set(
        verax.compare(side, split="train").values().measure
    )
    with raises("result.incomparable", "single_token"):
        verax.compare(side, exams=exams, split="train")


def test_a_report_of_such_a_model_says_what_does_not_apply(
    verdict: verax.Verdict, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)  # no charts
    plan = [{"exam": "information", "runs": "no", "promise": "", "reason": "it has no vectors"}]
    manifest = {**verdict.manifest, "plan": plan, "exams": ["replacement"]}
    summary = verdict.summary()
    told = verax.Verdict({}, manifest, summary[summary["exam"] == "replacement"])
    told.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "it has no vectors" in page
    assert "mine" in page
    assert "No documents are shown" in page


def test_adversaries_and_sweeps_need_a_model_that_verax_trains(pooled: Any) -> None:
    with raises("model.wrong-type"):
        verax.adversaries(pooled)

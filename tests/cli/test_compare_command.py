"""`verax compare` as people call it."""

from __future__ import annotations

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refused import refusal
from rich.console import Console

import verax
from support.errors import raises
from verax.cli import main
from verax.cli.compare import show
from verax.exams import token_curves

pytestmark = pytest.mark.usefixtures("alone")

EXAMS = ["--exams", "replacement,single_token"]
TINY: dict[str, Any] = {"embedding_size": 8, "hidden_size": 8, "epochs": 2, "lr": 0.05}


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """none0, none1, residual0, residual1, sparse, sentences, and a verdict of none0."""
    where = tmp_path_factory.mktemp("models")
    corpus = verax.load_corpus("planted", documents=90, length=12)
    for grounding in ("none", "residual"):
        for seed in (0, 1):
            model = verax.train(
                corpus, encoder="conv", grounding=grounding, seed=seed, device="cpu", **TINY
            )
            model.save(where / f"{grounding}{seed}")
    kinds = {"sparse": {"projection": "sparsemax"}, "sentences": {"hierarchical": True}}
    for name, options in kinds.items():
        verax.train(corpus, encoder="conv", device="cpu", **options, **TINY).save(where / name)
    verax.examine(where / "none0", exams=["replacement", "single_token"]).save(where / "verdict")
    return where


@pytest.fixture
def here(alone: None, folders: Path) -> None:
    for folder in folders.iterdir():
        shutil.copytree(folder, folder.name)


def lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_prints_every_exam_and_writes_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    models = ["none0", "residual0", "none1", "residual1"]
    assert main(["compare", *models, *EXAMS, "--permutations", "2", "--out", "out"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    expected = verax.compare(models, exams=["replacement", "single_token"], permutations=2)
    table = expected.table().set_index("measure")
    shown = lines(out)
    for name in expected.groups:
        assert sum(line.startswith(f"{name}: ") for line in shown) >= 2  # one when done
    own = (
        expected.values()
        .query("measure == 'decisions.accuracy' and model == 'none1'")["value"]
        .iloc[0]
    )
    assert f"grounding=none: none1, 15 documents, accuracy {own:.1f}%" in shown
    assert "grounding=none (the reference): 2 models, seeds 0, 1" in out
    accuracy = table.loc["decisions.accuracy"]
    half = (accuracy["high"] - accuracy["low"]) / 2
    assert (
        f"↑ accuracy {accuracy['reference_value']:.1f}% {accuracy['value']:.1f}% "
        f"{accuracy['difference'] + 0.0:+.1f} ±{half:.1f}"
    ) in " ".join(shown)
    for title in ("Decisions", "Replacement: ", "Single token: "):
        assert any(line.startswith(title) for line in shown)
    for label in (
        "↓ uniform: decisions that survive",
        "↑ permuted, mean over draws: TVD",
        "↓ uniform: Δ F1",
        "↓ a token alone",
        "confidence",
    ):
        assert any(line.startswith(label) for line in shown), label
    assert "over seeds (Welch's)" in out
    wrong = expected.excluded().query("reason == 'wrong decision'")
    assert (
        not len(wrong)
        or "left out of a token alone; tokens that agree; confidence: wrong decision" in out
    )
    assert shown[-2:] == ["saved in out", "to look at: out/report.html"]
    assert "grounding=residual" in Path("out/report.html").read_text(encoding="utf-8")
    kept = pd.read_parquet("out/table.parquet")
    pd.testing.assert_frame_equal(kept, expected.table(), check_dtype=False)
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert list(manifest["groups"]) == expected.groups
    assert manifest["options"]["replacement"] == {"permutations": 2}


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_names_verdicts_and_one_model_each(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "--exams", "replacement,single_token", "plain=verdict", "other=residual1"]
    assert main([*command, "--out", "out/"]) == 0
    out = capsys.readouterr().out
    assert "plain (the reference): 1 model, seed 0" in out
    assert "over documents, paired" in out
    assert sorted(p.name for p in Path("out").iterdir()) == [
        "excluded.parquet",
        "instances.parquet",
        "manifest.json",
        "report.html",
        "table.parquet",
        "values.parquet",
    ]
    assert main(["compare", "[/a]=none0,none1", "b=residual0", *EXAMS]) == 0
    out = capsys.readouterr().out
    assert "[/a] (the reference): 2 models, seeds 0, 1" in out
    assert "[/a] b difference" in lines(out)


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_the_tokens_of_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    text = "w1 good0_3 w2 ."
    command = ["compare", "a=none0,none1", "b=residual0", *EXAMS, "--text", text, "--out", "out"]
    assert main(command) == 0
    shown = lines(capsys.readouterr().out)
    models = {"a": verax.load("none0"), "b": verax.load("residual0")}
    curves = token_curves(models, text)
    pd.testing.assert_frame_equal(pd.read_parquet("out/curves.parquet"), curves)
    assert "One text" in Path("out/report.html").read_text(encoding="utf-8")
    for place, word in enumerate(text.split()):
        own = [curves[curves["model"] == name].iloc[place]["p"] for name in models]
        assert f"{word} {own[0]:.3f} {own[1]:.3f}" in shown
    sure = [curves[curves["model"] == name].iloc[0]["confidence"] for name in models]
    assert f"whole text {sure[0]:.3f} {sure[1]:.3f}" in shown
    assert (
        main([*command[:-4], "--out", "out/", "--overwrite"]) == 0
    )  # with curves in it, it is still ours
    assert not Path("out/curves.parquet").exists()


@pytest.mark.slow
@pytest.mark.usefixtures("here")
def test_another_corpus_and_split(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "none0", "residual0", "--corpus", "planted", "--documents", "60", *EXAMS]
    assert main([*command, "--split", "train", "--sample", "9", "--out", "out"]) == 0
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert (manifest["split"], manifest["documents"], manifest["sampled_from"]) == ("train", 9, 40)
    assert "none0, 9 documents" in capsys.readouterr().out


@pytest.fixture(scope="module")
def of_three(folders: Path) -> verax.Comparison:
    names = {"none": "none0", "sparse": "sparse", "a name that is long": "sentences"}
    few = {"inputs": "gradient", "items": "leave-one-out-renormalised", "device": "cpu"}
    given = {name: folders / folder for name, folder in names.items()}
    return verax.compare(given, exams=["agreement", "erasure", "single_token"], **few)


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_no_line_is_wider_than_the_screen_and_no_name_is_cut(
    of_three: verax.Comparison, width: int
) -> None:
    screen = Console(width=width, highlight=False, record=True, file=io.StringIO())
    show(of_three, screen)
    text = screen.export_text()
    assert max(map(len, text.splitlines())) <= width
    assert "…" not in text
    assert "leave-one-out-renormalised" in text or width < 80
    assert "C: a name that is long" in text
    said = " ".join(text.split())
    assert "agreement is judged on the support" in said
    assert "items are words in A, words in B, sentences in C" in said
    assert text.count("\n") < 150


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ("command.usage",)),
        (["none0"], ("result.too-few",)),
        (["none0", "nowhere"], ("result.missing",)),
        (["a=none0", "b=nowhere"], ("result.missing",)),
        (["a=none0", "b="], ("option.empty", "b")),
        (["a=none0", "residual0"], ("option.malformed",)),
        (["=none0", "b=residual0"], ("option.wrong-type",)),
        (["none0", "none0", "residual0"], ("option.duplicate",)),
        (["none0", "residual0", "--exams", "replacment"], ("option.unknown-value", "replacement")),
        (["none0", "residual0", "--exams", ","], ("option.missing",)),
        (["none0", "residual0", "--split", "dev"], ("option.unknown-value", "dev")),
        (["none0", "residual0", "--sample", "0"], ("option.out-of-range", "--sample")),
        (["none0", "residual0", "--sample", "x"], ("option.wrong-type", "--sample")),
        (["none0", "residual0", "--seed", "-1"], ("option.out-of-range", "--seed")),
        (["none0", "residual0", "--permutations", "0"], ("option.out-of-range", "permutations")),
        (["none0", "residual0", "--permutatons", "2"], ("option.unknown", "--permutations")),
        (["none0", "residual0", "--limit", "5"], ("option.missing", "--limit", "--corpus")),
        (["none0", "residual0", "--corpus", "plantd"], ("corpus.unknown", "plantd")),
        (["none0", "residual0", "--text", " "], ("text.empty", "--text")),
        (["verdict", "residual0", "--text", "w1"], ("option.not-applicable", "--text")),
        (["verdict", "residual0", "--exams", "erasure"], ("result.incomparable",)),
        (["verdict", "residual0", "--permutations", "3"], ("result.incomparable", "10")),
        (["verdict", "residual0", "--split", "train"], ("result.incomparable",)),
        (["none0", "residual0", "--out", "none0"], ("output.occupied",)),
    ],
)
def test_bad_input(
    arguments: list[str], expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, ["compare", *arguments], *expected)
    assert Path("none0/model.safetensors").is_file()
    assert not Path("out").exists()


def test_a_corpus_of_other_classes_is_refused_before_anything_is_examined(
    here: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object, **__: object) -> None:
        raise AssertionError("examined first")

    # the name leads to the function of the same name
    monkeypatch.setattr(sys.modules["verax.studies.comparison.compare"], "examine", never)
    other = ["--corpus", "planted:documents=60,length=12,classes=3"]
    refusal(capsys, ["compare", "none0", "residual0", *other], "corpus.unknown-class", "none0")


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`good`, which has learnt its corpus, `same`, with another seed, and `bad`, which has not."""
    where = tmp_path_factory.mktemp("pair")
    corpus = verax.load_corpus("planted", documents=240, length=12)
    options: dict[str, Any] = {"encoder": "none", "device": "cpu", "lr": 0.05}
    for name, epochs, seed in (("good", 5, 0), ("same", 5, 1)):
        model = verax.train(corpus, epochs=epochs, seed=seed, **options)
        model.save(where / name)
    verax.train(corpus, epochs=1, **{**options, "lr": 1e-6}).save(where / "bad")
    return where


@pytest.mark.slow
@pytest.mark.parametrize(("first", "second", "code"), [("good", "same", 0), ("good", "bad", 3)])
def test_a_build_fails_if_the_second_model_is_surely_worse(
    pair: Path, first: str, second: str, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", f"a={pair / first}", f"b={pair / second}", "--exams", "replacement"]
    assert main([*command, "--limits", "2026-11", "--fail-on", "worse"]) == code
    assert ("worse than a: b, accuracy" in capsys.readouterr().out) is (code == 3)
    assert main(command) == 0, "without --fail-on the numbers are the answer"


@pytest.mark.slow
def test_to_be_better_fails_no_build(pair: Path) -> None:
    command = ["compare", f"a={pair / 'bad'}", f"b={pair / 'good'}", "--exams", "replacement"]
    compared = verax.compare({"a": pair / "bad", "b": pair / "good"}, exams="replacement")
    judged = compared.table().set_index("measure")["judged"]
    assert judged["decisions.accuracy"] == "better"
    worse = set(judged[judged == "worse"].index)
    assert set(compared.worse()["measure"]) == worse
    code = 3 if worse else 0
    assert main([*command, "--limits", "2026-11-measured-3", "--fail-on", "worse"]) == code


@pytest.mark.slow
def test_fail_on_needs_limits_and_one_version_of_them(
    pair: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["compare", str(pair / "good"), str(pair / "bad"), "--fail-on", "worse"]
    refusal(capsys, command, "option.missing", "--fail-on", "--limits")
    for name, version in (("good", "2026-11"), ("bad", "2026-11-measured-3")):
        verdict = verax.examine(pair / name, exams="replacement", limits=version)
        verdict.save(tmp_path / name)
    mixed = [tmp_path / "good", tmp_path / "bad"]
    with raises("result.incomparable", "2026"):
        verax.compare(mixed).worse()
    assert len(verax.compare(mixed, limits="2026-11").worse())

"""`verax sweep` as people call it."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest
from refused import refusal

import verax
from support.internals import CELL_TRAIN, measure_title
from verax.cli import main

pytestmark = pytest.mark.usefixtures("alone")

TINY = ["--documents", "60", "--length", "12", "--encoder", "none", "--epochs", "1"]
FEW = [
    "--inputs",
    "gradient",
    "--items",
    "gradient",
    "--influence",
    "none",
    "--entropy-of",
    "gradient",
]
QUICK = [*TINY, *FEW, "--device", "cpu"]


@pytest.mark.slow
def test_prints_both_tables_and_writes_every_number(capsys: pytest.CaptureFixture[str]) -> None:
    """A list that begins with a negative number is a list, not an option."""
    command = ["sweep", "planted", "--lams", "-3,0.5", "--seeds", "0,1", *QUICK, "--out", "out"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert [line.split()[0] for line in err.splitlines()[1:]] == ["1/4", "2/4", "3/4", "4/4"]
    corpus = verax.load_corpus("planted", documents=60, length=12)
    expected = verax.sweep(
        corpus,
        [-3, 0.5],
        [0, 1],
        encoder="none",
        epochs=1,
        inputs="gradient",
        items="gradient",
        influence="none",
        entropy_of="gradient",
        device="cpu",
    )
    points, moves = expected.points(), expected.correlations().set_index("measure")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "-3 0.5" in lines
    heads = "τ-b Spearman Pearson pooled τ-b τ-b with support"
    assert lines.index("means at each λ, larger being sparser") < lines.index("-3 0.5")
    assert lines.index("-3 0.5") < lines.index("correlation with λ") < lines.index(heads)
    means = points.pivot(index="measure", columns="lam", values="mean")
    columns = ["tau", "spearman", "pearson", "pooled_tau", "support_tau"]
    for measure in (
        "decisions.accuracy",
        "dispersion.documents.support_share",
        "dispersion.entropy.gradient.mean",
    ):
        numbers = " ".join(f"{means.loc[measure, lam]:.3f}" for lam in (-3, 0.5))
        assert f"{measure_title(measure)} {numbers}" in lines
    for measure in ("dispersion.entropy.attention.mean", "agreement.inputs:attention:gradient.tau"):
        numbers = " ".join(
            "–" if pd.isna(moves.loc[measure, c]) else f"{moves.loc[measure, c]:.3f}"
            for c in columns
        )
        assert f"{measure_title(measure)} {numbers}" in lines
    assert "over seeds" in out
    assert lines[-2:] == ["saved in out", "to look at: out/report.html"]
    assert "Along λ" in Path("out/report.html").read_text(encoding="utf-8")
    pd.testing.assert_frame_equal(pd.read_parquet("out/instances.parquet"), expected.instances)
    pd.testing.assert_frame_equal(pd.read_parquet("out/points.parquet"), points)
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert manifest["lams"] == [-3, 0.5]
    assert manifest["seeds"] == [0, 1]
    study = verax.open("out.points")
    assert isinstance(study, verax.StudyResults)
    assert study.counts == {"done": 4}
    (verdict,) = study.verdicts(lam=-3.0, seed=1).values()
    assert verdict.manifest["model"]["options"]["lam"] == -3


@pytest.mark.slow
def test_a_finished_sweep_is_not_trained_again(
    capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    """In a folder named with a slash at its end, as a shell completes it."""
    command = ["sweep", "planted", "--lams=-1,0.5", *QUICK, "--out", "out/"]
    assert main(command) == 0
    first = capsys.readouterr().out
    request.getfixturevalue("no_training")
    assert main([*command, "--overwrite"]) == 0
    assert capsys.readouterr().out == first
    assert "over documents" in first
    assert sorted(p.name for p in Path().iterdir()) == ["out", "out.points"]


@pytest.mark.slow
def test_worker_processes_print_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["sweep", "planted", "--lams=-1,0.5", *QUICK]
    assert main(command) == 0
    here = capsys.readouterr()
    assert main([*command, "--workers", "2"]) == 0
    there = capsys.readouterr()
    assert there.out == here.out
    assert "2 workers" in there.err.splitlines()[0]


@pytest.mark.slow
def test_an_interruption_is_told_and_nothing_is_half_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    train = verax.train

    def stopped(corpus: verax.Corpus, **options: object) -> verax.AttentionClassifier:
        if options["lam"] == 0.5:
            raise KeyboardInterrupt
        return train(corpus, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(CELL_TRAIN, stopped)
    command = ["sweep", "planted", "--lams", "-1,0.5", *QUICK, "--out", "out"]
    assert main(command) == 130
    assert "nothing was written to out; out.points keeps what was" in capsys.readouterr().err
    assert sorted(p.name for p in Path().iterdir()) == ["out.points"]
    assert verax.open_study("out.points").counts == {"done": 1, "missing": 1}
    monkeypatch.setattr(CELL_TRAIN, train)
    assert main(command) == 0
    assert sorted(p.name for p in Path().iterdir()) == ["out", "out.points"]


@pytest.mark.slow
def test_a_sample_of_another_split(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--split", "train", "--sample", "6", "--max-tokens", "50", "--out", "out"]
    assert main(["sweep", "planted", "--lams", "0", *QUICK, *flags]) == 0
    study = verax.open_study("out.points")
    (verdict,) = study.verdicts().values()
    manifest = verdict.manifest
    assert (manifest["split"], manifest["documents"], manifest["sampled_from"]) == ("train", 6, 40)
    out = capsys.readouterr().out
    assert "–" in out  # one λ has no correlation


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--lams", "0,1"], ("option.out-of-range", "lam", "1.0")),
        (["--lams", "0,many"], ("option.wrong-type", "lams", "many")),
        (["--lams", ","], ("option.empty", "--lams")),
        (["--lams"], ("command.usage", "--lams")),
        (["--lams", "-1,x"], ("command.usage", "--lams")),
        (["--seeds", "0.5"], ("option.wrong-type", "seeds", "0.5")),
        (["--seeds", ""], ("option.empty", "--seeds")),
        (["--seeds", "-1"], ("option.out-of-range", "seed")),
        (["--lam", "0.5"], ("option.unknown", "--lams")),
        (["--projection", "softmax"], ("option.unknown", "--projection")),
        (["--draws", "3"], ("option.unknown", "--draws")),
        (["--epochs", "few"], ("option.wrong-type", "epochs", "few")),
        (["--top-k", "0"], ("option.out-of-range", "top_k")),
        (["--influence", "nrom"], ("option.unknown-value", "influence", "nrom", "norm")),
        (["--sample", "x"], ("option.wrong-type", "--sample")),
    ],
)
@pytest.mark.usefixtures("no_training")
def test_bad_input(
    arguments: list[str], expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    given = [a for a in ("--lams", "0.5") if "--lams" not in arguments]
    refusal(capsys, ["sweep", "planted", *TINY[:6], *given, *arguments], *expected)
    assert not list(Path().iterdir())


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--split", "dev"], ("option.unknown-value", "dev")),
        (["--sample", "0"], ("option.out-of-range", "--sample")),
        (["--entropy-of", "gradeint"], ("option.unknown-value", "gradeint")),
        (["--items", "gradeint"], ("option.unknown-value", "gradeint")),
    ],
)
@pytest.mark.usefixtures("no_training")
def test_what_the_exams_refuse_is_told_before_training(
    arguments: list[str], expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, ["sweep", "planted", *TINY, "--lams", "0.5", *arguments], *expected)


@pytest.mark.usefixtures("no_training")
def test_no_such_corpus_and_no_room(capsys: pytest.CaptureFixture[str]) -> None:
    refusal(capsys, ["sweep", "plantd"], "corpus.unknown", "plantd")
    Path("full").mkdir()
    Path("full/letter.txt").write_text("dear")
    refusal(capsys, ["sweep", "planted", *TINY, "--out", "full"], "output.occupied")
    refusal(capsys, ["sweep"], "command.usage")
    assert sorted(str(p) for p in Path().rglob("*")) == ["full", "full/letter.txt"]

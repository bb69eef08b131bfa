"""`verax adversary` as people call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refused import refusal

import verax
from support.internals import ADVERSARY_MODELS
from verax.cli import main
from verax.studies import load_adversaries

TITLES = {
    "mlp-uniform": "mlp, uniform",
    "mlp-own": "mlp, own",
    "mlp-guided-by-base": "mlp, guided by base",
    "mlp-guided-by-adversary": "mlp, guided by adversary",
}
"""Controls as they are printed, where that is not their name."""
QUICK = ["--epochs", "2", "--device", "cpu"]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, and another that differs from it by its seed, beside each other."""
    place = tmp_path_factory.mktemp("models")
    corpus = verax.load_corpus("planted", documents=60, length=12)
    told: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "epochs": 2, "lr": 0.05}
    for seed in (0, 1):
        verax.train(corpus, seed=seed, device="cpu", **told).save(place / f"seed{seed}")
    return place


@pytest.fixture
def base(models: Path, alone: None) -> str:
    return str(models / "seed0")


@pytest.mark.slow
def test_prints_every_part_and_writes_every_number(
    models: Path, base: str, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    command = ["adversary", base, "--lams", "0,1", "--seeds", "1,2", *QUICK, "--out", "out/"]
    command += ["--others", str(models / "seed1"), "--retrain", "5"]
    assert main(command) == 0
    out, err = capsys.readouterr()
    assert err.splitlines()[0].startswith("17 cells; this process")
    assert err.splitlines()[-1].startswith("17/17  mlp, guided by adversary, seed 2  ")
    found = load_adversaries("out")
    expected = verax.adversaries(
        base,
        lams=[0, 1],
        seeds=[1, 2],
        others=[models / "seed1"],
        retrain=[5],
        epochs=2,
        device="cpu",
    )
    pd.testing.assert_frame_equal(found.instances, expected.instances)
    lines = [" ".join(line.split()) for line in out.splitlines()]
    scores = found.controls().set_index("name")
    told = scores.loc["base"]
    start = f"the base: F1 {percent(told['f1'])}, accuracy {percent(told['accuracy'])} on test"
    assert f"{start}, 10 documents" in lines
    against = found.against_yardstick().set_index("lam")
    for row in found.points().to_dict(orient="records"):
        start = f"{row['lam']:g}{' *' if row['chosen'] else ''}"
        beyond = f"{against.loc[row['lam'], 'difference']:+.3f}"
        assert f"{start} {numbers(row)} {beyond}" in lines
        assert f"{start} {numbers(row, 'validation_')}" in lines
    others = found.yardstick().set_index("measure")["mean"]
    assert f"other seeds {numbers(others)}" in lines
    chosen = found.chosen()
    words = (
        f"validation F1 {percent(chosen.f1)} (the base {percent(chosen.base_f1)}), accuracy "
        f"{percent(chosen.accuracy)} (the base {percent(chosen.base_accuracy)}), "
        f"{percent(chosen.same)} of decisions the same"
    )
    assert words in out
    beyond = f"beyond it on {percent(against.loc[chosen.lam, 'beyond'])} of documents"
    assert f"over documents, for the models at hand; {beyond}" in out
    yard = found.yardstick().set_index("measure").loc["jsd"]
    words = "yardstick: 2 models that differ from the base only by seed: JSD"
    assert any(line.startswith(f"{words} {yard['mean']:.3f} [") for line in lines)
    assert any(line.startswith(f"λ {found.chosen().lam:g} against it: JSD ") for line in lines)
    for name, row in scores.iterrows():
        start = f"{TITLES.get(str(name), name)} {percent(row['f1'])} {percent(row['accuracy'])} "
        assert any(line.startswith(start) for line in lines)
    assert "95% intervals, over seeds" in out
    assert lines[-2:] == ["saved in out/", "to look at: out/report.html"]
    assert "The chosen adversary" in Path("out/report.html").read_text(encoding="utf-8")
    assert sorted(p.name for p in Path().iterdir()) == ["out", "out.models"]
    manifest = json.loads(Path("out/manifest.json").read_text())
    assert (manifest["retrain"], manifest["base"]["name"]) == ([5], Path(base).name)
    assert manifest["others"] == [{"name": "seed1", "seed": 1}]

    request.getfixturevalue("no_training")  # all is kept by now
    assert main([*command, "--overwrite"]) == 0
    assert capsys.readouterr().out == out


def percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def numbers(row: Any, start: str = "") -> str:
    apart = [f"{row[start + name]:.3f}" for name in ("jsd", "tvd")]
    return " ".join(apart + [percent(row[start + n]) for n in ("same", "accuracy", "f1")])


@pytest.mark.slow
def test_more_than_two_classes_fit_a_narrow_terminal_and_have_macro_f1(
    alone: None, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = verax.load_corpus("planted", documents=60, classes=3, length=12)
    verax.train(corpus, encoder="none", embedding_size=8, epochs=1, device="cpu").save("base")
    command = ["adversary", "base", "--lams", "0.25", "--seeds", "0", "--retrain", "1", *QUICK]
    assert main([*command, "--no-controls"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("note: seed 0 is the base's")
    tables = [line for line in lines if line.startswith(("λ  ", "other seeds", "0.25 *"))]
    heads = ["λ", "JSD", "TVD", "same", "decisions", "accuracy", "macro", "F1", "beyond", "seeds"]
    assert tables[0].split() == heads
    assert len(tables) == 5
    assert max(map(len, tables)) <= 80


def test_adversaries_alone_and_no_yardstick(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["adversary", base, "--lams", "0.5", "--no-controls", "--split", "validation"]
    flags = ["--corpus", "planted", "--documents", "60", "--length", "12", "--batch-size", "8"]
    assert main([*command, *flags, *QUICK, "--workers", "1"]) == 0
    out = capsys.readouterr().out
    assert "no yardstick: --retrain" in out
    assert "controls" not in out
    assert "on validation, 10 documents" in out
    assert "95% intervals, over documents" in out
    assert not list(Path().iterdir())


@pytest.mark.slow
def test_one_other_model_and_guides_that_cannot_be(
    alone: None, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = verax.load_corpus("planted", documents=60, sentences=2, length=16)
    told: dict[str, Any] = {"hierarchical": True, "encoder": "none", "epochs": 1, "device": "cpu"}
    verax.train(corpus, **told).save("base")
    assert main(["adversary", "base", "--lams", "0.5", "--retrain", "3", *QUICK]) == 0
    out = capsys.readouterr().out
    assert "yardstick: 1 model that differs from the base only by seed: JSD " in out
    why = "the base attends sentences, and a guide attends words"
    assert f"left out: mlp, guided by base; {why}" in out


@pytest.mark.slow
def test_an_interruption_is_told_and_nothing_is_half_written(
    base: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*given: object, **options: object) -> None:
        raise KeyboardInterrupt

    command = ["adversary", base, "--lams", "0.5", *QUICK, "--out", "out"]
    with monkeypatch.context() as patched:
        patched.setattr(f"{ADVERSARY_MODELS}.train", stopped)
        assert main(command) == 130
    assert "nothing was written to out; out.models keeps what was" in capsys.readouterr().err
    assert sorted(p.name for p in Path().iterdir()) == ["out.models"]
    kept = verax.open_grid("out.models").cells.query("status == 'done'")
    assert kept["name"].tolist() == ["base", "adversary"]
    assert main(command) == 0
    assert sorted(p.name for p in Path().iterdir()) == ["out", "out.models"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--lams", "0,-1"], ("option.out-of-range", "lams")),
        (["--lams", "0,many"], ("option.wrong-type", "lams", "many")),
        (["--lams", ","], ("option.empty", "--lams")),
        (["--seeds", ""], ("option.empty", "--seeds")),
        (["--seeds", "0.5"], ("option.wrong-type", "seeds", "0.5")),
        (["--seeds", "-1"], ("option.out-of-range", "seeds")),
        (["--out", "/proc/x"], ("output.not-writable",)),
        (["--workers", "0"], ("option.out-of-range", "--workers")),
        (["--retrain", "x"], ("option.wrong-type", "retrain", "x")),
        (["--retrain", "0"], ("option.conflict", "0")),
        (["--others", "nowhere"], ("model.missing",)),
        (["--split", "dev"], ("option.unknown-value", "dev")),
        (["--epochs", "few"], ("option.wrong-type", "epochs", "few")),
        (["--epochs", "0"], ("option.out-of-range", "epochs")),
        (["--lam", "0.5"], ("option.unknown", "--lams")),
        (["--encoder", "conv"], ("option.unknown", "--encoder")),
        (["--class-weight", "balanced"], ("option.unknown", "--class-weight")),
        (["--limit", "5"], ("option.missing", "--limit", "--corpus")),
        (["--corpus", "plantd"], ("corpus.unknown", "plantd")),
        (
            ["--corpus", "planted", "--documents", "72"],
            ("corpus.changed", "--corpus", "planted", "12", "60"),
        ),
        (["--device", "gpu"], ("device.unknown", "gpu")),
    ],
)
@pytest.mark.usefixtures("no_training")
def test_bad_input(
    base: str, arguments: list[str], expected: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    refusal(capsys, ["adversary", base, *arguments], *expected)
    assert not list(Path().iterdir())


@pytest.mark.usefixtures("no_training")
def test_no_model_and_no_room(base: str, capsys: pytest.CaptureFixture[str]) -> None:
    refusal(capsys, ["adversary", "nowhere"], "model.missing")
    refusal(capsys, ["adversary"], "command.usage")
    Path("full").mkdir()
    Path("full/letter.txt").write_text("dear")
    refusal(capsys, ["adversary", base, "--out", "full"], "output.occupied")
    Path("full").rename("out.models")
    refusal(capsys, ["adversary", base, "--out", "out"], "output.occupied")
    assert sorted(str(p) for p in Path().rglob("*")) == ["out.models", "out.models/letter.txt"]

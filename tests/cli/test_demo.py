"""The demo, on fewer reviews and for one epoch; everything else as a user sees it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import verax
from support.documents import tokens_of
from support.errors import refused
from verax.cli import demo, main
from verax.exams import load_verdict


@pytest.fixture(params=[300])
def small(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = verax.load_corpus("rotten_tomatoes", limit=request.param)
    monkeypatch.setattr(demo, "load_corpus", lambda name: corpus)
    monkeypatch.setitem(demo.SETTINGS, "epochs", 1)
    monkeypatch.setitem(demo.SETTINGS, "lr", 2e-2)  # so that attention is sparse after it


@pytest.mark.slow
@pytest.mark.parametrize("small", [80], indirect=True)
@pytest.mark.usefixtures("small")
def test_shows_three_models_and_saves_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "demo"
    assert main(["demo", "--out", str(out)]) == 0
    shown = capsys.readouterr().out
    for word in (
        "softmax",
        "sparsemax",
        "tied",
        "accuracy",
        "F1",
        "support",
        "entropy",
        "at least",
        "or else",
        "beyond 0.5",
    ):
        assert word in shown
    frame = pd.read_parquet(out / "demo.parquet").set_index("model")
    assert frame.loc["softmax", "support"] == frame.loc["softmax", "items"]
    assert frame.loc["sparsemax", "support"] < frame.loc["sparsemax", "items"]
    flipped = frame[frame["flipped"] > 0]  # one epoch on so few may leave none
    assert (flipped["erased_optimum"] <= flipped["erased_product"] + 1e-12).all()
    assert (frame["JSD, ε = 0.01"] <= frame["JSD, ε = 0.05"]).all()
    assert (frame["JSD, ε = 0.05"] <= frame["any output"]).all()
    for name in ("softmax", "sparsemax", "tied"):
        assert load_verdict(out / f"{name}-verdict").manifest["exams"] == [
            *(*demo.EXAMINED, *demo.DRAWN)
        ]
        model = verax.load(out / name)
        assert model.record["test"]["accuracy"] == pytest.approx(frame.loc[name, "accuracy"])
    page = (out / "report.html").read_text(encoding="utf-8")
    for chart in ("dispersion-entropy", "information-bars", "single_token-tokens"):
        assert f'data-chart="{chart}"' in page


@pytest.mark.slow
@pytest.mark.usefixtures("small")
def test_examples_are_right_one_of_each_class_and_short() -> None:
    corpus = demo.load_corpus("rotten_tomatoes")
    model = verax.train(corpus, encoder="none", epochs=4, lr=1e-2)
    rows = demo.example_rows({"only": model}, corpus)
    assert 1 <= len(rows) <= 2
    labels = model.predict([corpus.test.texts[r] for r in rows])["label"].tolist()
    assert labels == [corpus.classes[corpus.test.labels[r]] for r in rows]
    assert len(set(labels)) == len(labels)
    for row in rows:
        assert 10 <= len(tokens_of(corpus.test)[row]) <= 16


def test_a_foreign_out_folder_is_refused_before_anything_is_trained(
    tmp_path: Path,
) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    refused(["demo", "--out", str(tmp_path)], "output.occupied")
    assert [p.name for p in tmp_path.iterdir()] == ["letter.txt"]

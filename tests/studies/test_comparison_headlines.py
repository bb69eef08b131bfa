"""A comparison gives each model's answer before its tables, and says where nothing was learnt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import verax
from verax.cli.compare import show
from verax.cli.terminal import console
from verax.report.comparison_parts import comparison_parts
from verax.studies import Comparison, load_comparison


@pytest.fixture(scope="module")
def comparison(planted: verax.Corpus) -> Comparison:
    tiny: dict[str, Any] = {"encoder": "none", "embedding_size": 8, "hidden_size": 8}
    learnt = verax.train(planted, epochs=3, lr=0.05, **tiny)
    as_begun = verax.train(planted, epochs=1, lr=1e-9, **tiny)
    models = {"learnt": learnt, "not": as_begun}
    return verax.compare(models, planted, exams=["replacement"], split="train")


@pytest.mark.slow
def test_headlines_come_first(
    comparison: Comparison, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, *_ = str(comparison).splitlines()
    assert first.startswith("learnt: ")
    assert "nothing" not in first
    assert second.startswith("not: No verdict: this model ")
    assert "learnt nothing" in second
    learnt = {name: [m["learnt"] for m in g] for name, g in comparison.manifest["groups"].items()}
    assert learnt == {"learnt": [True], "not": [False]}
    show(comparison, console())
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.index("learnt nothing") < printed.index("difference")
    page = comparison_parts(comparison)[0].inner
    assert page.index("learnt nothing") < page.index("<table")


def test_one_that_was_saved_without_headlines_opens(comparison: Comparison, tmp_path: Path) -> None:
    for models in comparison.manifest["groups"].values():
        for model in models:
            del model["headline"], model["learnt"]
    comparison.save(tmp_path / "old")
    assert str(load_comparison(tmp_path / "old")).startswith("not against learnt: ")

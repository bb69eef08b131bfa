"""What `model.explain` returns, as a page: the same from Python and the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd

import verax
from support.errors import raises
from verax.cli import main
from verax.models import AttentionClassifier

TEXTS = ["w1 good0_3 w2 .", "w3 <b> w4 ."]


def test_python_writes_the_page_of_the_command(
    make_model: Callable[..., AttentionClassifier], tmp_path: Path
) -> None:
    model = make_model(encoder="none")
    explained = model.explain(TEXTS, by=["attention", "leave-one-out"], target=1)
    verax.report.report(explained, tmp_path / "python.html")
    model.save(tmp_path / "model")
    command = ["explain", str(tmp_path / "model"), *TEXTS, "--by", "attention,leave-one-out"]
    assert main([*command, "--target", "1", "--out", str(tmp_path / "command.html")]) == 0
    page = (tmp_path / "python.html").read_text()
    assert page == (tmp_path / "command.html").read_text()
    assert "text 1: " in page
    assert "&lt;b&gt;" in page
    assert "Attention does not depend on the class explained" in page
    titled = verax.report.report_page(explained.drop(columns="label"), "Mine")
    assert "<title>Mine</title>" in titled


def test_another_table_is_refused() -> None:
    with raises("result.wrong-kind"):
        verax.report.report_page(pd.DataFrame({"text": [0], "word": ["a"]}))

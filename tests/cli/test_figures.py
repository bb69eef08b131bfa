"""`verax figures` as people call it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from support.errors import refused
from verax.cli import main
from verax.exams import Verdict
from verax.exams.authoring import summary_frame
from verax.studies import Sweep

pytestmark = pytest.mark.usefixtures("alone")


def call(*arguments: str) -> None:
    assert main(["figures", *arguments]) == 0


def saved(folder: str, value: float = 4.0) -> None:
    cell = {"table": "information", "row": "frequent words", "column": "information", "n": 9}
    summary = summary_frame("information", [{**cell, "value": value, "unit": "number"}])
    Verdict({}, {"format": 1, "exams": ["information"], "tables": []}, summary).save(folder)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89P")])
def test_writes_files(kind: str, start: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    saved("run")
    call("run", "--format", kind, "--out", "figures")
    assert [path.name for path in Path("figures").iterdir()] == [f"information-bars.{kind}"]
    assert Path(f"figures/information-bars.{kind}").read_bytes().startswith(start)
    assert f"figures/information-bars.{kind}  How much of the word" in capsys.readouterr().out


@pytest.mark.slow
def test_several_verdicts_are_on_one_chart() -> None:
    for folder in ("a/run", "b/run"):
        saved(folder)
    call("a/run", "b/run", "--out", "by-path")
    text = Path("by-path/information-bars.svg").read_text()
    assert ">a/run<" in text
    assert ">b/run<" in text
    call("mine=a/run", "other=b/run", "--out", "by-name")
    assert ">mine<" in Path("by-name/information-bars.svg").read_text()


def a_sweep(folder: str) -> None:
    rows = [
        {"lam": lam, "seed": 0, "id": i, "measure": m, "value": 0.5 + i / 9, "reason": None}
        for lam in (-1.0, 0.0, 0.5)
        for i in range(3)
        for m in ("decisions.accuracy", "dispersion.documents.support_share")
    ]
    Sweep(pd.DataFrame(rows)).save(folder)


def test_a_sweep() -> None:
    a_sweep("sweep")
    call("sweep", "--out", "figures")
    assert [path.name for path in Path("figures").iterdir()] == ["sweep-accuracy.svg"]


def test_verdicts_in_one_folder_are_on_one_chart() -> None:
    for folder in ("demo/soft-verdict", "demo/sparse-verdict"):
        saved(folder)
    call("demo", "--out", "figures")
    text = Path("figures/information-bars.svg").read_text()
    assert ">soft<" in text
    assert ">sparse<" in text


@pytest.mark.slow
def test_refusals() -> None:
    saved("run")
    a_sweep("sweep")
    Path("empty").mkdir()
    Path("file").write_text("")
    Verdict({}, {"format": 1, "exams": [], "tables": []}).save("bare")
    for arguments, expected in (
        (["run", "--format", "gif", "--out", "x"], ("output.unknown-format", "gif")),
        (["empty", "--out", "x"], ("result.missing",)),
        (["nowhere", "--out", "x"], ("file.missing",)),
        (["bare", "--out", "x"], ("chart.nothing-to-draw",)),
        (["run", "empty", "--out", "x"], ("result.missing",)),
        (["run", "sweep", "--out", "x"], ("result.wrong-kind",)),
        (["run", "run", "--out", "x"], ("option.duplicate",)),
        (["a=run", "run", "--out", "x"], ("option.malformed", "run")),
        (["a=run", "a=run", "--out", "x"], ("option.duplicate",)),
        (["run", "--out", "file"], ("output.wrong-kind",)),
    ):
        refused(["figures", *arguments], *expected)
    assert not Path("x").exists()

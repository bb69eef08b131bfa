"""`verax figures` as people call it."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from verax.cli import figures
from verax.cli.parsing import Parser
from verax.errors import VeraxError
from verax.exams import Verdict
from verax.exams.verdict import summary_frame
from verax.studies import Sweep

pytestmark = pytest.mark.usefixtures("alone")


def call(*arguments: str) -> None:
    parser = Parser(prog="verax")
    figures.add(parser.add_subparsers(dest="verb", metavar="COMMAND", parser_class=Parser))
    given = parser.parse(["figures", *arguments])
    given.run(given)


def saved(folder: str, value: float = 4.0) -> None:
    cell = {"table": "information", "row": "frequent words", "column": "information", "n": 9}
    summary = summary_frame("information", [{**cell, "value": value}])
    Verdict({}, {"format": 1, "exams": ["information"], "tables": []}, summary).save(folder)


@pytest.mark.parametrize(("kind", "start"), [("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89P")])
def test_writes_files(kind: str, start: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    saved("run")
    call("run", "--format", kind, "--out", "figures")
    assert [path.name for path in Path("figures").iterdir()] == [f"information-bars.{kind}"]
    assert Path(f"figures/information-bars.{kind}").read_bytes().startswith(start)
    assert f"figures/information-bars.{kind}  How much of the word" in capsys.readouterr().out


def test_several_verdicts_are_on_one_chart() -> None:
    for folder in ("a/run", "b/run"):
        saved(folder)
    call("a/run", "b/run", "--out", "by-path")
    text = Path("by-path/information-bars.svg").read_text()
    assert ">a/run<" in text
    assert ">b/run<" in text
    call("mine=a/run", "other=b/run", "--out", "by-name")
    assert ">mine<" in Path("by-name/information-bars.svg").read_text()


def test_a_sweep() -> None:
    rows = [
        {"lam": lam, "seed": 0, "id": i, "measure": m, "value": 0.5 + i / 9, "reason": None}
        for lam in (-1.0, 0.0, 0.5)
        for i in range(3)
        for m in ("accuracy", "support_share")
    ]
    Sweep(pd.DataFrame(rows)).save("sweep")
    call("sweep", "--out", "figures")
    assert [path.name for path in Path("figures").iterdir()] == ["sweep-accuracy.svg"]


def test_refusals() -> None:
    saved("run")
    Path("empty").mkdir()
    Path("file").write_text("")
    Verdict({}, {"format": 1, "exams": [], "tables": []}).save("bare")
    for arguments, said in (
        (["run", "--format", "gif", "--out", "x"], "unknown format 'gif': choose from svg, pdf"),
        (["empty", "--out", "x"], "nothing to draw in empty: expected a saved verdict, sweep"),
        (["nowhere", "--out", "x"], "nothing to draw in nowhere"),
        (["bare", "--out", "x"], "nothing to draw: these results have no table with a chart"),
        (["run", "empty", "--out", "x"], "empty is not a saved verdict"),
        (["run", "run", "--out", "x"], "a folder is given twice"),
        (["a=run", "run", "--out", "x"], "run has no name, others have"),
        (["a=run", "a=run", "--out", "x"], "two results have one name"),
        (["run", "--out", "file"], "cannot write file: it is a file, give a folder"),
    ):
        with pytest.raises(VeraxError, match=said):
            call(*arguments)
    assert not Path("x").exists()

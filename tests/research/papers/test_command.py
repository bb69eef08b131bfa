"""`python -m research papers` as typed: all papers at smoke scale, and what is refused."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from forked_workers import forked_workers
from research.__main__ import main
from research.papers import NAMES, Checked, Claim, Finding, PaperResults, command, paper, papers
from research.papers.checking import TRIAL
from research.papers.verdicts import CANNOT, Part, above
from verax.statistics import SeedMean
from verax.studies import Cell, Store, Study

pytestmark = pytest.mark.usefixtures("alone")


def typed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["papers", *arguments]) == code
    return capsys.readouterr().out


def contents(folder: str) -> dict[str, bytes]:
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


@pytest.mark.slow
def test_all_papers_from_training_to_claims(capsys: pytest.CaptureFixture[str]) -> None:
    with forked_workers():
        out = typed(capsys, *["run", "all", "--scale", "smoke", "--out", "ran", "--workers", "2"])
    assert out.count(TRIAL) == len(NAMES)
    for name in NAMES:
        folder = Path("ran", name)
        assert {path.name for path in folder.glob("*/store.json")}
        claims = json.loads((folder / "claims.json").read_text(encoding="utf-8"))["claims"]
        assert [claim["id"] for claim in claims] == [claim.id for claim in paper(name).claims]
        assert any(part["of"] for claim in claims for part in claim["parts"])
        assert (folder / "README.md").is_file()
        keys = {path.name for path in folder.glob("*/cells/*")}
        for file in (folder / "tables").iterdir() if name == NAMES[-1] else ():
            shown = typed(capsys, "table", name, file.stem, "--results", str(folder), "--csv")
            rows = list(csv.DictReader(io.StringIO(shown)))
            assert len(rows) == len(pd.read_csv(file))
            assert {key for row in rows for key in row["cells"].split()} <= keys
        packed = typed(capsys, "pack", name, str(folder), "--out", f"packed/{name}")
        assert f"{len(keys)} of them new" in packed
        show = typed(capsys, "show", name, "--results", f"packed/{name}")
        verdicts = re.findall(r"^[✓◐✗?] +(\d+) (\w[\w ]+?)  ", show, re.MULTILINE)
        assert {int(number): verdict for number, verdict in verdicts} == {
            claim["id"]: claim["verdict"] for claim in claims
        }


def test_papers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    out = typed(capsys, "list")
    for one in papers():
        assert f"\n{one.name}: {', '.join(exhibit.name for exhibit in one.exhibits)}\n" in out
        assert f"| {one.name} | {len(one.claims)} |" in out


@pytest.fixture
def made(alone: None) -> str:
    """Results of one cell, of a model that no claim asks for."""
    cell = Cell({"corpus": "sst"}, "f", {"encoder": "none"}, {"lr": 0.1}, 1, {"single_token": {}})
    about = {"name": "meister-2021.sst", "cells": {cell.key: cell.to_json()}}
    store = Store.create("made/sst", "meister-2021.sst", "", about)
    row = {"cell": cell.key, "exam": "e", "table": "t", "row": "r", "column": "c", "value": 0.5}
    sink = io.BytesIO()
    pd.DataFrame([row | {"low": 0.4, "high": 0.6, "n": 9, "unit": "x"}]).to_parquet(sink)
    files = {"summary.parquet": sink.getvalue(), "verdict.json": b'{"tables": []}'}
    store.commit(cell.key, cell.to_json(), files, {"device": "cpu"})
    Path("empty").mkdir()
    return "made"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("run meister-2021 --parts sts", ["sts", "sst"]),
        ("run meister-2021 --parts ,", ["no part"]),
        ("run all --parts mian", ["mian", "main"]),
        ("run wiegreffe-pinter-2019 --scale probes", ["no probes"]),
        ("run meister-2021 --scale probes --parts sst", ["sst"]),
        ("run meister-2021 --workers 0", ["workers"]),
        ("run meister-2021 --vectors nowhere.txt", ["nowhere.txt"]),
        ("run jain-wallace-2019 --out made", ["meister-2021"]),
        ("check meister-2021", ["--results"]),
        ("check meister-2021 --results empty", ["no finished"]),
        ("check jain-wallace-2019 --results made", ["meister-2021"]),
        ("table meister-2021 table1", ["--results"]),
        ("table meister-2021 figure9 --results made", ["figure9", "figure2"]),
        ("table meister-2021 accuracy --results made", ["accuracy"]),
        ("pack meister-2021 nowhere", ["nowhere"]),
        ("pack jain-wallace-2019 made --out new", ["meister-2021"]),
        ("show meister-2021 3 --results made", ["3"]),
        ("verify meister-2021 --sample 0 --results made", ["--sample"]),
    ],
)
def test_bad_input_is_an_error_of_one_line(
    line: str, words: list[str], made: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(".")
    assert typed(capsys, *line.split(), code=2) == ""
    main(["papers", *line.split()])
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert error.count("\n") == 1
    assert all(word in error for word in words)
    assert contents(".") == before


@pytest.mark.parametrize("line", ["bake", "run", "run meister", "run all --scale tiny"])
def test_a_usage_that_is_unknown_is_exit_code_2(line: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["papers", *line.split()])
    assert ended.value.code == 2


@pytest.mark.slow
def test_results_that_decide_nothing(made: str, capsys: pytest.CaptureFixture[str]) -> None:
    out = typed(capsys, "check", "meister-2021", "--results", made)
    assert "✓ 0 replicate · ◐ 0 in part · ✗ 0 do not · ? 5 cannot be told." in out
    claims = json.loads(Path(made, "claims.json").read_text(encoding="utf-8"))
    assert claims["counts"][CANNOT] == 5


@pytest.fixture
def judged(alone: None, monkeypatch: pytest.MonkeyPatch) -> Checked:
    """A claim that does not replicate, by a number of two seeds."""
    number = SeedMean.of([0.3, 0.31], ["a", "b"])
    found = Finding([Part("low", [above("imdb", number, 0.4)])], theirs="0.4", ours="0.3")
    claim = Claim(1, "so it is", "t", lambda results: found, "so", 1, cause={"genuine": "it is so"})
    cells = pd.DataFrame({"cell": ["a", "b"], "part": "p", "corpus": ["imdb", "imdb"], "seed": 1})
    summary = pd.DataFrame(columns=["cell", "exam", "table", "row", "column", "value"])
    told = {"conclusion": {"it is so": [1]}, "setup": ["Less of it."]}
    one = replace(paper("meister-2021"), claims=[claim], exhibits=[], **told)
    checked = Checked(one, PaperResults(cells, summary))
    monkeypatch.setattr(command, "check_paper", lambda paper, folder: checked)
    Path("results", "meister-2021").mkdir(parents=True)
    return checked


@pytest.mark.usefixtures("judged")
def test_the_first_screen_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert typed(capsys, "show", "meister-2021").splitlines() == [
        "meister-2021: It does not replicate that it is so.",
        "✓ 0 replicate · ◐ 0 in part · ✗ 1 does not · ? 0 cannot be told. "
        "1 claims, judged on imdb.",
        "✗  1 does not replicate   so: paper 0.4; here 0.3 [genuine: it is so]",
        "Less of it.",
    ]


@pytest.mark.usefixtures("judged")
def test_a_claim_is_shown_with_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    out = typed(capsys, "show", "meister-2021", "1")
    assert "1. so it is (t)" in out
    assert "cause: genuine, it is so" in out
    assert "by other rules: strict: does not replicate, lenient: does not replicate" in out
    assert "| low | does not replicate | 0 of 1 | all |" in out


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[Path, Study]]:
    """What would have been run."""
    found: list[dict[Path, Study]] = []

    def run_studies(studies: Sequence[tuple[Study, Path]], **more: Any) -> list[Any]:
        found.append({folder: study for study, folder in studies})
        return [SimpleNamespace(counts={"missing": 1}, done=[]) for _ in studies]

    monkeypatch.setattr("research.papers.run.run_studies", run_studies)
    return found


@pytest.mark.slow
def test_parts_of_all_papers_share_a_run(
    asked: list[dict[Path, Study]], capsys: pytest.CaptureFixture[str]
) -> None:
    out = typed(capsys, *["run", "all", "--parts", "sst,main", "--seeds", "5", "--out", "x"])
    assert [str(folder) for folder in asked[0]] == [
        "x/tutek-snajder-2020/sst",
        "x/meister-2021/sst",
        "x/jain-wallace-2019/sst",
        "x/wiegreffe-pinter-2019/main",
    ]
    assert {cell.seed for study in asked[0].values() for cell in study.cells} == {5}
    assert "4 cells are left; the same command continues" in out


@pytest.mark.parametrize(
    ("counts", "code", "words"),
    [({"failed": 1}, 1, "1 cells failed: tracebacks are in meister-2021-smoke"), ({}, 0, "")],
)
def test_failed_cells_are_exit_code_1(
    counts: dict[str, int],
    code: int,
    words: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def run_studies(studies: Sequence[Any], **more: Any) -> list[Any]:
        return [SimpleNamespace(counts=counts, done=[]) for _ in studies]

    monkeypatch.setattr("research.papers.run.run_studies", run_studies)
    assert words in typed(capsys, *["run", "meister-2021", "--parts", "sst"], code=code)


def test_an_interruption_says_how_to_continue(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_studies(*given: Any, **more: Any) -> list[Any]:
        raise KeyboardInterrupt

    monkeypatch.setattr("research.papers.run.run_studies", run_studies)
    out = typed(capsys, "run", "jain-wallace-2019", code=130)
    assert "kept in jain-wallace-2019-smoke, the same command continues" in out

"""`verax papers` as typed: each paper from a run to a pack, and what is refused."""

from __future__ import annotations

import csv
import functools
import io
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from refused import refusal

from forked_workers import forked_workers
from support.errors import refused
from support.internals import CANNOT, MEASURED, TRIAL, VERDICTS, Part, above, chart
from support.internals import running_run as running
from verax.cli import main
from verax.cli import papers as command
from verax.corpora import Corpus
from verax.drawing import rendering
from verax.errors import VeraxErrors
from verax.papers import (
    NAMES,
    Checked,
    Claim,
    Finding,
    Paper,
    PaperResults,
    check_paper,
    paper,
    papers,
)
from verax.papers.checking import PAGE
from verax.statistics import SeedMean
from verax.studies import Cell, HereEngine, Store, Study, read_study
from verax.studies.running.watching import Ran

pytestmark = pytest.mark.usefixtures("alone")


def typed(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> str:
    capsys.readouterr()
    assert main(["papers", *arguments]) == code
    return capsys.readouterr().out


def contents(folder: str) -> dict[str, bytes]:
    files = (path for path in Path(folder).rglob("*") if path.is_file())
    return {str(path): path.read_bytes() for path in files}


AS_SHIPPED = "wiegreffe-pinter-2019"
"""The paper whose smoke scale is run as it is, by workers, and whose pictures are drawn."""


@pytest.fixture
def quick(
    request: pytest.FixtureRequest, pictures: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The smoke scale of a paper, with fewer documents examined and in this process."""
    name = request.getfixturevalue("name")
    if name == AS_SHIPPED:
        monkeypatch.setattr(chart, "drawn", rendering.drawn)
        with forked_workers():
            yield
        return
    studies = paper(name)._studies
    smoke = {**studies["smoke"], "every": {**studies["smoke"]["every"], "sample": 6}}
    monkeypatch.setitem(vars(paper(name)), "_studies", {**studies, "smoke": smoke})
    monkeypatch.setattr(running, "make_engine", lambda hardware: HereEngine("cpu"))
    yield


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("name", NAMES)
def test_a_paper_from_a_run_to_a_pack(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One test, so that there is one run: the slow part."""
    own = paper(name)
    # one seed a model is enough to go through everything
    flags = ["--scale", "smoke", "--seeds", "1", "--out", "ran", "--workers", "2"]
    out = typed(capsys, "run", name, *flags)
    assert f"verax papers check {name} --results ran" in out
    assert {path.name for path in Path("ran").iterdir()} == set(own.studies("smoke"))
    assert "nothing to run" in typed(capsys, "run", name, *flags)

    ran = contents("ran")
    with monkeypatch.context() as patched:
        # results do not change from here on: they are read once
        patched.setattr(command, "check_paper", functools.cache(command.check_paper))
        out = typed(capsys, "check", name, "--results", "ran", "--no-page")
        assert contents("ran") == ran
        assert TRIAL in " ".join(out.split())
        verdicts = _verdicts(out)
        with_page: list[str] = []
        if name == AS_SHIPPED:
            out = typed(capsys, "check", name, "--results", "ran")
            assert "the page is ran/README.md" in out
            with_page = ["--no-page"]  # it is there, and comes out the same from packed results
        told = typed(capsys, "check", name, "--results", "ran", "--json", *with_page)
        claims = json.loads(told, parse_constant=_refuse)["claims"]
        assert {claim["id"]: claim["verdict"] for claim in claims} == verdicts
        assert any(part["of"] for claim in claims for part in claim["parts"])
        written = contents("ran")
        assert written["ran/claims.json"].decode() == told
        assert "ran/README.md" in written
        assert not any(path.endswith(".html") for path in written)
        _hold_tables_to_files(name, capsys)

    assert "packed" in typed(capsys, "pack", name, "ran", "--out", "packed")
    Path("ran").rename("gone")
    # a figure that packing alone has: such a page is another
    another = Path("packed/delta_js_points.parquet").exists()
    drawn = [] if another or name == AS_SHIPPED else ["--no-page"]
    told = typed(capsys, "check", name, "--results", "packed", "--json", *drawn)
    assert json.loads(told)["claims"] == claims
    if drawn:
        check_paper(own, "packed").write("packed")
    if not another:
        assert Path("packed", PAGE).read_bytes() == written[f"ran/{PAGE}"]


def _verdicts(out: str) -> dict[int, str]:
    """Claim → verdict, of lines that begin with a mark, a claim's number and its verdict."""
    line = rf"^[✓◐✗?] +(\d+) ({'|'.join(VERDICTS)}) "
    return {int(number): verdict for number, verdict in re.findall(line, out, re.MULTILINE)}


def _refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is not JSON")


def _hold_tables_to_files(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    keys = {path.name for path in Path("ran").glob("*/cells/*")}
    measured = 0
    for exhibit in paper(name).exhibits:
        file = Path(f"ran/tables/{exhibit.name}.csv")
        typed_ = ["papers", "table", name, exhibit.name, "--results", "ran"]
        if not file.exists():
            capsys.readouterr()
            refusal(capsys, typed_, "result.unfinished", exhibit.name)
            continue
        shown = typed(capsys, *typed_[1:])
        rows = list(csv.DictReader(io.StringIO(typed(capsys, *typed_[1:], "--csv"))))
        assert len(rows) == len(pd.read_csv(file)) <= len(shown.splitlines())
        assert set(MEASURED) <= set(rows[0])
        cells = {key for row in rows for key in row["cells"].split()}
        assert cells <= keys
        measured += bool(cells)
    assert measured


def test_papers_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    head, *lines = typed(capsys, "list").splitlines()
    assert head.split()[:2] == ["paper", "claims"]
    counted, below = lines[: len(NAMES)], lines[len(NAMES) :]
    assert below[:2] == ["", "tables and figures"]
    text = " ".join(" ".join(below[2:]).split())
    for one, line in zip(papers(), counted, strict=True):
        assert line.startswith(one.name)
        assert f"{one.name} {', '.join(exhibit.name for exhibit in one.exhibits)}" in text
        counts = [str(len(one.studies(scale))) for scale in ("smoke", "small", "full")]
        probes = str(len(one.studies("probes"))) if one.has_probes else "0"
        assert line.split()[1:] == [str(len(one.claims)), *counts, probes]
    assert max(len(line) for line in [head, *lines]) <= 100


def test_alone_it_tells_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    out = typed(capsys)
    for action in ("list", "run", "table", "check", "show", "pack"):
        assert action in out


@pytest.fixture
def made(alone: None) -> str:
    """Results of one cell, of a model that no claim asks for."""
    a_cell("made/sst", "meister-2021.sst")
    Path("empty").mkdir()
    return "made"


def a_cell(folder: str, name: str, seed: int = 1) -> None:
    """A study of one finished cell."""
    cell = Cell(
        {"corpus": "sst"}, "f", {"encoder": "none"}, {"lr": 0.1}, seed, {"single_token": {}}
    )
    about = {"name": name, "cells": {cell.key: cell.to_json()}}
    store = Store.create(folder, name, "", about)
    row = {"cell": cell.key, "exam": "e", "table": "t", "row": "r", "column": "c", "value": 0.5}
    sink = io.BytesIO()
    pd.DataFrame([row | {"low": 0.4, "high": 0.6, "n": 9, "unit": "x"}]).to_parquet(sink)
    files = {"summary.parquet": sink.getvalue(), "verdict.json": b'{"tables": []}'}
    store.commit(cell.key, cell.to_json(), files, {"device": "cpu"})


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["run", "meister"], ("option.unknown-value", "meister-2021")),
        (["run", "meister-2021", "--parts", "sts"], ("paper.unknown-name", "sts", "sst")),
        (["run", "meister-2021", "--parts", ","], ("option.empty", "--parts")),
        (["run", "all", "--parts", "mian"], ("paper.unknown-name", "mian", "main")),
        (["run", "meister-2021", "--scale", "tiny"], ("option.unknown-value", "--scale")),
        (["run", "wiegreffe-pinter-2019", "--scale", "probes"], ("option.not-applicable",)),
        (
            ["run", "meister-2021", "--scale", "probes", "--parts", "sst"],
            ("paper.unknown-name", "sst"),
        ),
        (["run", "meister-2021", "--seeds", "one"], ("option.wrong-type", "seeds")),
        (["run", "meister-2021", "--budget", "soon"], ("option.malformed", "--budget", "soon")),
        (["run", "meister-2021", "--workers", "0"], ("option.out-of-range", "workers")),
        (["run", "meister-2021", "--vectors", "nowhere.txt"], ("file.missing", "nowhere.txt")),
        (["run"], ("command.usage",)),
        (["check", "nobody-2020"], ("option.unknown-value", "nobody-2020")),
        (["check", "meister-2021"], ("result.missing", "--results")),
        (["check", "meister-2021", "--results", "empty"], ("result.unfinished",)),
        (["table", "meister-2021", "1"], ("result.missing",)),
        (["table", "meister-2021", "99", "--results", "made"], ("paper.unknown-name", "99")),
        (
            ["table", "meister-2021", "figure9", "--results", "made"],
            ("paper.unknown-name", "figure9"),
        ),
        (
            ["table", "meister-2021", "tabel1", "--results", "made"],
            ("paper.unknown-name", "table1"),
        ),
        (["table", "meister-2021", "accuracy", "--results", "made"], ("result.unfinished",)),
        (["pack", "meister-2021", "nowhere"], ("result.missing",)),
        (["pack", "meister-2021", "empty"], ("result.missing",)),
        (["pack", "nobody-2020", "made"], ("option.unknown-value",)),
        (["check", "jain-wallace-2019", "--results", "made"], ("paper.wrong-results",)),
        (["table", "jain-wallace-2019", "1", "--results", "made"], ("paper.wrong-results",)),
        (["pack", "jain-wallace-2019", "made"], ("paper.wrong-results",)),
        (["pack", "jain-wallace-2019", "made", "--out", "new"], ("paper.wrong-results",)),
        (["run", "jain-wallace-2019", "--out", "made"], ("paper.wrong-results",)),
        (["run", "jain-wallace-2019", "--out", "made", "--dry-run"], ("paper.wrong-results",)),
        (["show", "meister-2021", "3", "--results", "made"], ("paper.unknown-name", "3")),
        (["check", "all", "--json"], ("option.conflict", "--json", "--no-page")),
        (["bake"], ("option.unknown-value",)),
    ],
)
def test_bad_input_is_told_in_a_line(
    arguments: list[str], expected: tuple[str, ...], made: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(".")
    refusal(capsys, ["papers", *arguments], *expected)
    assert contents(".") == before


@pytest.mark.slow
def test_results_that_decide_nothing_are_checked(
    made: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = contents(".")
    out = typed(capsys, "check", "meister-2021", "--results", made, "--no-page")
    assert "✓ 0 replicate · ◐ 0 in part · ✗ 0 do not · ? 5 cannot be told." in out
    out = typed(capsys, "check", "meister-2021", "--results", made, "--no-page", "--json")
    assert json.loads(out)["counts"][CANNOT] == 5
    assert contents(".") == before


@pytest.mark.slow
def test_a_pack_says_how_many_cells_are_new(made: str, capsys: pytest.CaptureFixture[str]) -> None:
    for folder, told in (
        ("made", "1 cells are there now, 1"),
        ("made", "1 cells are there now, none"),
    ):
        out = typed(capsys, "pack", "meister-2021", folder, "--out", "packed")
        assert f"packed into packed: {told} of them new" in out
    a_cell("more/imdb", "meister-2021.imdb", seed=2)
    out = typed(capsys, "pack", "meister-2021", "more", "--out", "packed")
    assert "packed into packed: 2 cells are there now, 1 of them new" in out


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> Checked:
    """A claim that does not replicate, by a number of two seeds."""
    number = SeedMean.of([0.3, 0.31], ["a", "b"])
    found = Finding([Part("low", [above("imdb", number, 0.4)])], theirs="0.4", ours="0.3")
    claim = Claim(1, "so it is", "t", lambda results: found, "so", 1, cause={"genuine": "it is so"})
    cells = pd.DataFrame({"cell": ["a", "b"], "part": "p", "corpus": ["imdb", "imdb"], "seed": 1})
    summary = pd.DataFrame(columns=["cell", "exam", "table", "row", "column", "value"])
    told = {"conclusion": [{"claims": [1], "that": "it is so"}], "setup": ["Less of it."]}
    one = replace(paper("meister-2021"), claims=[claim], exhibits=[], told=told)
    checked = Checked(one, PaperResults(cells, summary))
    monkeypatch.setattr(command, "check_paper", lambda paper, folder: checked)
    Path("results", "meister-2021").mkdir(parents=True)
    return checked


def test_the_first_screen_is_shown(judged: Checked, capsys: pytest.CaptureFixture[str]) -> None:
    out = typed(capsys, "show", "meister-2021")
    assert [line.strip() for line in out.splitlines()] == [
        "meister-2021: It does not replicate that it is so.",
        "✓ 0 replicate · ◐ 0 in part · ✗ 1 does not · ? 0 cannot be told. "
        "1 claims, judged on imdb.",
        "✗  1 does not replicate  so: paper 0.4; here 0.3 [genuine: it is so]",
        "Less of it.",
    ]
    assert typed(capsys, "check", "meister-2021", "--no-page") == out


def test_a_claim_is_shown_with_what_is_behind_it(
    judged: Checked, capsys: pytest.CaptureFixture[str]
) -> None:
    out = typed(capsys, "show", "meister-2021", "1")
    assert "1. so it is (t)" in out
    assert "cause: genuine, it is so" in out
    assert "by other rules: strict: does not replicate, lenient: does not replicate" in out
    assert re.search("low +does not replicate +0 of 1 +all", out)


Folders = dict[Path, Study]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Folders]:
    """What would have been run."""
    found: list[Folders] = []

    def run_several(studies: Sequence[tuple[Study, Path]], **more: Any) -> list[Ran]:
        found.append({folder: study for study, folder in studies})
        return [Ran(len(study.cells), left=len(study.cells)) for study, _ in studies]

    monkeypatch.setattr(command, "run_several", run_several)
    return found


@pytest.mark.slow
def test_all_papers_share_a_run(asked: list[Folders], capsys: pytest.CaptureFixture[str]) -> None:
    out = typed(capsys, "run", "all")
    expected = [
        Path("all-smoke", one.name, part) for one in papers() for part in one.studies("smoke")
    ]
    assert list(asked[0]) == expected
    for folder, study in asked[0].items():
        assert study.name == f"{folder.parts[1]}.{folder.parts[2]}"
    cells = sum(len(study.cells) for study in asked[0].values())
    assert f"time is up: {cells} cells are left; the same command goes on" in out


@pytest.mark.slow
def test_parts_of_all_papers_are_those_that_have_them(asked: list[Folders]) -> None:
    assert main(["papers", "run", "all", "--parts", "sst,main", "--seeds", "5", "--out", "x"]) == 0
    names = ["tutek-snajder-2020/sst", "meister-2021/sst", "jain-wallace-2019/sst"]
    assert [str(folder) for folder in asked[0]] == [
        *(f"x/{name}" for name in names),
        "x/wiegreffe-pinter-2019/main",
    ]
    assert {cell.seed for study in asked[0].values() for cell in study.cells} == {5}


@pytest.mark.slow
def test_probes_of_all_papers_are_of_those_that_have_any(
    asked: list[Folders], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Their corpora are not at hand: another stands in for them."""
    loaded: dict[str, Corpus] = {}

    def read_parts(
        chosen: Paper, scale: str, names: list[str] | None = None, **more: Any
    ) -> dict[str, Study]:
        found = chosen.studies(scale)
        return {
            name: read_study(found[name], corpora=["planted"], seeds=[1], loaded=loaded)
            for name in names or found
        }

    monkeypatch.setattr(command, "read_parts", read_parts)
    out = typed(capsys, "run", "all", "--scale", "probes")
    probed = [one for one in papers() if one.has_probes]
    expected = [
        Path("all-probes", one.name, part) for one in probed for part in one.studies("probes")
    ]
    assert list(asked[0]) == expected
    assert len(probed) == 4
    for one in probed:
        folder, kept = f"all-probes/{one.name}", f"results/{one.name}/probes"
        assert f"probes are in {folder}: verax papers pack {one.name} {folder} --out {kept}" in out
    out = typed(capsys, "run", "all", "--scale", "probes", "--parts", "one-layer")
    assert list(asked[1]) == [Path("all-probes/meister-2021/one-layer")]
    assert out.count("probes are in") == 1


@pytest.fixture
def never_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Corpora are not at hand, and not asked for."""

    def read_parts(*given: Any, **more: Any) -> dict[str, Study]:
        return {}

    monkeypatch.setattr(command, "read_parts", read_parts)


RANDOM = "word vectors begin at random"


@pytest.mark.parametrize("name", ["meister-2021", "all"])
@pytest.mark.parametrize("scale", ["smoke", "small", "full", "probes"])
@pytest.mark.parametrize("dry", [[], ["--dry-run"]])
@pytest.mark.usefixtures("never_read", "asked")
def test_vectors_that_begin_at_random_are_told_first(
    name: str, scale: str, dry: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = typed(capsys, "run", name, "--scale", scale, *dry)
    told = scale in ("full", "probes")
    assert out.startswith(RANDOM) is told
    assert out.count(RANDOM) == told
    assert ("--vectors FILE" in out.split("\n")[0]) is told
    assert RANDOM not in typed(capsys, "run", name, "--scale", scale, "--vectors", "f.txt", *dry)


@pytest.mark.usefixtures("never_read", "asked")
def test_parts_that_name_their_vectors_need_none(capsys: pytest.CaptureFixture[str]) -> None:
    probes = ["run", "jain-wallace-2019", "--scale", "probes", "--parts"]
    assert RANDOM not in typed(capsys, *probes, "random-vectors")
    assert RANDOM in typed(capsys, *probes, "random-vectors,longer")


@pytest.mark.parametrize("name", NAMES)
def test_corpora_that_are_not_at_hand_are_expected_in_a_folder(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    error = refused(["papers", "run", name, "--scale", "full", "--dry-run"], "corpus.unknown")
    assert isinstance(error, VeraxErrors)
    assert capsys.readouterr().err.count("\n") == len(error.problems)
    for problem in error.problems:
        assert problem.code == "corpus.unknown"
        line = str(problem)
        (corpus,) = re.findall(r"\$VERAX_DATA/(\w+)", line)
        assert f"'{corpus}'" in line
        assert line.index("VERAX_DATA") < line.index("rotten_tomatoes")


def test_failed_cells_are_told_and_are_exit_code_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_several(studies: Sequence[tuple[Study, Path]], **more: Any) -> list[Ran]:
        return [Ran(1, failed={"a": {"reason": "diverged"}}) for _ in studies]

    monkeypatch.setattr(command, "run_several", run_several)
    out = typed(capsys, "run", "meister-2021", "--parts", "sst", code=1)
    assert "1 cells failed: tracebacks are in meister-2021-smoke" in out


def test_an_interruption_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run_several(*given: Any, **more: Any) -> list[Ran]:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "run_several", run_several)
    assert main(["papers", "run", "jain-wallace-2019"]) == 130
    assert "kept in jain-wallace-2019-smoke, the same command goes on" in capsys.readouterr().err


def test_a_dry_run_shows_cells_and_writes_nothing(
    asked: list[Folders], capsys: pytest.CaptureFixture[str]
) -> None:
    out = typed(capsys, "run", "meister-2021", "--dry-run", "--seeds", "1")
    assert "meister-2021.sst" in out
    assert "meister-2021.adversaries" in out
    assert "no estimate yet: no cell has finished" in out
    assert not asked
    assert contents(".") == {}

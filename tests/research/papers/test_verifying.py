"""Stored cells trained anew: equal as they are, and named once a stored number is another."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pandas as pd
import pytest
from in_process import run_here

from research.__main__ import main
from research.papers import pack_paper, paper, verify_paper
from research.papers.paper import laid
from research.papers.verifying import (
    DIFFERS,
    EQUAL,
    NOT_RUN,
    WITHIN,
    Difference,
    VerifiedCell,
    differences_of,
    kind,
)
from support.errors import raises
from verax import StudyResults

SERRANO = paper("serrano-smith-2019")
RESULTS = Path(__file__).parents[3] / "results"
SMALL = {
    "corpora": {"planted": {"documents": 60, "sentences": 2}},
    "models": {"encoder": "none"},
    "training": {"epochs": 1},
}


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A packed part of a paper: two models without an encoder, two seeds of each."""
    folder = tmp_path_factory.mktemp("verify")
    study = laid(SERRANO.studies("smoke")["imdb"], SMALL)
    run_here(study, folder / "ran" / "imdb")
    pack_paper(SERRANO, folder / "ran", folder / "packed")
    return folder / "packed"


@pytest.mark.slow
def test_stored_cells_come_out_equal(packed: Path) -> None:
    verified = verify_paper(SERRANO, packed, sample=2, seed=3)
    assert [cell.verdict for cell in verified.cells] == [EQUAL, EQUAL]
    assert verified.stored == 4
    assert all(cell.same_kind and cell.is_as_expected for cell in verified.cells)
    assert all(cell.numbers > 400 for cell in verified.cells)
    again = verify_paper(SERRANO, packed, sample=2, seed=3)
    assert [cell.key for cell in again.cells] == [cell.key for cell in verified.cells]


@pytest.mark.slow
def test_an_altered_number_is_named(
    packed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = pd.read_parquet(packed / "imdb" / "summary.parquet")
    numbers = summary[(summary["table"] == "erasure.contingency") & summary["value"].notna()]
    key, row, column = numbers.iloc[0][["cell", "row", "column"]]
    stored, name = StudyResults.summary_of, f"erasure.contingency/{row}/{column}"

    def alter(by: float) -> None:
        def summary_of(study: StudyResults, own: str) -> pd.DataFrame:
            frame = stored(study, own)
            place = (frame["table"] == "erasure.contingency") & (frame["row"] == row)
            frame.loc[place & (frame["column"] == column), "value"] += by
            return frame

        monkeypatch.setattr(StudyResults, "summary_of", summary_of)

    alter(0.25)
    results = ["papers", "verify", SERRANO.name, "--results", str(packed)]
    assert main([*results, "--cells", str(key)[:8]]) == 3
    out = capsys.readouterr().out
    assert name in " ".join(out.split())
    # within the tolerance of percents, but equal was to be expected here
    assert "1 within tolerance, of 4 stored cells" in out
    assert main([*results, "--cells", str(key), "--json"]) == 3
    (cell,) = json.loads(capsys.readouterr().out)["cells"]
    assert [difference["name"] for difference in cell["differences"]] == [name]
    alter(50.0)
    (far,) = verify_paper(SERRANO, packed, cells=[str(key)]).cells
    assert (far.verdict, far.is_as_expected) == (DIFFERS, False)
    assert [difference.name for difference in far.differences] == [name]


def test_what_is_asked_for_has_to_be_there(packed: Path) -> None:
    with raises("option.ambiguous", "zz"):
        verify_paper(SERRANO, packed, cells=["zz"])
    with raises("option.ambiguous"):
        verify_paper(SERRANO, packed, cells=[""])
    with raises("option.unknown-value", "yelp"):
        verify_paper(SERRANO, packed, parts=["yelp"])
    with raises("result.wrong-kind"):
        verify_paper(paper("meister-2021"), packed)


@pytest.mark.slow
def test_vectors_are_known_by_their_content() -> None:
    with raises("option.missing", "glove-100d.txt", "--vectors"):
        verify_paper(paper("meister-2021"), RESULTS / "meister-2021", sample=1)


@pytest.mark.slow
@pytest.mark.skipif(
    not os.environ.get("VERAX_DATA"), reason="$VERAX_DATA names no folder of corpora"
)
def test_a_stored_cell_of_a_paper_comes_out_as_expected() -> None:
    """Of SST, with vectors that begin at random; equal with the torch that it was made with."""
    tutek = paper("tutek-snajder-2020")
    verified = verify_paper(tutek, RESULTS / tutek.name, cells=["aa781b3cd4494152"], device="cpu")
    (cell,) = verified.cells
    assert (cell.part, cell.numbers, cell.error) == ("random-vectors", 305, "")
    assert cell.is_as_expected, cell.differences


def test_tolerances_are_by_unit_or_the_range_of_seeds() -> None:
    old = {"f1": (80.0, "percent"), "tau": (0.5, "number"), "gone": (1.0, "count")}
    new = {"f1": (84.0, "percent"), "tau": (0.5 + 1e-13, "number"), "more": (2.0, "count")}
    gone, f1 = differences_of(old, new)
    assert (gone.name, gone.within) == ("gone", False)
    assert f1 == Difference("f1", 80.0, 84.0, within=False)
    seeds = [{"f1": (80.0, "percent")}, {"f1": (85.0, "percent")}]
    assert differences_of(old, new, seeds)[1].within


def test_what_is_expected_depends_on_device_and_model() -> None:
    near = Difference("f1", 80.0, 80.1, within=True)
    on_gpu = VerifiedCell("k", "sst", "", same_kind=True, differences=[near])
    assert (on_gpu.verdict, on_gpu.expected, on_gpu.is_as_expected) == (WITHIN, EQUAL, False)
    conv = VerifiedCell("k", "sst", "", same_kind=True, is_exact=False, differences=[near])
    other = VerifiedCell("k", "sst", "", same_kind=False, differences=[near])
    assert conv.is_as_expected
    assert other.is_as_expected
    failed = VerifiedCell("k", "sst", "", same_kind=False, error="out of memory")
    assert failed.verdict == NOT_RUN
    facts = {"gpu": "NVIDIA H200", "versions": {"torch": "2.11.0", "cuda": "13.0"}}
    assert kind(facts) != kind({**facts, "versions": {"torch": "2.12.0", "cuda": "13.0"}})
    assert kind(facts) != kind({"gpu": None, "platform": "Linux", "versions": facts["versions"]})

"""Checking a paper: verdicts counted, and files that hold all behind them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from made_up_paper import PAPER, checked, trial, with_another_corpus, with_probes

from verax.errors import VeraxError
from verax.papers import SCALES, Checked, Paper, check_paper, papers
from verax.papers.exhibits import MEASURED
from verax.papers.results import Missing, PaperResults


def no_constants(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_verdicts_are_counted() -> None:
    found = checked()
    assert found.counts == {"holds": 1, "fails": 0, "undecided": 1, "narrowly": 0}
    assert found.to_dict()["counts"] == found.counts
    assert list(found.tables) == ["table1", "figure2", "figure3"]


def test_page_claims_and_tables_are_written(tmp_path: Path) -> None:
    written = checked().write(tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert {str(path.relative_to(folder)) for path in written} == set(contents(folder))
    assert set(contents(folder)) == {
        *("README.md", "claims.json", "tables/table1.csv", "tables/figure3.csv")
    }


def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    checked().write(tmp_path / "a")
    checked().write(tmp_path / "b")
    before = contents(tmp_path / "a")
    assert before == contents(tmp_path / "b")
    checked().write(tmp_path / "a")
    assert contents(tmp_path / "a") == before


def test_claims_are_json_with_their_numbers(tmp_path: Path) -> None:
    # with one seed there are NaNs to be kept out
    for seeds in [(1, 2, 3), (1,)]:
        own = checked(seeds)
        own.write(tmp_path)
        text = (tmp_path / "claims.json").read_text(encoding="utf-8")
        told = json.loads(text, parse_constant=no_constants)
        assert text == own.to_json()
        assert told["paper"] == PAPER.name
        for claim in told["claims"]:
            assert {"id", "text", "verdict", "numbers", "n"} <= set(claim)
        first, second = told["claims"]
        assert (first["id"], first["n"], second["n"]) == (1, 2, 0)
        number = first["numbers"]["sst"]
        assert number["value"] == pytest.approx(0.5)
        assert number["seeds"] == len(seeds)
        assert set(first["cells"]) == set(own.results.cells["cell"])


def test_tables_have_the_keys_of_all_cells(tmp_path: Path) -> None:
    own = checked()
    own.write(tmp_path)
    found = pd.read_csv(tmp_path / "tables" / "table1.csv")
    assert list(found)[-len(MEASURED) :] == MEASURED
    keys = own.results.select(corpus="sst")["cell"].tolist()
    assert found["cells"][0].split() == keys
    assert found["beyond"].tolist()[:2] == [True, False]
    assert pd.isna(found["value"][2])
    assert found["value"][0] == pytest.approx(0.5)


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(VeraxError, match="cannot write"):
        checked().write(tmp_path / "file")


def test_no_results_are_missing(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="no finished study"):
        check_paper(PAPER, tmp_path)


def test_results_without_anything_of_the_paper_decide_nothing() -> None:
    bare = checked().results
    others = PaperResults(bare.cells.assign(corpus="other"), bare.summary)
    counts = {"holds": 0, "fails": 0, "undecided": 2, "narrowly": 0}
    assert Checked(PAPER, others).counts == counts


def test_probes_are_a_table_and_judge_nothing(tmp_path: Path) -> None:
    alone, beside = checked(), with_probes()
    assert beside.to_json() == alone.to_json()
    assert alone.probed.empty
    assert list(beside.tables) == list(alone.tables)
    found = pd.read_csv(beside.write(tmp_path)[-1])
    assert found["probe"].tolist() == ["one-layer", "another"]
    assert found["measure"].tolist() == ["JS"] * 2
    assert found["value"].tolist() == pytest.approx([0.5] * 2)
    assert [len(cells.split()) for cells in found["cells"]] == [3, 3]


def test_what_fails_narrowly_is_counted_among_what_fails() -> None:
    """The bound is 0.4: two corpora of 0.40 ± 0.01 are neither above it nor clearly not."""
    found = checked(value=0.4)
    assert found.counts == {"holds": 0, "fails": 1, "undecided": 1, "narrowly": 1}
    (first, _) = found.to_dict()["claims"]
    assert (first["verdict"], first["narrowly"]) == ("fails", True)


def test_claims_are_judged_again_on_the_papers_own_corpora() -> None:
    found = with_another_corpus()
    assert found.own_corpora == ["imdb"]
    assert found.counts == {"holds": 1, "fails": 1, "undecided": 0, "narrowly": 0}
    assert found.own_counts == {"holds": 2, "fails": 0, "undecided": 0, "narrowly": 0}
    told = found.to_dict()
    assert told["own_corpora"] == {"names": ["imdb"], "counts": found.own_counts}
    first, second = told["claims"]
    assert (first["verdict"], second["verdict"]) == ("fails", "holds")
    own = first["own_corpora"]
    assert set(own) == {"verdict", "narrowly", "why", "test"}
    assert (own["verdict"], own["narrowly"], own["why"]) == ("holds", False, "Above 0.4 on imdb.")
    assert own["test"].startswith("1 of 1 as claimed")
    assert second["own_corpora"]["verdict"] == "holds"


@pytest.mark.parametrize("corpora", [{}, {"imdb": "a", "sst": "b", "yelp": "c"}, {"yelp": "c"}])
def test_without_other_corpora_or_own_ones_there_is_one_verdict(corpora: dict[str, str]) -> None:
    found = replace(checked(), paper=replace(PAPER, corpora=corpora))
    assert found.own_findings is None
    assert found.own_counts is None
    assert found.to_dict()["own_corpora"] is None
    assert [claim["own_corpora"] for claim in found.to_dict()["claims"]] == [None, None]
    assert found.is_trial == (corpora == {"yelp": "c"})


def test_what_follows_the_name_of_a_corpus_is_of_no_account() -> None:
    own = replace(PAPER, corpora={"mimic_anemia": "Anemia"})
    assert own.has("mimic_anemia:/my/mimic")
    assert not own.has("mimic_diabetes")
    assert PAPER.has("anything")


@pytest.mark.parametrize("one", papers(), ids=lambda one: one.name)
def test_smaller_scales_are_trials_and_full_ones_are_not(one: Paper) -> None:
    for scale in SCALES:
        studies = one.studies(scale).values()
        own = [one.has(str(name)) for study in studies for name in study["corpora"]]
        assert any(own) == (scale == "full"), scale
    assert trial().is_trial

"""Checking a paper: verdicts counted, and files that hold all behind them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from made_up_paper import PAPER, checked, trial, with_another_corpus, with_probes

from research.papers import SCALES, Checked, Paper, PaperResults, check_paper, papers
from research.papers.claims import Aside
from research.papers.exhibits import MEASURED
from research.papers.verdicts import CANNOT, DOES_NOT, IN_PART, REPLICATES
from support.errors import raises


def no_constants(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_verdicts_are_counted() -> None:
    found = checked()
    assert found.counts == {REPLICATES: 1, IN_PART: 0, DOES_NOT: 0, CANNOT: 1}
    assert found.to_dict()["counts"] == found.counts
    assert list(found.tables) == ["table1", "figure2", "figure3"]


def test_what_the_paper_is_about_comes_first() -> None:
    assert [one.claim.id for one in checked().judged] == [2, 1]
    assert [one.claim.id for one in checked().ranked] == [1, 2]


@pytest.mark.slow
def test_page_claims_and_tables_are_written(tmp_path: Path) -> None:
    written = checked().write(tmp_path / "new" / "folder")
    folder = tmp_path / "new" / "folder"
    assert {str(path.relative_to(folder)) for path in written} == set(contents(folder))
    assert set(contents(folder)) == {
        *("README.md", "claims.json", "scatter.svg"),
        *("tables/table1.csv", "tables/figure3.csv"),
    }


@pytest.mark.slow
def test_the_same_results_give_the_same_bytes(tmp_path: Path) -> None:
    checked().write(tmp_path / "a")
    checked().write(tmp_path / "b")
    before = contents(tmp_path / "a")
    assert before == contents(tmp_path / "b")
    checked().write(tmp_path / "a")
    assert contents(tmp_path / "a") == before


@pytest.mark.slow
def test_claims_are_json_with_their_numbers(tmp_path: Path) -> None:
    # with one seed there are NaNs to be kept out
    for seeds in [(1, 2, 3), (1,)]:
        own = checked(seeds)
        own.write(tmp_path)
        text = (tmp_path / "claims.json").read_text(encoding="utf-8")
        told = json.loads(text, parse_constant=no_constants)
        assert text == own.to_json()
        assert told["paper"] == PAPER.name
        second, first = told["claims"]
        assert (first["id"], second["id"]) == (1, 2)
        (part,) = first["parts"]
        assert (part["of"], part["favourable"], second["parts"]) == (2, 2, [])
        number = part["comparisons"][0]["a"]
        assert number["value"] == pytest.approx(0.5)
        assert number["seeds"] == len(seeds)
        assert set(first["cells"]) == set(own.results.cells["cell"])
        assert set(first["other_rules"]) == {"strict", "lenient"}


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


@pytest.mark.slow
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with raises("output.not-writable"):
        checked().write(tmp_path / "file")


def test_no_results_are_missing(tmp_path: Path) -> None:
    with raises("result.unfinished"):
        check_paper(PAPER, tmp_path)


def test_results_without_anything_of_the_paper_decide_nothing() -> None:
    bare = checked().results
    others = PaperResults(bare.cells.assign(corpus="other"), bare.summary)
    assert Checked(PAPER, others).counts[CANNOT] == 2


@pytest.mark.slow
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


def test_the_papers_own_corpora_decide_and_others_are_generalisation() -> None:
    found = with_another_corpus()
    assert found.own_corpora == ["imdb"]
    first, second = found.judged
    assert first.others is not None
    assert (first.verdict, first.others.verdict) == (REPLICATES, DOES_NOT)
    assert (first.finding.ours, first.others.ours) == ("imdb", "sst")
    told = found.to_dict()["claims"][0]
    assert told["generalisation"] == {"verdict": DOES_NOT, "here": "sst"}
    # made of a corpus that is not there, it cannot be told, whatever others say
    assert second.verdict == CANNOT


def test_a_corpus_that_is_set_aside_has_no_say_and_its_verdict_is_shown() -> None:
    found = with_another_corpus()
    aside = {"sst": Aside("it was not learnt", "in 2 of 2 models")}
    paper = replace(found.paper, corpora={}, aside=lambda results: aside)
    one = replace(found, paper=paper).judged[0]
    assert one.finding.ours == "imdb"
    assert one.others is None
    assert one.disagreeing == {"with corpora set aside": IN_PART}
    assert (
        replace(found, paper=paper).to_dict()["set_aside"]["sst"]["reason"] == "it was not learnt"
    )


def test_a_cause_is_told_only_where_a_claim_does_not_replicate() -> None:
    assert [dict(one.cause) for one in checked().ranked] == [{}, {"corpus": "not at hand"}]
    assert dict(checked(value=0.3).ranked[0].cause) == {"test": "a bound"}


def test_a_stored_value_changes_the_verdict() -> None:
    for value, verdict in ((0.5, REPLICATES), (0.4, CANNOT), (0.3, DOES_NOT)):
        assert checked(value=value).ranked[0].verdict == verdict


@pytest.mark.parametrize("corpora", [{}, {"imdb": "a", "sst": "b", "yelp": "c"}, {"yelp": "c"}])
def test_without_other_corpora_or_own_ones_there_is_one_verdict(corpora: dict[str, str]) -> None:
    found = replace(checked(), paper=replace(PAPER, corpora=corpora))
    assert all(one.others is None and one.aside is None for one in found.judged)
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

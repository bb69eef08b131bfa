"""Running a paper: which parts, with what changed, into which folders."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from in_process import InProcess

from research.papers import Paper, PaperResults, paper, run_paper
from research.papers.running import chosen_parts, read_parts
from support.errors import raises
from support.internals import running_run as running
from verax.corpora import Corpus
from verax.studies import Store

MEISTER = paper("meister-2021")
SERRANO = paper("serrano-smith-2019")


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> list[InProcess]:
    made: list[InProcess] = []

    def make(hardware: object) -> InProcess:
        made.append(InProcess())
        return made[-1]

    monkeypatch.setattr(running, "make_engine", make)
    return made


def test_parts_are_chosen_by_name_in_the_papers_order() -> None:
    assert chosen_parts(MEISTER, "smoke", None) == ["sst", "adversaries"]
    assert chosen_parts(MEISTER, "smoke", ["adversaries", "sst"]) == ["sst", "adversaries"]
    assert chosen_parts(MEISTER, "smoke", iter(["adversaries"])) == ["adversaries"]
    with raises("option.unknown-value", "imdb"):
        chosen_parts(MEISTER, "smoke", ["imdb"])
    with raises("option.unknown-value", "adversaries"):
        chosen_parts(MEISTER, "smoke", ["adversary"])
    with raises("option.missing"):
        chosen_parts(MEISTER, "smoke", [])


def test_parts_are_read_with_seeds_and_shared_corpora() -> None:
    loaded: dict[str, Corpus] = {}
    found = read_parts(MEISTER, "smoke", seeds=[7], loaded=loaded)
    assert list(found) == ["sst", "adversaries"]
    for part, study in found.items():
        assert study.name == f"meister-2021.{part}"
        assert {cell.seed for cell in study.cells} == {7}
        assert set(study.corpora.values()) <= set(loaded.values())
    assert len(loaded) == 1


def test_word_vectors_are_those_of_all_models(tmp_path: Path) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("film 0.1 0.2 0.3\ngood 0.3 0.2 0.1\n", encoding="utf-8")
    found = read_parts(SERRANO, "smoke", vectors=str(vectors), seeds=[1])["imdb"]
    assert {cell.training["vectors"] for cell in found.cells} == {str(vectors)}
    without = read_parts(SERRANO, "smoke", seeds=[1])["imdb"]
    assert {cell.training["vectors"] for cell in without.cells} == {None}


@pytest.mark.parametrize(
    ("own", "kept"),
    [
        ({}, False),
        ({"training": {"epochs": 1, "vectors": None}}, True),
        ({"models": {"encoder": "none", "vectors": None}}, True),
        ({"models": [{"encoder": "none"}, {"encoder": "conv", "vectors": None}]}, True),
        ({"models": {"grounding": [{"none": {"vectors": None}}]}}, True),
        ({"corpora": {"planted": {"documents": 60, "vectors": None}}}, True),
    ],
)
def test_a_part_that_names_its_vectors_keeps_them(
    own: dict[str, Any], kept: bool, tmp_path: Path
) -> None:
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("film 0.1 0.2 0.3\ngood 0.3 0.2 0.1\n", encoding="utf-8")
    changed = small_paper()
    part = vars(changed)["_studies"]["parts"]["b"]
    del part["models"]["embedding_size"]
    vars(changed)["_studies"] = {"parts": {}, "probes": {"b": {**part, **own}}}
    study = read_parts(changed, "probes", vectors=str(vectors))["b"]
    assert {cell.training["vectors"] for cell in study.cells} == {None if kept else str(vectors)}


def small_paper() -> Paper:
    """One whose studies take no time."""
    found = replace(MEISTER, name="small-2020")
    part = {
        "corpora": {"planted": {"documents": 60}},
        "models": {"encoder": "none", "hidden_size": 8, "embedding_size": 8},
        "training": {"epochs": 1},
        "exams": ["replacement"],
    }
    parts = {"b": {**part, "seeds": [1]}, "a": {**part, "seeds": [1, 2]}}
    vars(found)["_studies"] = {"parts": parts}
    return found


@pytest.mark.slow
def test_a_paper_is_run_into_a_folder_each_part(here: list[InProcess], tmp_path: Path) -> None:
    small = small_paper()

    def run(*parts: str) -> dict[str, dict[str, int]]:
        ran = run_paper(small, "smoke", tmp_path, parts=parts or None, device="cpu")
        return {part: one.counts for part, one in ran.items()}

    assert run("a") == {"a": {"done": 2}}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert run() == {"b": {"done": 1}, "a": {"done": 2}}
    assert Store.open(tmp_path / "b").name == "small-2020.b"
    found = PaperResults.open(tmp_path)
    assert found.cells[["part", "seed"]].to_numpy().tolist() == [["a", 1], ["a", 2], ["b", 1]]
    assert found.cells["cell"].nunique() == 2
    run()
    assert len(here) == 2


def test_nothing_is_written_for_an_unknown_part_or_budget(tmp_path: Path) -> None:
    with raises("option.unknown-value", "sts"):
        run_paper(MEISTER, "smoke", tmp_path / "out", parts=["sts"])
    with raises("option.out-of-range", "budget"):
        run_paper(MEISTER, "smoke", tmp_path / "out", budget=0)
    with raises("option.unknown-value"):
        run_paper(MEISTER, "tiny", tmp_path / "out")
    assert not (tmp_path / "out").exists()

"""Running a paper: which parts, with what changed, into which folders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from in_process import InProcess

from research.papers import Paper, PaperResults, paper, papers, run_paper
from research.papers.run import chosen_parts
from support.errors import raises
from support.internals import running_run as running
from verax.studies import Store, Study

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


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Study]:
    """The studies that would have been run."""
    found: list[Study] = []

    def run_studies(studies: Sequence[tuple[Study, Path]], **more: Any) -> list[Any]:
        found.extend(study for study, _ in studies)
        return [SimpleNamespace() for _ in studies]

    monkeypatch.setattr("research.papers.run.run_studies", run_studies)
    return found


def test_parts_are_chosen_by_name_in_the_papers_order() -> None:
    def chosen(parts: Iterable[str] | None) -> list[str]:
        return list(chosen_parts([MEISTER], "smoke", parts)[MEISTER])

    assert chosen(None) == ["sst", "adversaries"]
    assert chosen(["adversaries", "sst"]) == ["sst", "adversaries"]
    assert chosen(iter(["adversaries"])) == ["adversaries"]
    with raises("option.unknown-value", "imdb"):
        chosen(["imdb"])
    with raises("option.unknown-value", "adversaries"):
        chosen(["adversary"])
    with raises("option.missing"):
        chosen([])


def test_parts_are_read_with_seeds_and_shared_corpora(read: list[Study], tmp_path: Path) -> None:
    assert list(run_paper(MEISTER, "smoke", tmp_path, seeds=[7])) == ["sst", "adversaries"]
    assert [study.name for study in read] == ["meister-2021.sst", "meister-2021.adversaries"]
    assert {cell.seed for study in read for cell in study.cells} == {7}
    (first,), (second,) = (study.corpora.values() for study in read)
    assert first is second


def test_word_vectors_are_those_of_all_models(read: list[Study], tmp_path: Path) -> None:
    run_paper(MEISTER, "smoke", tmp_path, parts=["sst"], vectors=vectors_file(tmp_path))
    run_paper(MEISTER, "smoke", tmp_path, parts=["sst"])
    given, without = ({cell.training["vectors"] for cell in study.cells} for study in read)
    assert given == {vectors_file(tmp_path)}
    assert without == {None}


def test_every_paper_has_its_vectors_by_one_file_and_its_own_studies() -> None:
    """IMDB of Serrano & Smith trains word2vec; all other models take the file of `vectors`."""
    for one in papers():
        for part, study in one.studies("full").items():
            own = one is SERRANO and part.startswith("imdb")
            assert study["training"].get("vectors") == ("word2vec" if own else None)
            sizes = {model.get("embedding_size") for model in study["models"]}
            assert not own or sizes == {200}


def vectors_file(folder: Path) -> str:
    path = folder / "vectors.txt"
    path.write_text("film 0.1 0.2 0.3\ngood 0.3 0.2 0.1\n", encoding="utf-8")
    return str(path)


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
    own: dict[str, Any], kept: bool, read: list[Study], tmp_path: Path
) -> None:
    changed = small_paper()
    part = vars(changed)["_studies"]["parts"]["b"]
    del part["models"]["embedding_size"]
    vars(changed)["_studies"] = {"parts": {}, "probes": {"b": {**part, **own}}}
    vectors = vectors_file(tmp_path)
    run_paper(changed, "probes", tmp_path / "out", vectors=vectors)
    assert {cell.training["vectors"] for cell in read[0].cells} == {None if kept else vectors}


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

"""Results of another paper are refused, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_paper import PAPER

from research.papers import check_paper, paper, run_paper
from research.papers.paper import refuse_others
from research.papers.results import paper_of
from support.errors import raises
from verax.studies import Store


def studies(folder: Path, *names: str) -> Path:
    """Stores without cells, in folders of their own."""
    for number, name in enumerate(names):
        Store.create(folder / f"s{number}", name, "", {"name": name, "cells": {}})
    return folder


@pytest.mark.parametrize(
    "names", [(), ("meister-2021.sst",), ("meister-2021.sst", "meister-2021.imdb")]
)
def test_a_papers_own_studies_are_fine(names: tuple[str, ...], tmp_path: Path) -> None:
    refuse_others(paper("meister-2021"), studies(tmp_path, *names))
    refuse_others(paper("meister-2021"), tmp_path / "nowhere")


OTHER, OWN, MINE = "jain-wallace-2019.sst", "meister-2021.sst", "my-study"


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([OTHER], ("jain-wallace-2019", "meister-2021")),
        ([OTHER, "serrano-smith-2019.a"], ("jain-wallace-2019", "serrano-smith-2019")),
        ([OTHER, MINE], ("jain-wallace-2019", "meister-2021")),
        ([OWN, OTHER], ("jain-wallace-2019", "meister-2021")),
        ([MINE], ("s0", "my-study", "meister-2021")),
        (["my.study"], ("my.study",)),
        ([OWN, MINE], ("s1", "my-study")),
        (["meister-2021"], ("meister-2021",)),
        (["meister-2021.sst.more"], ("meister-2021.sst.more",)),
    ],
)
def test_others_are_told(names: list[str], told: tuple[str, ...], tmp_path: Path) -> None:
    folder = studies(tmp_path / "results", *names)
    before = sorted(tmp_path.rglob("*"))
    meister = paper("meister-2021")
    for refuse in (
        lambda: refuse_others(meister, folder),
        lambda: check_paper(meister, folder),
        lambda: run_paper(meister, "smoke", folder),
    ):
        with raises("result.wrong-kind", *told) as error:
            refuse()
        assert "\n" not in str(error.value)
    assert sorted(tmp_path.rglob("*")) == before


def test_one_study_given_by_its_folder_is_refused_too(tmp_path: Path) -> None:
    folder = studies(tmp_path, OTHER)
    with raises("result.wrong-kind"):
        check_paper(paper("meister-2021"), folder / "s0")


def test_probes_have_to_be_the_papers_too(tmp_path: Path) -> None:
    studies(tmp_path, OWN)
    studies(tmp_path / "probes", "jain-wallace-2019.longer")
    with raises("result.wrong-kind"):
        check_paper(paper("meister-2021"), tmp_path)


def test_a_paper_that_is_not_in_the_registry_has_results_too(tmp_path: Path) -> None:
    refuse_others(PAPER, studies(tmp_path, f"{PAPER.name}.main"))
    with raises("result.wrong-kind", "meister-2021"):
        refuse_others(paper("meister-2021"), tmp_path)


def test_a_paper_is_what_a_name_begins_with() -> None:
    names = ("a-2020.b", "a-2020.b.c", "a-2020", "")
    assert [paper_of(name) for name in names] == ["a-2020", "a-2020.b", "", ""]

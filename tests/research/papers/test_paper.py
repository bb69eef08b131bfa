"""The studies of each paper at each scale: they are what they say, and can be read."""

from __future__ import annotations

import copy
import os
from typing import Any

import pytest

from research.papers import NAMES, SCALES, paper, papers
from research.papers.paper import OWN_DATA, laid, read_as
from research.papers.probing import PROBES
from support.errors import raises
from verax.corpora import Corpus
from verax.studies import read_study

SMALLER = {
    "serrano-smith-2019": ["imdb"],
    "tutek-snajder-2020": [
        *("sst", "information-sst", "layers-sst", "initialisation", "adversaries-sst")
    ],
    "meister-2021": ["sst", "adversaries"],
    "jain-wallace-2019": ["sst"],
    "wiegreffe-pinter-2019": ["main"],
}
BUILT_IN = {"rotten_tomatoes", "imdb_reviews", "planted"}


@pytest.fixture(scope="module")
def loaded() -> dict[str, Corpus]:
    return {}


def test_all_papers_are_found_by_name() -> None:
    assert [one.name for one in papers()] == list(NAMES) == list(SMALLER)
    assert repr(paper("meister-2021")) == "Paper(meister-2021)"
    with raises("option.unknown-value", "meister-2021"):
        paper("meister")


@pytest.mark.parametrize("name", NAMES)
def test_claims_and_exhibits_are_told_apart(name: str) -> None:
    found = paper(name)
    ids = [claim.id for claim in found.claims]
    assert ids == sorted(set(ids))
    exhibits = [exhibit.name for exhibit in found.exhibits]
    assert len(set(exhibits)) == len(exhibits)
    for exhibit in found.exhibits:
        assert found.exhibit(exhibit.name) is exhibit
        if exhibit.name.startswith("table") and exhibit.name[5:].isdigit():
            assert found.exhibit(exhibit.name[5:]) is exhibit
        if exhibit.name.startswith("figure"):
            assert found.exhibit(f"Figure {exhibit.name[6:]}") is exhibit
            assert found.exhibit(f"fig. {exhibit.name[6:]}") is exhibit
    with raises("option.unknown-value", name, "table99"):
        found.exhibit("table99")
    assert found.words("deviations")
    assert found.words("no such text") == ""


@pytest.mark.parametrize("name", NAMES)
def test_smaller_scales_leave_parts_out(name: str) -> None:
    found = paper(name)
    full = found.studies()
    assert full == found.studies("full")
    for scale in SCALES:
        studies = found.studies(scale)
        assert list(studies) == [part for part in full if part in studies]
        for part, study in studies.items():
            assert study["name"] == f"{name}.{part}"
            assert "readings" not in study
    assert list(found.studies("smoke")) == list(found.studies("small")) == SMALLER[name]
    with raises("option.unknown-value", "full"):
        found.studies("ful")


@pytest.mark.parametrize("name", NAMES)
def test_what_a_scale_changes_is_there(name: str) -> None:
    """A misspelt part in `leave_out` or `parts` would change nothing, and say nothing."""
    given = paper(name)._studies
    assert set(given) - {PROBES, OWN_DATA, "strengths"} == {"parts", "small", "smoke"}
    for scale in ("small", "smoke"):
        smaller = given[scale]
        assert set(smaller) <= {"every", "parts", "leave_out"}
        assert set(smaller["leave_out"]) <= set(given["parts"])
        assert set(smaller.get("parts") or {}) <= set(given["parts"]) - set(smaller["leave_out"])


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["smoke", "small"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.usefixtures("alone")
def test_smaller_studies_read_with_what_comes_with_verax(
    name: str, scale: str, loaded: dict[str, Corpus]
) -> None:
    for part, given in paper(name).studies(scale).items():
        assert {corpus.partition(":")[0] for corpus in given["corpora"]} <= BUILT_IN
        study = read_study(given, loaded=loaded)
        assert study.name == f"{name}.{part}"
        assert study.cells
        assert study.question


@pytest.mark.slow
@pytest.mark.usefixtures("alone")
def test_all_papers_at_smoke_scale_train_little(loaded: dict[str, Corpus]) -> None:
    """A run of all five takes less than 90 seconds on two cores because they train no more."""
    every = [study for one in papers() for study in one.studies("smoke").values()]
    studies = [read_study(study, loaded=loaded) for study in every]
    cells = [(cell, study.corpora[cell.fingerprint]) for study in studies for cell in study.cells]
    assert len(cells) <= 90
    assert sum(cell.training["epochs"] * len(corpus.train) for cell, corpus in cells) <= 13_000
    adversaries = [cell.adversaries for cell, _ in cells if cell.adversaries is not None]
    assert len(adversaries) <= 10
    assert max(len(asked["lams"]) * asked["epochs"] for asked in adversaries) <= 4


PROBED = [one.name for one in papers() if one.has_probes]


def test_probes_are_studies_beside_the_scales() -> None:
    assert PROBES not in SCALES
    assert set(NAMES) - set(PROBED) == {"wiegreffe-pinter-2019"}
    for name in PROBED:
        own = paper(name)
        assert own.probed
        for part, study in own.studies(PROBES).items():
            assert study["name"] == f"{name}.{part}"
            assert part not in own.studies("full")
            assert study["question"].endswith(".")
            assert "readings" not in study
            # read as in the paper's own studies
            assert all(options for options in study["corpora"].values())
        first = next(iter(own.studies(PROBES).values()))
        first["models"].clear()
        assert next(iter(own.studies(PROBES).values()))["models"]
    with raises("option.not-applicable"):
        paper("wiegreffe-pinter-2019").studies(PROBES)
    with raises("option.unknown-value", "probes"):
        paper("meister-2021").studies("probe")


FULL = [(name, "full") for name in NAMES] + [(name, PROBES) for name in PROBED]
FULL += [(one.name, OWN_DATA) for one in papers() if one.own_data]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "scale"), FULL)
def test_full_studies_read(name: str, scale: str, loaded: dict[str, Corpus]) -> None:
    """Their corpora are not at hand: another stands in."""
    for part, given in paper(name).studies(scale).items():
        study = read_study(given, corpora=["planted"], loaded=loaded)
        assert study.name == f"{name}.{part}"
        assert all(options for options in given["corpora"].values())
        assert set(given["seeds"]) == {cell.seed for cell in study.cells}


@pytest.mark.slow
def test_full_corpora_are_read_where_they_are(loaded: dict[str, Corpus]) -> None:
    at_hand = bool(os.environ.get("VERAX_DATA"))
    for name, part in [("jain-wallace-2019", "sst"), ("tutek-snajder-2020", "20news_sports")]:
        study = paper(name).studies("full")[part]
        if at_hand:
            assert len(read_study(study, loaded=loaded).corpora) == 1
        assert list(study["corpora"]) == [part]


STUDY: dict[str, Any] = {
    "corpora": ["sst", {"imdb": {"limit": 3}}],
    "models": [{"encoder": "none", "hidden_size": 8}, {"encoder": "conv"}],
    "training": {"epochs": 8, "lr": 0.1},
    "seeds": [1, 2, 3],
    "exams": ["erasure"],
    "sample": 9,
}


def test_laying_over_changes_options_and_replaces_lists() -> None:
    before = copy.deepcopy(STUDY)
    over = {
        "corpora": {"planted": {}},
        "models": {"hidden_size": 4},
        "training": {"epochs": 2},
        "seeds": [1],
        "exams": [{"single_token": {"curves": 2}}],
        "sample": None,
        "split": "validation",
    }
    assert laid(STUDY, over) == {
        "corpora": {"planted": {}},
        "models": [{"encoder": "none", "hidden_size": 4}, {"encoder": "conv", "hidden_size": 4}],
        "training": {"epochs": 2, "lr": 0.1},
        "seeds": [1],
        "exams": [{"single_token": {"curves": 2}}],
        "sample": None,
        "split": "validation",
    }
    found = laid(STUDY, {})
    assert found == STUDY
    found["models"][0]["encoder"] = "changed"
    assert before == STUDY


def test_a_mapping_of_corpora_or_adversaries_is_replaced_whole() -> None:
    study = {"corpora": {"a": {"limit": 1}}, "adversaries": {"lams": [0], "controls": True}}
    over = {"corpora": {"b": {}}, "adversaries": {"lams": [1]}}
    assert laid(study, over) == over


def test_corpora_are_read_as_named_and_own_options_win() -> None:
    assert read_as(STUDY, None) is STUDY
    study = {"corpora": ["sst", {"imdb": {"test_limit": 3}}, "unheard-of"]}
    found = read_as(study, "jain-wallace")["corpora"]
    assert list(found) == ["sst", "imdb", "unheard-of"]
    assert found["sst"]["tokenizer"] == "whitespace"
    assert (found["imdb"]["test_limit"], found["imdb"]["max_words"]) == (3, 399)
    assert found["unheard-of"] == {}
    one = read_as({"corpora": {"imdb": None}}, "serrano-smith")["corpora"]
    assert one == {"imdb": {"label_column": "rating", "min_df": 5}}
    assert read_as({"corpora": "sst"}, "jain-wallace")["corpora"]["sst"] == found["sst"]

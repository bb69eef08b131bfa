"""Adversaries of a study: what a file may ask for, what is refused, and what it does to keys."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from study_files import refused, study

import verax
from support.errors import raises
from support.internals import work_of
from verax.studies import Cell, read_study
from verax.studies.adversary_scores import LAMS
from verax.studies.grid.parse import NOT_ITS_OWN
from verax.training import train_adversary
from verax.training.adversary import DEFAULTS

SOURCE: dict[str, Any] = {
    "corpora": {"planted": {"documents": 60, "length": 12}},
    "models": {"encoder": "conv"},
    "exams": "single_token",
}
PLAIN = {"lams": list(LAMS), "seeds": [1], "retrain": [], "controls": True, **DEFAULTS}


def one(adversaries: Any, **changed: Any) -> Cell:
    (cell,) = read_study({**SOURCE, "adversaries": adversaries, **changed}).cells
    return cell


# -- keys


def by_hand(**also: Any) -> Cell:
    return Cell(
        corpus={"corpus": "sst", "split_seed": 0},
        fingerprint="print of sst",
        model={"encoder": "none", "projection": "softmax", "lam": None},
        training={"epochs": 3, "lr": 0.01},
        seed=0,
        exams={"single_token": {}, "erasure": {"draws": 5}},
        **also,
    )


def test_a_cell_without_adversaries_is_the_same_model_and_another_cell() -> None:
    """The keys are those of rule 3: if they change, stores are not found, and `RULE` has to."""
    cell = by_hand()
    assert (cell.key, cell.trained) == ("2360ea5e1b2ed0c9", "23cb7d0add635cc6")
    assert cell.to_json()["adversaries"] is None
    assert cell.columns()["adversaries"] is None
    opposed = by_hand(adversaries={"lams": [0.0]})
    assert opposed.key != cell.key
    assert opposed.trained == cell.trained


@pytest.mark.parametrize("said", [False, None])
def test_none_is_as_if_nothing_was_said(said: Any) -> None:
    (bare,) = read_study(SOURCE).cells
    assert one(said) == bare
    assert (bare.adversaries, one(said).key) == (None, bare.key)


@pytest.mark.parametrize("said", [True, {}])
def test_defaults_are_spelt_out(said: Any) -> None:
    assert one(said).adversaries == PLAIN
    written = {name: value for name, value in PLAIN.items() if name != "class_weight"}
    assert one(said).key == one(written).key


def test_a_cell_with_adversaries_goes_through_json() -> None:
    cell = one({"lams": [1, 0, 0.1], "retrain": 7, "epochs": 2})
    again = Cell.from_json(json.loads(json.dumps(cell.to_json())))
    assert (again, again.key) == (cell, cell.key)
    assert cell.columns()["adversaries"] == "0,0.1,1"
    assert cell.columns()["epochs"] == cell.training["epochs"] == 8


@pytest.mark.slow
@settings(max_examples=20, deadline=None)
@given(
    st.permutations([0, 0.1, 1]),
    st.permutations([3, 4, 5]),
    st.permutations(["lams", "seeds", "retrain", "epochs"]),
    st.sampled_from([float, str, lambda value: value]),
)
def test_keys_depend_on_values_not_on_how_they_are_written(
    lams: list[float], seeds: list[int], order: list[str], kind: Any
) -> None:
    said = {"lams": [kind(v) for v in lams], "seeds": seeds, "retrain": [9], "epochs": 3}
    assert one({name: said[name] for name in order}).key == KEY


KEY = one({"lams": [0, 0.1, 1], "seeds": [3, 4, 5], "retrain": [9], "epochs": 3}).key


@pytest.mark.parametrize(
    "said",
    [
        {"lams": [0, 1]},
        {"seeds": [1, 2]},
        {"retrain": [4]},
        {"controls": False},
        {"epochs": 3},
        {"lr": 0.01},
        {"encoder": "mlp"},
        {"patience": None},
    ],
)
def test_what_changes_results_changes_the_key(said: dict[str, Any]) -> None:
    assert one(said).key not in (one(True).key, one(False).key)
    assert one(said).trained == one(False).trained


@pytest.mark.parametrize(
    "said",
    [
        {"lr": 0.001},  # the base's
        {"encoder": "conv"},
        {"epochs": 80, "metric": "loss"},  # what it is without
        {"alpha": 1.7},  # of another projection
        {"plateau_patience": 3},
    ],
)
def test_what_changes_none_does_not(said: dict[str, Any]) -> None:
    assert one(said).key == one(True).key


# -- refusals


def test_all_that_is_wrong_is_told_at_once_with_its_line(tmp_path: Path) -> None:
    text = """
        corpora: SMALL
        seeds: [0, 3]
        adversaries:
          lams: [0, -1, 0, x]
          seeds: []
          retrain: [2, 3, 2]
          controls: 3
          epohcs: 3
          lam: 0.5
          hierarchical: true
          projection: uniform
          strength: auto
          max_tokens: 7
        """
    found = refused(tmp_path, text)
    assert [(problem.where, problem.code) for problem in found] == [
        ("line 5", "option.duplicate"),
        ("line 5", "option.wrong-type"),
        ("line 5", "option.out-of-range"),
        ("line 6", "option.empty"),
        ("line 7", "option.conflict"),
        ("line 7", "option.duplicate"),
        ("line 8", "option.wrong-type"),
        ("line 9", "option.unknown"),
        ("line 10", "option.not-applicable"),
        ("line 11", "option.not-applicable"),
        ("line 12", "option.conflict"),
        ("line 13", "option.conflict"),
        ("line 14", "option.unknown"),
    ]


@pytest.mark.parametrize("said", ["[0, 1]", "many", "3"])
def test_what_is_no_mapping_is_refused(tmp_path: Path, said: str) -> None:
    (told,) = refused(tmp_path, f"corpora: SMALL\nadversaries: {said}\n")
    told.check("line 2", "option.wrong-type", "adversaries")


def test_a_base_that_cannot_have_adversaries_is_refused(tmp_path: Path) -> None:
    text = """
        corpora: SMALL
        models:
          projection: [softmax, uniform]
        adversaries: true
        """
    (told,) = refused(tmp_path, text)
    told.check("lines 4, 5", "option.conflict", "uniform", "1 of 2")
    left = study(tmp_path, text.replace("adversaries: true", "adversaries: false"))
    assert len(left.cells) == 2


def test_options_that_do_not_go_with_a_base_are_refused_with_their_lines(tmp_path: Path) -> None:
    text = """
        corpora: SMALL
        models:
          grounding: [none, residual]
        adversaries:
          lr: 0.1
          hidden_size: 50
        """
    (told,) = refused(tmp_path, text)
    told.check("lines 4, 7", "option.conflict", "residual", "1 of 2")
    text = "corpora: SMALL\nadversaries: {epochs: 3, \n  select_from: 5}\n"
    (told,) = refused(tmp_path, text)
    told.check("lines 2, 3", "option.conflict", "select_from", "epochs")


def test_an_auto_strength_is_the_bases_business(tmp_path: Path) -> None:
    text = "corpora: SMALL\nmodels: {grounding: {tying: {strength: auto}}}\nADVERSARIES\n"
    cells = [
        study(tmp_path, text.replace("ADVERSARIES", f"adversaries: {{epochs: 2{more}}}")).cells[0]
        for more in ("", ", grounding: none")
    ]
    assert [(cell.adversaries or {}).get("grounding") for cell in cells] == [None, "none"]


def test_seeds_by_hand_are_held_against_retrain_too(tmp_path: Path) -> None:
    text = "corpora: SMALL\nadversaries: {retrain: 4}\n"
    assert len(study(tmp_path, text, seeds=[5, 6]).cells) == 2
    (told,) = refused(tmp_path, text, seeds=[4])
    told.check("line 2", "option.conflict", "seed 4")


def test_no_adversary_may_choose_what_its_training_refuses() -> None:
    corpus = verax.load_corpus("planted", documents=60, length=12)
    base = verax.train(corpus, encoder="none", epochs=1, embedding_size=4)
    others: dict[str, Any] = {
        "hierarchical": True,
        "class_weight": "balanced",
        "strengths": "1",
        "min_df": 2,
        "max_vocabulary": 9,
        "tokenizer": "keras",
        "lowercase": False,
        "max_length": 9,
    }
    assert set(NOT_ITS_OWN) == {*others, "vectors"}  # a file, which the cell has for all of them
    for name, value in others.items():
        with raises("option.conflict", name):
            train_adversary(base, corpus, 1.0, **{name: value})


# -- what a study says of itself


def test_a_seed_shared_with_a_base_is_mentioned() -> None:
    assert read_study({**SOURCE, "seeds": [0, 2], "adversaries": True}).notes == ()
    assert read_study({**SOURCE, "seeds": [0, 1], "adversaries": True}).notes == (
        "adversaries with seed 1 begin as the model of the study with that seed: give adversaries "
        "other seeds",
    )


def test_labels_are_as_without() -> None:
    source = {**SOURCE, "models": {"projection": ["softmax", "sparsemax"]}, "seeds": [0, 2]}
    plain, opposed = read_study(source), read_study({**source, "adversaries": True})
    assert list(plain.labels.values()) == list(opposed.labels.values())
    assert not set(plain.labels) & set(opposed.labels)
    assert opposed.resolved()["cells"].keys() == opposed.labels.keys()


def test_the_estimate_counts_every_training() -> None:
    source = {**SOURCE, "training": {"epochs": 5}}
    study = read_study(source)
    epoch = len(next(iter(study.corpora.values())).train)
    plain = work_of(study.cells[0], study.corpora)

    def more(said: dict[str, Any]) -> float:
        asked = {"lams": [0], "controls": False, "epochs": 10, **said}
        (cell,) = read_study({**source, "adversaries": asked}).cells
        return (work_of(cell, study.corpora) - plain) / epoch

    assert more({}) == 10
    assert more({"lams": [0, 1], "seeds": [1, 2]}) == 4 * 10
    assert more({"retrain": [7, 8]}) == 10 + 2 * 5
    assert more({"controls": True}) == 10 + 5 * 5  # five controls

"""Strengths that a rule chose, in place of the rule's name."""

from __future__ import annotations

from typing import Any

from research.papers import paper
from research.papers.paper import with_strengths
from support.errors import raises

CHOSEN = {
    "best": {"sst": {"additive": {"tying": 0.1, "mlm": 1}, "dot": {"tying": 0.3, "mlm": 3}}},
    "ours": {"sst": {"additive": {"tying": 10}}},
}


def study(*models: dict[str, Any], corpora: Any = ("sst",)) -> dict[str, Any]:
    return {"corpora": list(corpora), "models": list(models), "seeds": [1]}


def test_names_of_rules_become_strengths_of_corpus_and_attention() -> None:
    given = study(
        {
            "attention": ["additive", "dot"],
            "grounding": [
                "none",
                {"tying": {"strength": "best"}},
                {"mlm": {"strength": "best", "freeze_embeddings": True}},
            ],
        },
        {"attention": ["additive", "dot"], "grounding": "none"},
    )
    found = with_strengths(given, CHOSEN)
    assert found["seeds"] == [1]
    assert found["models"] == [
        {
            "attention": attention,
            "grounding": [
                "none",
                {"tying": {"strength": tying}},
                {"mlm": {"strength": mlm, "freeze_embeddings": True}},
            ],
        }
        for attention, tying, mlm in (("additive", 0.1, 1), ("dot", 0.3, 3))
    ] + [given["models"][1]]


def test_an_attention_without_a_choice_has_that_of_additive() -> None:
    model = {"attention": "dot-unscaled", "grounding": [{"tying": {"strength": "ours"}}]}
    (found,) = with_strengths(study(model), CHOSEN)["models"]
    assert found["grounding"] == [{"tying": {"strength": 10}}]


def test_numbers_stay_and_what_is_missing_is_named() -> None:
    number = study({"attention": "dot", "grounding": [{"tying": {"strength": 0.7}}]})
    assert with_strengths(number, CHOSEN) == number
    model = {"attention": "dot", "grounding": [{"mlm": {"strength": "ours"}}]}
    with raises("option.conflict", "ours"):
        with_strengths(study(model), CHOSEN)
    with raises("option.conflict"):
        with_strengths(study(model, corpora=("sst", "imdb")), CHOSEN)


def test_no_name_of_a_rule_is_left_in_a_study() -> None:
    own = paper("tutek-snajder-2020")
    for scale in ("full", "smoke", "probes"):
        for part, found in own.studies(scale).items():
            for model in found["models"]:
                groundings = model["grounding"]
                for item in groundings if isinstance(groundings, list) else []:
                    for options in item.values() if isinstance(item, dict) else []:
                        strengths = options["strength"]
                        for value in strengths if isinstance(strengths, list) else [strengths]:
                            assert isinstance(value, int | float), (scale, part, item)

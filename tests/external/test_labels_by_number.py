"""Corpora whose labels are numbers, and models whose classes have names."""

from __future__ import annotations

from typing import Any

import pytest
from architectures import make_model

import verax
from support.errors import raises

TEXTS = ["the film was good", "the plot is bad !", "it was far better", "very dull"]
NAMES = {0: "neg", 1: "pos"}


def named(**config: Any) -> Any:
    settings = {"id2label": NAMES, "label2id": {name: i for i, name in NAMES.items()}}
    return make_model("Bert", **{**settings, **config})


@pytest.mark.parametrize("labels", [[1, 0, 1, 0], ["1", "0", "1", "0"], [1.0, 0.0, 1.0, 0.0]])
def test_numbers_are_those_of_label2id(tokenizer: Any, labels: list[Any]) -> None:
    model = verax.from_transformers(named(), tokenizer)
    by_name = [NAMES[int(label)] for label in labels]
    verdicts = [
        verax.examine(model, (TEXTS, some), ["replacement"], permutations=2, progress=False)
        for some in (labels, by_name)
    ]
    assert verdicts[0].manifest["labels"] == {"neg": 2, "pos": 2}
    assert verdicts[0].summary().equals(verdicts[1].summary())
    assert verdicts[0].tables["replacement"].equals(verdicts[1].tables["replacement"])


def test_names_given_for_the_classes_have_the_numbers_of_the_logits(tokenizer: Any) -> None:
    model = verax.from_transformers(named(), tokenizer, classes=["bad", "good"])
    assert [model.label_number(label) for label in ("0", "good", "pos", "2")] == [0, 1, None, None]


def test_a_class_that_is_called_like_a_number_goes_by_its_name(tokenizer: Any) -> None:
    names = {0: "1", 1: "0"}
    config = {"id2label": names, "label2id": {name: i for i, name in names.items()}}
    model = verax.from_transformers(named(**config), tokenizer)
    assert [model.label_number(label) for label in ("0", "1")] == [1, 0]


def test_other_numbers_and_other_models_are_refused(tokenizer: Any) -> None:
    model = verax.from_transformers(named(), tokenizer)
    with raises("corpus.unknown-class", "'2'"):
        verax.examine(model, (TEXTS, [1, 2, 1, 2]), ["replacement"], progress=False)

    def function(texts: list[str]) -> Any:
        return [[0.5, 0.5]] * len(texts)

    black_box = verax.from_predict(function, ["neg", "pos"])
    with raises("corpus.unknown-class"):
        verax.examine(black_box, (TEXTS, [1, 0, 1, 0]), ["deletion"], progress=False)


def test_configurations_that_contradict_themselves_are_refused(tokenizer: Any) -> None:
    model = named(label2id={"neg": 1, "pos": 0})
    with raises("model.class-names", "neg"):
        verax.from_transformers(model, tokenizer)
    assert verax.from_transformers(model, tokenizer, classes=["a", "b"]).classes == ["a", "b"]

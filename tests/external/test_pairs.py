"""Sentence pairs stay pairs whichever word is left out; what would be cut is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers
from architectures import make_model
from torch import Tensor

import verax
from support.errors import raises

PAIRS = ["good fun | bad dull film", "the plot | was not good", "never bad | the acting"]


@pytest.fixture(scope="module")
def pairing(tokenizer: Any) -> Any:
    names = ["input_ids", "token_type_ids", "attention_mask"]
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer,
        pad_token="[PAD]",
        unk_token="[UNK]",
        mask_token="[MASK]",
        model_input_names=names,
    )


@torch.no_grad()
def probabilities(model: Any, tokenizer: Any, first: str, second: str) -> Tensor:
    read = tokenizer([first], [second], return_tensors="pt")  # a pair, also where one is empty
    return model(**read).logits[0].double().softmax(-1)


@pytest.mark.parametrize("separator", ["|", "[SEP]"])
def test_leave_one_out_of_pairs_is_that_of_two_texts(pairing: Any, separator: str) -> None:
    model = make_model("Bert")
    classifier = verax.from_transformers(model, pairing, separator=separator)
    texts = [text.replace("|", separator) for text in PAIRS]
    found = classifier.explain(texts, "leave-one-out")
    words, expected = [], []
    for text in texts:
        two = [part.split() for part in text.split(separator)]
        whole = probabilities(model, pairing, *map(" ".join, two))
        y = int(whole.argmax())
        for side in (0, 1):
            for place, word in enumerate(two[side]):
                left = list(two)
                left[side] = two[side][:place] + two[side][place + 1 :]
                without = probabilities(model, pairing, *map(" ".join, left))
                words.append(word)
                expected.append(float(whole[y] - without[y]))
    assert found["word"].tolist() == words
    assert found["leave-one-out"].tolist() == pytest.approx(expected, abs=1e-6)


def test_a_side_that_is_emptied_stays_a_side(pairing: Any) -> None:
    model = make_model("Bert")
    classifier = verax.from_transformers(model, pairing, separator="|")
    trace = classifier.trace(PAIRS[:1])
    for gone, first, second in (
        ([1, 1, 0, 0, 0], "", "bad dull film"),
        ([0, 0, 1, 1, 1], "good fun", ""),
    ):
        removed = torch.tensor([gone], dtype=torch.bool)
        found = classifier.logits_without(trace, torch.tensor([0]), removed)[0].double().softmax(-1)
        expected = probabilities(model, pairing, first, second)
        assert torch.allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("separator", ["\t", " ", "\n", " \t\n", "", " | ", "|\t", 5, ["|"]])
def test_separators_that_do_not_last_are_refused(pairing: Any, separator: Any) -> None:
    with raises("option.malformed", "separator") as error:
        verax.from_transformers(make_model("Bert"), pairing, separator=separator)
    assert "\n" not in str(error.value)


def test_texts_that_do_not_fit_a_separator_are_refused(pairing: Any) -> None:
    options: dict[str, Any] = {"separator": "|", "words": "whitespace"}
    classifier = verax.from_transformers(make_model("Bert"), pairing, **options)
    with raises("text.bad-pair", "text 1", "|"):
        classifier.predict(["good | bad", "good fun|bad"])
    with raises("text.empty", "text 0"):
        classifier.predict([" | "])


LONG = "the film was good and the plot was never bad"


def test_pairs_that_would_be_cut_are_refused(pairing: Any) -> None:
    classifier = verax.from_transformers(make_model("Bert"), pairing, separator="|", max_length=8)
    short = "good film | bad plot"  # with [CLS] and two [SEP] 7 pieces
    assert classifier.explain([short])["word"].tolist() == ["good", "film", "bad", "plot"]
    asked: list[Any] = []
    handle = classifier.module.register_forward_pre_hook(lambda *inputs: asked.append(inputs))
    for texts in ([short, f"{LONG} | bad"], [short, f"bad | {LONG}"]):
        for ask in (classifier.predict, classifier.explain):
            with raises("text.too-long", "text 1", 8):
                ask(texts)
        with raises("text.too-long", "text 1", 8):
            verax.examine(classifier, (texts, ["LABEL_0", "LABEL_1"]), ["deletion"])
    handle.remove()
    assert not asked


def test_texts_cut_on_the_left_are_refused(pairing: Any) -> None:
    pairing.truncation_side = "left"
    try:
        classifier = verax.from_transformers(make_model("Bert"), pairing, max_length=8)
        fits = "the film was never good ."
        before = classifier.predict([fits])
        with raises("text.too-long", "text 1", 8, "truncation_side"):
            classifier.predict([fits, LONG])
        with raises("text.too-long", "text 1", 8, "truncation_side"):
            verax.examine(classifier, ([fits, LONG], ["LABEL_0", "LABEL_1"]), ["deletion"])
    finally:
        pairing.truncation_side = "right"
    classifier = verax.from_transformers(make_model("Bert"), pairing, max_length=8)
    assert classifier.predict([fits]).equals(before)
    assert classifier.encode([LONG]).cut_texts == 1

"""A function from texts to probabilities: asked in batches, and refused where it is none."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from wrapped import untrained

import verax
from support.errors import raises
from support.internals import PROBES, lost
from verax.models import decisions

CLASSES = ["neg", "pos"]


def by_length(texts: list[str]) -> Any:
    share = np.array([min(len(text), 40) / 40 for text in texts])
    return np.stack([1 - share, share], axis=1)


@pytest.mark.slow
def test_leave_one_out_is_that_of_the_model_behind_it() -> None:
    texts = ["w1 w2 good0_1 w3 w4", "w5 good1_2", "w7 w8 w9"]
    many = [f"{text} w{n}" for n in range(12) for text in texts]
    corpus = verax.load_corpus(
        (many, ["a", "b", "a"] * 12), tokeniser="whitespace", lowercase=False
    )
    ours = untrained(corpus, encoder="bilstm", boundaries=False)

    nothing = ours.head.bias.sigmoid().item()

    def function(asked: list[str]) -> Any:
        p = ours.predict([text or "w1" for text in asked])["p_b"].to_numpy()
        p = np.where([bool(text) for text in asked], p, nothing)
        return np.stack([1 - p, p], axis=1)

    model = verax.from_predict(function, ["a", "b"], words="whitespace")
    assert torch.allclose(
        model.logits(texts).softmax(-1), torch.tensor(function(texts)).float(), atol=1e-6
    )
    trace = model.trace(texts)
    removed = torch.eye(5, dtype=torch.bool)
    expected = ours.explain(texts, ["leave-one-out"])["leave-one-out"].to_numpy()
    found = []
    for row, words in enumerate(trace.mask.sum(-1).tolist()):
        rows = torch.full((words,), row)
        without = model.logits_without(trace, rows, removed[:words])
        whole = trace.logits[rows]
        y = decisions(trace.logits[row : row + 1])
        found += lost(y, whole[None], without[None])[0].tolist()
    assert np.allclose(found, expected, atol=1e-6)
    assert np.allclose(model.explain(texts)["leave-one-out"], expected, atol=1e-6)
    of_inputs = {"rankings": "leave-one-out", "random_orders": 2, "split": "train"}
    tables = [verax.examine(one, corpus, ["deletion"], **of_inputs).tables for one in (ours, model)]
    for name, table in tables[0].items():
        pd.testing.assert_frame_equal(tables[1][name], table)


def test_each_text_is_asked_about_once_in_batches_of_the_given_size() -> None:
    asked: list[list[str]] = []

    def function(texts: list[str]) -> Any:
        asked.append(texts)
        return by_length(texts)

    model = verax.from_predict(function, CLASSES, max_batch=4)
    asked.clear()
    logits = model.logits_of_whatever(["a", "bb", "a", "c d", "e", "", "f", "bb"])
    assert [len(batch) for batch in asked] == [4, 2]
    assert len({text for batch in asked for text in batch}) == 6
    assert torch.equal(logits[0], logits[2])
    assert logits.shape == (8, 2)


def test_the_fingerprint_is_of_what_it_says() -> None:
    first = verax.from_predict(by_length, CLASSES)
    assert first.fingerprint == verax.from_predict(by_length, CLASSES).fingerprint
    other = verax.from_predict(lambda texts: by_length(texts)[:, ::-1], CLASSES)
    assert other.fingerprint != first.fingerprint
    assert first.describe() == {"function": "by_length", "gives": "probabilities"}


def test_logits_are_taken_as_they_are() -> None:
    model = verax.from_predict(
        lambda texts: torch.tensor([[3.0, -1.0]] * len(texts)), CLASSES, gives="logits"
    )
    assert model.logits(["a"]).tolist() == [[3.0, -1.0]]
    certain = verax.from_predict(lambda texts: [[1.0, 0.0]] * len(texts), CLASSES)
    assert bool(certain.logits(["a"]).isfinite().all())


def _generator_exit(texts: list[str]) -> Any:
    raise GeneratorExit


class _Leaving:
    """An array that ends the program as it is read."""

    def __array__(self, *dtype: Any, **how: Any) -> Any:
        sys.exit(0)


def test_an_interruption_of_the_function_is_one() -> None:
    def interrupted(texts: list[str]) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        verax.from_predict(interrupted, CLASSES)


def reading_padding(texts: list[str]) -> Any:
    """The share of padding in the batch decides."""
    longest = max(map(len, texts))
    share = np.array([1 - len(text) / (longest + 1) for text in texts])
    return np.stack([1 - share, share], axis=1)


def forgetting_from(place: int) -> Any:
    """From this place in a batch on, all answers are the same."""

    def function(texts: list[str]) -> Any:
        answers = by_length(texts)
        answers[place:] = 0.5
        return answers

    return function


def flipping_from(many: int) -> Any:
    def function(texts: list[str]) -> Any:
        answers = by_length(texts)
        return answers[:, ::-1] if len(texts) >= many else answers

    return function


@pytest.mark.parametrize(
    ("function", "max_batch", "sizes"),
    [
        (reading_padding, 64, ""),
        (reading_padding, 2, ""),
        (flipping_from(2), 64, "4"),
        (flipping_from(4), 64, "4"),
        (flipping_from(5), 64, "64"),
        (flipping_from(64), 64, "64"),
        (flipping_from(64), 1000, "64"),
        (flipping_from(5), 6, "6"),
        (forgetting_from(5), 64, ""),
        (forgetting_from(63), 64, ""),
    ],
)
def test_an_answer_that_depends_on_the_batch_is_refused(
    function: Any, max_batch: int, sizes: str
) -> None:
    with raises("model.batch-dependent", sizes) as error:
        verax.from_predict(function, CLASSES, max_batch=max_batch)
    assert "\n" not in str(error.value)
    # one by one the answer is that of the text
    model = verax.from_predict(function, CLASSES, max_batch=1)
    assert model.predict(["short", "a much longer text"], progress=False)["label"].tolist()


@pytest.mark.parametrize("max_batch", [1, 3, 5, 64])
def test_probes_are_asked_within_the_largest_batch(max_batch: int) -> None:
    sizes = []

    def function(texts: list[str]) -> Any:
        sizes.append(len(texts))
        return by_length(texts)

    verax.from_predict(function, CLASSES, max_batch=max_batch)
    assert max(sizes) == max_batch
    assert min(sizes) == 1


counted = iter(range(100))


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda texts: [[0.5, 0.4]] * len(texts), "model.wrong-output"),
        (lambda texts: [[1.5, -0.5]] * len(texts), "model.wrong-output"),
        (lambda texts: [[0.5, float("nan")]] * len(texts), "model.not-finite"),
        (lambda texts: [0.5] * len(texts), "model.wrong-output"),
        (lambda texts: [[1.0, 0.0]], "model.wrong-output"),
        (lambda texts: ["neg"] * len(texts), "model.wrong-output"),
        (lambda texts: 1 / 0, "model.failed"),
        (
            lambda texts: [[(n := next(counted) / 100), 1 - n]] * len(texts),
            "model.not-deterministic",
        ),
        (lambda texts: [[i / 9, 1 - i / 9] for i in range(len(texts))], "model.not-deterministic"),
        (lambda texts: sys.exit(0), "model.failed"),
        (_generator_exit, "model.failed"),
        (lambda texts: _Leaving(), "model.wrong-output"),
        ("model", "model.wrong-type"),
    ],
)
def test_what_gives_no_probabilities_is_refused_in_one_line(function: Any, code: str) -> None:
    assert len(PROBES) == 4
    with raises(code) as error:
        verax.from_predict(function, CLASSES)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"gives": "odds"}, "option.unknown-value"),
        ({"gives": None}, "option.unknown-value"),
        ({"words": "words"}, "option.unknown-value"),
        ({"words": len}, "option.unknown-value"),
        ({"max_batch": 0}, "option.out-of-range"),
        *(
            ({"classes": classes}, "model.class-names")
            for classes in (["one"], 2, None, {"neg", "pos"}, {0: "neg", 1: "pos"})
        ),
    ],
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any], code: str) -> None:
    with raises(code, *options):
        verax.from_predict(by_length, **{"classes": CLASSES, **options})

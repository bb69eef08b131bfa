"""A function from texts to probabilities: asked in batches, and refused where it is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from wrapped import untrained

import verax
from verax.external.predict import PROBES
from verax.importance.decision import lost
from verax.models.head import decisions

CLASSES = ["neg", "pos"]


def by_length(texts: list[str]) -> Any:
    share = np.array([min(len(text), 40) / 40 for text in texts])
    return np.stack([1 - share, share], axis=1)


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


counted = iter(range(100))


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda texts: [[0.5, 0.4]] * len(texts), "sum to one; for logits"),
        (lambda texts: [[1.5, -0.5]] * len(texts), "sum to one"),
        (lambda texts: [[0.5, float("nan")]] * len(texts), "finite"),
        (lambda texts: [0.5] * len(texts), r"the shape \(4,\), expected \(4, 2\)"),
        (lambda texts: [[1.0, 0.0]], r"the shape \(1, 2\)"),
        (lambda texts: ["neg"] * len(texts), "no array of numbers"),
        (lambda texts: 1 / 0, "the function failed on 4 texts: ZeroDivisionError"),
        (lambda texts: [[(n := next(counted) / 100), 1 - n]] * len(texts), "asked again"),
        (lambda texts: [[i / 9, 1 - i / 9] for i in range(len(texts))], "another order"),
        ("model", "cannot ask a str"),
    ],
)
def test_what_gives_no_probabilities_is_refused_in_one_line(function: Any, message: str) -> None:
    assert len(PROBES) == 4
    with pytest.raises(verax.VeraxError, match=message) as error:
        verax.from_predict(function, CLASSES)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "options", [{"gives": "odds"}, {"words": "words"}, {"max_batch": 0}, {"classes": ["one"]}]
)
def test_options_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(verax.VeraxError):
        verax.from_predict(by_length, **{"classes": CLASSES, **options})

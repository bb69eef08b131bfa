"""Scores of a model that gives nothing but probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from support.errors import raises
from support.internals import WordTrace
from verax import ExternalClassifier
from verax.importance import known_names, score

WORTH = {"good": 2.0, "not": -1.5, "dull": -3.0}


class Counting(ExternalClassifier):
    """The logit of "yes" is the sum of what words are worth."""

    kind = "predict"
    fingerprint = ""

    def describe(self) -> dict[str, Any]:
        return {}

    def logits_of_texts(self, texts: list[str], *more: Any) -> Tensor:
        sums = [sum(WORTH.get(word, 0.0) for word in text.split()) for text in texts]
        return torch.tensor([[0.0, one] for one in sums], dtype=torch.float64)

    def trace_rows(self, read: Any, rows: Any) -> WordTrace:
        texts = [read.texts[row] for row in rows]
        return WordTrace(read.batch(rows, self.device), self.logits_of_texts(texts))


def test_leave_one_out_and_chance_are_all_there_is() -> None:
    model = Counting(["no", "yes"])
    assert known_names("inputs", "predict") == ["leave-one-out", "random"]
    trace = model.trace(["not a good film", "dull"])
    signed = score("leave-one-out", model, trace, signed=True, target="yes", max_tokens=5)

    def p(logit: float) -> float:
        return 1 / (1 + np.exp(-logit))

    whole = p(0.5)
    expected = [[whole - p(2.0), 0, whole - p(-1.5), 0], [p(-3.0) - p(0), 0, 0, 0]]
    np.testing.assert_allclose(signed, expected, atol=1e-12)
    assert model.explain(["not a good film"]).columns[-1] == "leave-one-out"
    assert score("random", model, trace).any()
    for name in ("attention", "gradient", "leave-one-out-mask"):
        with raises("importance.not-applicable"):
            score(name, model, trace)

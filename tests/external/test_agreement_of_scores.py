"""Agreement of scores derived from attention with controls, against SciPy."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

import verax
from verax import TransformerClassifier
from verax.exams import plan
from verax.importance import score


def upwards(model: Any, trace: Any) -> torch.Tensor:
    return torch.arange(trace.mask.shape[1]).double().expand(trace.mask.shape)


@pytest.mark.slow
def test_pairs_are_those_of_scipy(bert: TransformerClassifier, reviews: verax.Corpus) -> None:
    told: dict[str, Any] = {"derived": "rollout,attention", "importances": {"mine": upwards}}
    verdict = verax.examine(bert, reviews, "agreement", "test", top_k=2, **told)
    table = verdict.tables["agreement"]
    trace = bert.trace(reviews.test.texts)
    pairs = [("rollout", "leave-one-out"), ("attention", "gradient"), ("mine", "gradient")]
    for first, second in pairs:
        chosen = table[(table["first"] == first) & (table["second"] == second)]
        values = chosen.set_index(["id", "measure"])["value"]
        scores = [
            upwards(bert, trace) if name == "mine" else score(name, bert, trace)
            for name in (first, second)
        ]
        for row, id in enumerate(reviews.test.ids):
            a, b = (one[row][trace.mask[row]].numpy().round(9) for one in scores)
            tau, p = scipy.stats.kendalltau(a, b)
            assert values[id, "kendall"] == pytest.approx(tau, abs=1e-6)
            assert values[id, "p"] == pytest.approx(p, abs=1e-6)
            tops = [set(np.argsort(-x, kind="stable")[:2]) for x in (a, b)]
            assert values[id, "overlap"] == len(tops[0] & tops[1]) / 2
        assert np.isclose(
            verdict.value(f"agreement.inputs:{first}:{second}.tau"),
            chosen.loc[chosen["measure"] == "kendall", "value"].mean(),
        )
    assert set(verdict.judgement.subjects) == {"attention", "rollout", "mine"}


def test_probabilities_alone_have_nothing_to_compare_but_ones_own(
    bert: TransformerClassifier, reviews: verax.Corpus
) -> None:
    predicting: Any = SimpleNamespace(kind="predict")
    (without,) = plan(predicting, ["agreement"])
    assert without.exam is None
    assert "give importances" in without.reason
    (planned,) = plan(predicting, ["agreement"], ["mine"])
    assert planned.exam is not None

"""Agreement of scores derived from attention with controls, against SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch

import verax
from verax.exams.planning import plan
from verax.external.transformer import TransformerClassifier
from verax.importance import score


def upwards(model: Any, trace: Any) -> torch.Tensor:
    return torch.arange(trace.mask.shape[1]).double().expand(trace.mask.shape)


def test_pairs_are_those_of_scipy(bert: TransformerClassifier, reviews: verax.Corpus) -> None:
    told: dict[str, Any] = {"derived": "rollout,attention", "importances": {"mine": upwards}}
    verdict = verax.examine(bert, reviews, "agreement", "test", top_k=2, **told)
    table = verdict.tables["agreement"]
    texts = dict(zip(reviews.test.ids, reviews.test.texts, strict=True))
    pairs = [
        ("rollout", "leave-one-out"),
        ("attention", "integrated-gradients"),
        ("mine", "gradient"),
    ]
    for first, second in pairs:
        chosen = table[(table["first"] == first) & (table["second"] == second)]
        values = chosen.set_index(["id", "measure"])["value"]
        for id, text in texts.items():
            trace = bert.trace([text])
            a, b = (
                upwards(bert, trace)[0] if name == "mine" else score(name, bert, trace)[0]
                for name in (first, second)
            )
            tau, p = scipy.stats.kendalltau(a.numpy().round(9), b.numpy().round(9))
            assert values[id, "kendall"] == pytest.approx(tau, abs=1e-6)
            assert values[id, "p"] == pytest.approx(p, abs=1e-6)
            tops = [set(np.argsort(-x.numpy(), kind="stable")[:2]) for x in (a, b)]
            assert values[id, "overlap"] == len(tops[0] & tops[1]) / 2
        assert np.isclose(
            verdict.value(f"agreement.inputs:{first}:{second}.tau"),
            chosen.loc[chosen["measure"] == "kendall", "value"].mean(),
        )
    assert set(verdict.judgement.subjects) == {"attention", "rollout", "mine"}


def test_probabilities_alone_have_nothing_to_compare_but_ones_own(
    bert: TransformerClassifier, reviews: verax.Corpus
) -> None:
    class Predicting:
        kind = "predict"

    (without,) = plan(Predicting(), ["agreement"])  # type: ignore[arg-type]
    assert without.exam is None
    assert "give importances" in without.reason
    (planned,) = plan(Predicting(), ["agreement"], ["mine"])  # type: ignore[arg-type]
    assert planned.exam is not None

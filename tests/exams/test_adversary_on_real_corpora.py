"""Other attention on real text, where a machine has it: SST as papers read it, and five classes."""

from __future__ import annotations

import os

import numpy as np
import pytest
from summaries import numbers

import verax
from verax.training import divergences, train_adversary

pytestmark = pytest.mark.skipif(
    not os.environ.get("VERAX_DATA"), reason="$VERAX_DATA names no folder of corpora"
)


def jsd(verdict: verax.Verdict, by: str) -> np.ndarray:
    table = verdict.tables["adversary"]
    own = table[(table["measure"] == "jsd") & (table["by"] == by)]
    return own.pivot(index="id", columns="epsilon", values="value").to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("projection", ["softmax", "sparsemax"])
@pytest.mark.parametrize("grounding", ["none", "tying"])
def test_no_search_on_sst_gets_beyond_the_certificate(
    sst: verax.Corpus, projection: str, grounding: str
) -> None:
    told = {"projection": projection, "grounding": grounding, "epochs": 2, "encoder": "conv"}
    model = verax.train(sst, hidden_size=16, embedding_size=16, **told)
    verdict = verax.examine(model, sst, "adversary", sample=60, search=True, search_steps=200)
    best, searched = jsd(verdict, "best"), jsd(verdict, "search")
    assert best.shape == (60, 6)
    assert (searched <= best + 1e-10).all()
    assert (np.diff(best, axis=1) >= -1e-12).all()  # epsilons rise
    assert (numbers(verdict, "adversary")["certified"] == 100).all()
    assert (numbers(verdict, "adversary.search")["smallest_gap"] >= -1e-10).all()
    assert searched.mean() < best.mean()


@pytest.mark.slow
def test_five_classes_of_yelp_are_bounded_from_both_sides(yelp: verax.Corpus) -> None:
    model = verax.train(yelp, encoder="conv", epochs=1, hidden_size=16, embedding_size=16)
    verdict = verax.examine(model, yelp, "adversary", sample=20, search=True, search_steps=50)
    shown = numbers(verdict, "adversary")
    assert (shown["jsd"] <= shown["upper_bound"] + 1e-12).all()
    assert shown.loc["any_output", "certified"] == 100
    left_out = verdict.value("adversary.documents.one_item")
    assert verdict.value("adversary.groups.all.documents") + left_out == 20


@pytest.mark.slow
def test_an_adversary_of_sst_attends_elsewhere(sst: verax.Corpus) -> None:
    sizes = {"encoder": "conv", "hidden_size": 32, "embedding_size": 32}
    base = verax.train(sst, epochs=2, **sizes)
    near, far = (train_adversary(base, sst, lam, seed=1, epochs=4, **sizes) for lam in (0.0, 1.0))
    found = [divergences(model, base, sst.test)["jsd"].mean() for model in (near, far)]
    assert found[0] + 0.1 < found[1] <= np.log(2)

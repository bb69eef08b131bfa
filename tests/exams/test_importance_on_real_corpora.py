"""Importance on real text, where a machine has it: SST as papers read it, and five classes."""

from __future__ import annotations

import os

import numpy as np
import pytest
import torch
from scipy import stats
from summaries import numbers

import verax
from verax.importance import score
from verax.models import AttentionClassifier, probabilities

pytestmark = pytest.mark.skipif(
    not os.environ.get("VERAX_DATA"), reason="$VERAX_DATA names no folder of corpora"
)


@pytest.fixture(scope="module")
def model(sst: verax.Corpus) -> AttentionClassifier:
    return verax.train(sst, encoder="bilstm", hidden_size=16, epochs=2, projection="sparsemax")


@pytest.mark.slow
def test_agreement_on_sst_is_scipys(model: AttentionClassifier, sst: verax.Corpus) -> None:
    verdict = verax.examine(model, sst, ["agreement"], sample=40)
    table = verdict.tables["agreement"].query(
        "on == 'inputs' and first == 'attention' and second == 'leave-one-out' and over == 'all'"
    )
    found = table[table["measure"] == "kendall"].set_index("id")["value"]
    assert len(found) == 40
    off = []
    places = {int(document): place for place, document in enumerate(sst.test.ids)}
    for document, tau in found.items():
        trace = model.trace([sst.test.texts[places[document]]])
        shown = trace.batch.words[0]
        scores = score("leave-one-out", model, trace)[0][shown]
        expected = stats.kendalltau(trace.weights[0][shown], scores).statistic
        off.append(abs(tau - expected))
    # a near tie may fall either way in another batch, but seldom
    assert np.median(off) < 1e-9
    assert np.mean(off) < 0.01


def test_deleting_words_of_sst_is_reading_the_rest(
    model: AttentionClassifier, sst: verax.Corpus
) -> None:
    for text in sst.test.texts[:3]:
        words = text.split()
        explained = model.explain([text], by=["leave-one-out"])
        assert explained["word"].tolist() == words
        whole = probabilities(model.logits([words]))[0]
        y = int(whole.argmax())
        rest = [words[:i] + words[i + 1 :] for i in range(len(words))]
        lost = whole[y] - probabilities(model.logits(rest))[:, y]
        found = torch.tensor(explained["leave-one-out"].tolist())
        torch.testing.assert_close(found, lost, rtol=1e-3, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("hierarchical", [False, True])
def test_five_classes_of_yelp(yelp: verax.Corpus, hierarchical: bool) -> None:
    sizes = {"hidden_size": 16, "embedding_size": 16, "epochs": 1}
    model = verax.train(yelp, encoder="conv", hierarchical=hierarchical, **sizes)
    verdict = verax.examine(model, yelp, ["agreement", "dispersion"], sample=20, positions=4)
    entropies = numbers(verdict, "dispersion.entropy")["mean"]
    assert ((entropies >= 0) & (entropies <= 1)).all()
    counted = numbers(verdict, "agreement")[["documents"]].sum(axis=1)
    left_out = numbers(verdict, "agreement").filter(regex="^out_").sum(axis=1)
    assert (counted + left_out == 20).all()

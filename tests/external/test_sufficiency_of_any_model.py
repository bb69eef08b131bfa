"""Sufficiency of a Transformer, a pooled model and a function, held against texts cut by hand."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from test_deletion import OWN, Predicting
from wrapped import untrained, wrapped

import verax
from support.documents import per_document
from support.internals import rankings_of
from verax import TransformerClassifier
from verax.exams.authoring import wide
from verax.importance import DERIVED, score
from verax.models import probabilities
from verax.statistics import holm, paired

PERCENTAGES = (1, 5, 10, 20, 50)
SIGNS = {"comprehensiveness": 1.0, "sufficiency": -1.0}
"""Measure → which way is better."""
HOW: dict[str, Any] = {
    "exams": "sufficiency",
    "rankings": "random",
    "random_orders": 2,
    "importances": OWN,
}


@pytest.fixture(scope="module")
def model(make_classifier: Any) -> TransformerClassifier:
    return make_classifier(2)


@pytest.fixture(scope="module")
def verdict(model: TransformerClassifier, reviews: verax.Corpus) -> verax.Verdict:
    return verax.examine(model, reviews, split="all", sample=12, **HOW)


def words_of(text: str) -> list[str]:
    for sign in ".!,":
        text = text.replace(sign, f" {sign}")
    return text.split()


def by_hand(words: list[str], order: list[int], p: Callable[[list[str]], Any]) -> pd.DataFrame:
    """Each measure of one text by one order, a pass a set.

    p  words left → (classes,) probabilities
    """
    whole = p(words)
    y = int(whole.argmax())
    rows = []
    for percentage in PERCENTAGES:
        first = set(order[: ceil(len(words) * percentage / 100)])
        without = p([word for k, word in enumerate(words) if k not in first])
        alone = p([word for k, word in enumerate(words) if k in first])
        rows.append(
            {
                "comprehensiveness": whole[y] - without[y],
                "sufficiency": whole[y] - alone[y],
                "changed": float(without.argmax() != y),
                "kept": float(alone.argmax() == y),
            }
        )
    return pd.DataFrame(rows)


def found_of(verdict: verax.Verdict, id: int, ranking: str) -> pd.DataFrame:
    table = verdict.tables["sufficiency"]
    chosen = table[(table["id"] == id) & (table["ranking"] == ranking)]
    by = wide(chosen.astype({"percentage": str}), "percentage").loc[id]
    columns = ["comprehensiveness", "sufficiency", "changed", "kept"]
    return by.loc[[str(one) for one in PERCENTAGES], columns].reset_index(drop=True)


@pytest.mark.slow
def test_a_transformer_is_asked_about_texts_cut_by_hand(
    model: TransformerClassifier, reviews: verax.Corpus, verdict: verax.Verdict
) -> None:
    def p(words: list[str]) -> Any:
        if not words:
            return model.logits_of_whatever([""]).softmax(-1)[0].double().numpy()
        return model.predict([" ".join(words)]).iloc[0, 1:].to_numpy(dtype=float)

    documents = reviews.documents("all")
    seen = set()
    texts = dict(zip(documents.ids, documents.texts, strict=True))
    for id in list(dict.fromkeys(verdict.tables["sufficiency"]["id"])):
        words = words_of(texts[id])
        expected = by_hand(words, list(range(len(words)))[::-1], p)
        found = found_of(verdict, id, "backwards")
        np.testing.assert_allclose(found, expected, atol=1e-6)
        seen |= {*expected["changed"]}
    assert seen == {0, 1}


@pytest.mark.slow
@pytest.mark.parametrize("operator", ["mask", "attention"])
def test_other_operators(
    model: TransformerClassifier, reviews: verax.Corpus, operator: str
) -> None:
    verdict = verax.examine(model, reviews, split="all", sample=4, operator=operator, **HOW)
    documents = reviews.documents("all")
    ids = set(verdict.tables["sufficiency"]["id"])
    for id, text in zip(documents.ids, documents.texts, strict=True):
        if id not in ids:
            continue
        trace = model.trace([text])
        count = int(trace.mask.sum())

        def p(left: list[str], trace: Any = trace, count: int = count) -> Any:
            removed = torch.tensor([[str(k) not in left for k in range(count)]])
            with torch.no_grad():
                if operator == "mask":
                    token = model.reader.tokenizer.mask_token_id
                    pieces = trace.pieces.replaced_by(token, removed)
                else:
                    pieces = trace.pieces.masked_out(removed)
                return model.run(pieces).logits.double().softmax(-1)[0].numpy()

        order = list(range(count))[::-1]
        expected = by_hand([str(k) for k in range(count)], order, p)
        np.testing.assert_allclose(found_of(verdict, id, "backwards"), expected, atol=1e-6)


@pytest.mark.slow
def test_only_probabilities_give_the_same_tables(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    tables = [
        verax.examine(one, reviews, split="all", sample=5, **HOW).tables
        for one in (model, Predicting(model))
    ]
    for name in tables[0]:
        pd.testing.assert_frame_equal(tables[1][name], tables[0][name], atol=2e-5)


@pytest.mark.slow
def test_a_pooled_model_is_asked_about_texts_cut_by_hand() -> None:
    corpus = verax.load_corpus("planted", documents=60, length=10)
    ours = untrained(corpus, encoder="conv")
    bias = probabilities(ours.head.bias.detach().double()).numpy()

    def p(words: list[str]) -> Any:
        if not words:
            return bias
        return ours.predict([words]).iloc[0, 1:].to_numpy(dtype=float)

    how = {**HOW, "importances": {}, "rankings": "gradient", "sample": 5}
    verdict = verax.examine(ours, corpus, **how)
    for id in dict.fromkeys(verdict.tables["sufficiency"]["id"]):
        text = corpus.test.texts[int(np.flatnonzero(corpus.test.ids == id)[0])]
        words = ours.word_tokenizer(text)
        trace = ours.trace([text])
        scores = score("gradient", ours, trace, signed=True)[0][trace.batch.words[0]]
        order = sorted(range(len(words)), key=lambda k: (-float(scores[k]), k))
        found = found_of(verdict, id, "gradient")
        np.testing.assert_allclose(found, by_hand(words, order, p), atol=1e-6)


@pytest.mark.slow
def test_ones_own_module_gives_the_tables_of_the_model_it_is() -> None:
    corpus = verax.load_corpus("planted", documents=60, length=8)
    ours = untrained(corpus, encoder="bilstm", projection="sparsemax")
    how = {"exams": "sufficiency", "random_orders": 1, "sample": 6}
    expected = verax.examine(ours, corpus, **how)
    for name, table in verax.examine(wrapped(ours), corpus, **how).tables.items():
        pd.testing.assert_frame_equal(table, expected.tables[name])


@pytest.mark.slow
def test_batches_change_nothing_but_rounding(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    how = {**HOW, "split": "all", "sample": 6}
    expected, found = (verax.examine(model, reviews, max_tokens=n, **how) for n in (16_384, 60))
    for name, table in expected.tables.items():
        # what is normalised is divided by 0.05 at least
        pd.testing.assert_frame_equal(found.tables[name], table, atol=2e-5)


def test_differences_from_random_order_are_tested_in_pairs(verdict: verax.Verdict) -> None:
    rankings = rankings_of(verdict.tables)
    raw = {}
    for name in OWN:
        for measure, sign in SIGNS.items():
            a, b = (sign * rankings[one].mean(measure) for one in (name, "random"))
            raw[name, measure] = paired(a, b, "permutation")
    columns = {"comprehensiveness": "more_than_random", "sufficiency": "less_than_random"}
    for ((name, measure), test), p in zip(
        raw.items(), holm([test.p for test in raw.values()]), strict=True
    ):
        found = verdict.number(f"sufficiency.{name}.{columns[measure]}")
        assert (found.value, found.low, found.high) == (test.difference, test.low, test.high)
        assert verdict.value(f"sufficiency.{name}.{measure}_p") == p


def test_no_ranking_is_better_than_the_best_found(verdict: verax.Verdict) -> None:
    rankings = rankings_of(verdict.tables)
    best = rankings["best"]
    for name, one in rankings.items():
        for measure, sign in SIGNS.items():
            assert (sign * one.values[measure] <= sign * best.values[measure] + 1e-9).all()
            normalised = one.values[f"normalised_{measure}"]
            normalised = normalised[~np.isnan(normalised)]
            assert ((normalised >= 0) & (normalised <= 1)).all()
        for measure in ("changed", "kept"):
            assert (one.values[measure] <= best.values[measure]).all(), name
    searched = per_document(verdict, "sufficiency_instances")
    assert (searched["rounds"] > 0).all()
    assert verdict.value("sufficiency.best.comprehensiveness") > max(
        verdict.value(f"sufficiency.{name}.comprehensiveness") for name in (*OWN, "random")
    )


@pytest.mark.slow
def test_the_search_keeps_to_its_budget(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    how = {**HOW, "split": "all", "sample": 8}
    budgets = (0, 36, 60)  # 20 are for the prefixes of both orders
    tables = [
        wide(verax.examine(model, reviews, greedy_sets=n, **how).tables["sufficiency_instances"])
        for n in budgets
    ]
    without = tables[0]["asked"]
    for budget, instances in zip(budgets[1:], tables[1:], strict=True):
        assert (instances["asked"] - without <= budget).all()
        most = np.ceil(instances["words"] / 2)
        allowed = (budget - 20) // (2 * instances["words"])
        assert (instances["rounds"] == np.minimum(allowed, most)).all()
    searched = tables[1]["rounds"] > 0
    assert searched.any()
    assert not searched.all()
    verdict = verax.examine(model, reviews, greedy_sets=36, **how)
    count = verdict.value("sufficiency.documents.not_searched")
    assert count == (~searched).sum()
    exact = wide(verdict.tables["sufficiency_best"].astype({"percentage": str}), "percentage")[
        "exact"
    ].unstack("percentage")
    assert (exact["1"] == searched).all()  # one word


@pytest.mark.slow
def test_by_default_every_score_is_judged(
    model: TransformerClassifier, reviews: verax.Corpus
) -> None:
    how = {"exams": "sufficiency", "random_orders": 1, "greedy_sets": 0}
    verdict = verax.examine(model, reviews, **how)
    assert list(verdict.judgement.subjects) == list(DERIVED)
    rankings = list(dict.fromkeys(verdict.tables["sufficiency"]["ranking"]))
    assert rankings[-5:] == [
        *("gradient", "gradient-input", "integrated-gradients", "leave-one-out", "random"),
    ]

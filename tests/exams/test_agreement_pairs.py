"""Which importances the agreement exam compares: by name, and of one's own."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
import torch
from agreement_values import by_sentence, values
from scipy import stats
from summaries import numbers

import verax
from support.documents import corpus_of
from support.errors import raises
from support.internals import pairs
from verax.models import AttentionClassifier

Make = Callable[..., AttentionClassifier]


def test_pairs() -> None:
    assert pairs(["gradient"]) == [("attention", "gradient")]
    assert pairs(["leave-one-out"]) == [("attention", "leave-one-out")]
    assert pairs(["leave-one-out", "random", "leave-one-out-renormalised"]) == [
        ("attention", "leave-one-out"),
        ("attention", "random"),
        ("attention", "leave-one-out-renormalised"),
        ("random", "leave-one-out"),
    ]
    assert pairs([]) == []


def test_ones_own_is_compared_with_deletion_whatever_its_name() -> None:
    assert ("leave-one-outside", "leave-one-out") in pairs(["leave-one-out", "leave-one-outside"])


def words_from_the_left(model: AttentionClassifier, trace: verax.Trace) -> torch.Tensor:
    """−place of each word: (batch, tokens)."""
    return -torch.arange(trace.tokens.shape[1]).float().expand(trace.tokens.shape)


def items_from_the_left(model: AttentionClassifier, trace: verax.Trace) -> torch.Tensor:
    """−place of each item: (batch, items)."""
    return -torch.arange(trace.mask.shape[1]).float().expand(trace.mask.shape)


def test_ones_own_of_items(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model()
    verdict = verax.examine(
        model,
        planted,
        "agreement",
        inputs="",
        items="leave-one-out",
        importances={"left": items_from_the_left},
    )
    found = values(verdict)
    assert list(found) == [
        ("items", "attention", "leave-one-out", "all"),
        ("items", "attention", "leave-one-out", "support"),
        ("items", "attention", "left", "all"),
        ("items", "attention", "left", "support"),
        ("items", "left", "leave-one-out", "all"),
    ]
    for trace in model.traces(planted.test):
        for row, identity in enumerate(trace.ids):
            weights = trace.weights[row][trace.mask[row]].numpy()
            expected = stats.kendalltau(weights, -np.arange(len(weights))).statistic
            assert found.loc[identity, ("items", "attention", "left", "all")] == pytest.approx(
                expected, abs=1e-12
            )
    assert verdict.manifest["importances"] == ["left"]


@pytest.mark.slow
def test_ones_own_of_words_is_summed_by_sentence(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(hierarchical=True)
    mine = {"words": words_from_the_left, "items": items_from_the_left}
    found = values(verax.examine(model, planted, "agreement", importances=mine))
    assert ("inputs", "attention", "words", "all") in found
    assert ("items", "attention", "items", "all") in found
    for trace in model.traces(planted.test):
        sums = by_sentence(words_from_the_left(model, trace).double(), trace)
        for row, identity in enumerate(trace.ids):
            own = trace.mask[row]
            expected = stats.kendalltau(trace.weights[row][own], sums[row][own]).statistic
            assert found.loc[identity, ("inputs", "attention", "words", "all")] == pytest.approx(
                expected, abs=1e-12
            )


@pytest.mark.slow
def test_words_and_sentences_as_many_are_not_mistaken_for_each_other(make_model: Make) -> None:
    """ ". w1" has two words and two sentences. Read by itself, scores of its words have the shape
    of its items; they are scores of words all the same, and no other number takes their place.
    """
    model = make_model(hierarchical=True)
    texts = ["w1 w2 . w3 w4 w5 .", ". w1", "w3 ! w4 w5 . w6 ."]
    corpus = corpus_of(texts, model=model)
    mine = {"mine": words_from_the_left}
    whole, cut = (
        values(verax.examine(model, corpus, "agreement", importances=mine, max_tokens=n))
        for n in (1000, 2)
    )
    pd.testing.assert_frame_equal(whole, cut)


def test_nan_of_ones_own_is_told(make_model: Make, planted: verax.Corpus) -> None:
    def holes(model: AttentionClassifier, trace: verax.Trace) -> torch.Tensor:
        scores = items_from_the_left(model, trace).clone()
        scores[:, 3] = torch.nan
        return scores

    importances = {"holes": holes}
    verdict = verax.examine(make_model(), planted, "agreement", importances=importances)
    found = numbers(verdict, "agreement").loc["items:attention:holes"]
    assert found["documents"] == 0
    assert found["out_not_a_number"] == len(planted.test)
    assert math.isnan(found["tau"])


@pytest.mark.parametrize(
    ("name", "importance", "expected"),
    [
        ("mine", lambda m, t: t.weights[:, :-1], ("importance.wrong-scores", "mine")),
        ("mine", lambda m, t: t.weights[0], ("importance.wrong-scores", "mine")),
        ("mine", lambda m, t: t.mask, ("importance.wrong-scores", "mine")),
        ("mine", lambda m, t: None, ("importance.wrong-scores", "mine")),
        ("gradient", lambda m, t: t.weights, ("importance.name-taken", "gradient")),
        ("leave-one-out", lambda m, t: t.weights, ("importance.name-taken", "leave-one-out")),
        ("my own", lambda m, t: t.weights, ("plugin.invalid-name",)),
        ("mine", "gradient", ("importance.wrong-scores", "mine")),
    ],
)
def test_a_bad_importance_is_named(
    make_model: Make,
    planted: verax.Corpus,
    name: str,
    importance: Callable[..., torch.Tensor],
    expected: tuple[str, ...],
) -> None:
    with raises(*expected) as error:
        verax.examine(make_model(), planted, "agreement", importances={name: importance})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (
            {"inputs": "gradeint"},
            ("option.unknown-value", "gradeint", "gradient"),
        ),
        ({"inputs": "attention-gradient"}, ("option.unknown-value", "attention-gradient")),
        ({"inputs": "", "items": " , attention"}, ("importance.missing",)),
        ({"top_k": 0}, ("option.out-of-range", "top_k")),
        ({"spearman": "yes"}, ("option.wrong-type", "spearman", "yes")),
        ({"entropy_of": "gradient"}, ("option.unknown", "entropy_of")),
    ],
)
def test_bad_options_are_one_line(
    make_model: Make, planted: verax.Corpus, options: dict[str, object], expected: tuple[str, ...]
) -> None:
    with raises(*expected) as error:
        verax.examine(make_model(), planted, "agreement", **options)  # type: ignore[arg-type]
    assert "\n" not in str(error.value)


def test_chance_is_by_the_seed(make_model: Make, planted: verax.Corpus) -> None:
    model = make_model(encoder="none")
    one, two, other = (
        values(verax.examine(model, planted, "agreement", seed=s, inputs="random", items="random"))
        for s in (0, 0, 1)
    )
    pd.testing.assert_frame_equal(one, two)
    assert not one.equals(other)
    assert abs(one.to_numpy().mean()) < 0.1

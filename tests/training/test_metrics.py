"""Scores against counting by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, roc_auc_score

from support.internals import better
from verax.models import decisions, probabilities
from verax.training import evaluate


def test_binary_scores_by_hand() -> None:
    """Labels 1 1 1 0 0, decisions 1 1 0 1 0: TP 2, FN 1, FP 1; F1+ 2/3, F1− 1/2; AUC 4/6."""
    logits = torch.tensor([[2.0], [1.0], [-0.5], [1.5], [-3.0]])
    found = evaluate(logits, np.array([1, 1, 1, 0, 0]))
    assert found["accuracy"] == pytest.approx(3 / 5)
    assert found["f1"] == pytest.approx(2 / 3)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 1 / 2) / 2)
    assert found["roc_auc"] == pytest.approx(4 / 6)
    terms = [math.log1p(math.exp(-z)) for z in (2, 1, -0.5, -1.5, 3)]
    assert found["loss"] == pytest.approx(sum(terms) / 5)


def test_two_columns_score_as_their_difference() -> None:
    torch.manual_seed(0)
    logits = torch.randn(40, 2)
    labels = np.arange(40) % 2
    single = (logits[:, 1] - logits[:, 0]).unsqueeze(1)
    assert evaluate(logits, labels) == pytest.approx(evaluate(single, labels))


def test_more_classes_have_no_positive_f1() -> None:
    logits = torch.eye(3).repeat(4, 1) * 5
    found = evaluate(logits, np.tile(np.arange(3), 4))
    assert math.isnan(found["f1"])
    assert found["accuracy"] == found["macro_f1"] == found["roc_auc"] == 1.0


@pytest.mark.parametrize("classes", [1, 2, 3, 7])
@pytest.mark.parametrize("ties", [False, True])
def test_scores_are_scikit_learns_to_the_last_bit(classes: int, ties: bool) -> None:
    random = np.random.default_rng(classes)
    for size in (7, 8, 30, 31, 250, 1000):
        logits = torch.from_numpy(random.normal(size=(size, classes)))
        if ties:
            logits = (2 * logits).round() / 2
        labels = np.concatenate(
            [np.arange(max(2, classes)), random.integers(0, max(2, classes), size)]
        )
        labels = random.permutation(labels[:size])
        if len(set(labels)) < max(2, classes):
            continue
        shares, decided = probabilities(logits).numpy(), decisions(logits).numpy()
        every = list(range(shares.shape[1]))
        scores = evaluate(logits, labels)
        macro = f1_score(labels, decided, average="macro", labels=every, zero_division=0.0)
        assert scores["macro_f1"] == macro
        if len(every) == 2:
            assert scores["f1"] == f1_score(labels, decided, zero_division=0.0)
            assert scores["roc_auc"] == roc_auc_score(labels, shares[:, 1])
        else:
            assert scores["roc_auc"] == roc_auc_score(labels, shares, multi_class="ovr")


def test_an_area_without_both_classes_is_undefined() -> None:
    assert math.isnan(evaluate(torch.tensor([[1.0], [2.0]]), np.array([1, 1]))["roc_auc"])


def test_better() -> None:
    nan = math.nan
    assert better("accuracy", 0.6, 0.5)
    assert not better("accuracy", 0.5, 0.5)
    assert better("loss", 0.5, 0.6)
    assert better("f1", 0.1, nan)
    assert not better("f1", nan, 0.1)

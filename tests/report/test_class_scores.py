"""Scores of each class and the confusion matrix, held against scikit-learn's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from made_up_summaries import optimal, survives, verdict
from verax.exams import Verdict
from verax.report import report_page
from verax.report.class_scores import class_scores

CLASSES = ["bad", "<fair>", "good", "never decided", "שלום"]


def tidy(**measures: np.ndarray) -> pd.DataFrame:
    rows = [
        {"id": id_, "measure": name, "value": float(value)}
        for name, values in measures.items()
        for id_, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def decided(labels: np.ndarray, decisions: np.ndarray, classes: list[str]) -> Verdict:
    """A verdict whose adversary exam has these labels and decisions."""
    base = verdict(optimal(10.0, 5.0, 15.0), survives(99.0, 98.0, 100.0), classes=classes)
    tables = {"adversary_instances": tidy(label=labels, decision=decisions)}
    return Verdict(tables, base.manifest, base.summary())


@pytest.fixture
def several() -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(0)
    labels = generator.choice([0, 1, 2, 3], 80)
    return labels, np.where(generator.random(80) < 0.6, labels % 3, generator.integers(0, 3, 80))


def test_scores_are_those_of_scikit_learn(several: tuple[np.ndarray, np.ndarray]) -> None:
    scores = class_scores(decided(*several, CLASSES))
    assert scores is not None
    names = list(range(len(CLASSES)))
    np.testing.assert_array_equal(scores.counts, confusion_matrix(*several, labels=names))
    expected = precision_recall_fscore_support(*several, labels=names, zero_division=np.nan)
    for name, values in zip(("precision", "recall", "f1", "support"), expected, strict=True):
        np.testing.assert_allclose(scores.frame()[name], values, err_msg=name)
    assert not scores.missing


@pytest.mark.slow
def test_the_page_has_them_as_text(several: tuple[np.ndarray, np.ndarray]) -> None:
    page = report_page(decided(*several, CLASSES))
    assert 'id="classes"' in page
    assert "<fair>" not in page
    assert "confusion matrix" in page
    part = page.partition('id="classes"')[2].partition("</section>")[0]
    assert part.count("&lt;fair&gt;") == 3  # a row of each table, and a column
    assert "mean of the classes" in part
    assert "–" in part  # precision of a class that is never decided for


@pytest.mark.slow
def test_documents_without_a_label_are_counted_by_reason() -> None:
    labels = np.array([0, 1, np.nan, np.nan, 7])
    scores = class_scores(decided(labels, np.array([0, 0, 1, 1, 1]), ["a", "b"]))
    assert scores is not None
    assert scores.counts.tolist() == [[1, 0], [1, 0]]
    assert dict(scores.missing) == {
        "no label": 2,
        "a label that is none of the model's classes": 1,
    }
    unlabelled = decided(np.full(3, np.nan), np.zeros(3), ["a", "b"])
    page = report_page(unlabelled)
    assert "Left out, no label: 3" in page
    assert "confusion matrix" not in page


def test_of_two_classes_the_label_follows_from_the_decision() -> None:
    table = tidy(decision=np.array([0, 1, 1]), correct=np.array([1, 0, np.nan]))
    manifest = {"classes": ["a", "b"]}
    scores = class_scores(Verdict({"erasure_instances": table}, manifest, pd.DataFrame()))
    assert scores is not None
    assert scores.counts.tolist() == [[1, 1], [0, 0]]
    assert dict(scores.missing) == {"no label": 1}
    assert class_scores(Verdict({"erasure_instances": table}, {"classes": list("abc")})) is None


def test_trained_decisions_of_replacement_are_taken() -> None:
    replaced = pd.DataFrame(
        [
            {"id": id_, "attention": kind, "draw": 0, "measure": "decision", "value": value}
            for kind, values in (("trained", (0.0, 1.0)), ("uniform", (1.0, 0.0)))
            for id_, value in enumerate(values)
        ]
    )
    tables = {"replacement_instances": tidy(label=np.array([0, 1])), "replacement": replaced}
    scores = class_scores(Verdict(tables, {"classes": list("abc")}, pd.DataFrame()))
    assert scores is not None
    assert scores.counts.trace() == 2

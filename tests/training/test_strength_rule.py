"""Strength auto: the rule by hand, and its scores against the exam."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import verax
from verax.training.strength import STRENGTHS, candidates, doubts, score, select

QUICK: dict[str, Any] = {"hidden_size": 8, "embedding_size": 8, "epochs": 3, "lr": 3e-2}
QUICK |= {"batch_size": 16}
AUTO: dict[str, Any] = {**QUICK, "grounding": "tying", "strength": "auto", "strengths": "0.1,0.3"}


@pytest.fixture(scope="module")
def easy() -> verax.Corpus:
    """What a small model learns in a second."""
    return verax.load_corpus(
        "planted", documents=240, length=12, sentences=2, evidence=2, vocabulary=40, lexicon=3
    )


# -- the rule


def row(f1: float, replacement: float) -> dict[str, float]:
    return {"f1": f1, "replacement": replacement}


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # all as good: the most fragile
        ([row(0.80, 0.1), row(0.80, 0.3), row(0.80, 0.2)], (1, True)),
        # the most fragile is too bad, the next one just good enough
        ([row(0.80, 0.1), row(0.79, 0.3), row(0.7899, 0.9)], (1, True)),
        # better than ungrounded is good enough
        ([row(0.95, 0.1), row(0.80, 0.0)], (0, True)),
        # of equals the weaker
        ([row(0.80, 0.1), row(0.80, 0.2), row(0.81, 0.2)], (1, True)),
        ([row(0.80, 0.0), row(0.80, 0.0)], (0, True)),
        # less fragile than nothing is still the most fragile there is
        ([row(0.80, -0.2), row(0.80, -0.1)], (1, True)),
        # none within a point: the best, however fragile
        ([row(0.70, 0.9), row(0.75, 0.1), row(0.72, 0.5)], (1, False)),
        ([row(0.70, 0.1), row(0.70, 0.9)], (0, False)),
        ([row(0.78, 0.4)], (0, False)),
        ([row(0.79, 0.4)], (0, True)),
    ],
)
def test_the_most_fragile_within_a_point(
    scores: list[dict[str, float]], expected: tuple[int, bool]
) -> None:
    assert select(row(0.80, 0.05), scores) == expected


@pytest.mark.parametrize("base", [0.1, 0.37, 0.57, 0.8, 0.93, 1.0])
def test_a_point_less_is_within_whatever_its_rounding(base: float) -> None:
    assert select(row(base, 0), [row(base - 0.01, 0.0)]) == (0, True)
    assert select(row(base, 0), [row(round(base - 0.01, 2), 0.0)]) == (0, True)


def test_equals_but_for_rounding_are_equals() -> None:
    """0.9 falls by 5 points on average whether to 0.8 and 0.9 or to 0.85 twice."""
    one, other = (row(0.9, 0.9 - (u + p) / 2) for u, p in ((0.8, 0.9), (0.85, 0.85)))
    assert one != other
    assert one == pytest.approx(other)
    assert select(row(0.9, 0), [one, other]) == select(row(0.9, 0), [other, one]) == (0, True)


def test_candidates_are_the_papers_and_weaker_ones_unless_given() -> None:
    assert candidates("tying", None) == [0.01, 0.03, 0.1, 0.3, 1, 10, 30]
    assert candidates("mlm", None) == [0.1, 0.3, 1, 3, 5]
    assert set(STRENGTHS) == {"tying", "mlm"}
    assert candidates("tying", "7") == [7]
    # rising, each once
    assert candidates("mlm", " 3, 0.5,3.0 ,1e1,") == [0.5, 3, 10]


# -- scores


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hierarchical": True, "projection": "sparsemax"},
        {"head": "softmax", "attention": "dot"},
    ],
    ids=str,
)
def test_scores_are_the_replacement_exams_on_validation(
    easy: verax.Corpus, options: dict[str, Any]
) -> None:
    model = verax.train(easy, seed=2, **QUICK, **options)
    found = score(model, model.encode(easy.validation), seed=3, max_tokens=100)
    verdict = verax.examine(model, easy, "replacement", "validation", seed=3, permutations=10)
    expected = verdict.summary("replacement")["F1"].to_numpy() / 100
    assert [found[n] for n in ("f1", "uniform", "permuted")] == pytest.approx(expected.tolist())
    fall = expected[0] - (expected[1] + expected[2]) / 2
    assert found["replacement"] == pytest.approx(fall)
    assert found["f1"] == pytest.approx(model.history.query("selected")["f1"].item())
    assert found["f1"] != found["permuted"]
    accuracy = verdict.summary("replacement").loc["trained", "accuracy"]
    assert found["accuracy"] == pytest.approx(accuracy / 100)
    assert set(found) == {"accuracy", "f1", "uniform", "permuted", "replacement"}


def test_doubts_are_told() -> None:
    """A model that decides for one class alone has an F1 of two thirds, and notices nothing."""
    base = {"f1": 0.66, "replacement": 0.02, "accuracy": 0.63}
    told = doubts(base, {"f1": 0.667, "replacement": 0.0, "accuracy": 0.5}, True)
    assert "13.0 points below" in told[0]
    assert "no more fragile" in told[1]
    fine = {"f1": 0.65, "replacement": 0.1, "accuracy": 0.62}
    assert doubts(base, fine, True) == []
    assert "no candidate is within 1 point" in doubts(base, fine, False)[0]


@pytest.mark.slow
def test_candidates_are_not_scored_on_test(easy: verax.Corpus, tmp_path: Path) -> None:
    model = verax.train(easy, keep=tmp_path, **AUTO)
    assert model.record["test"]["accuracy"] >= 0
    assert all("test" not in verax.load(folder).record for folder in tmp_path.iterdir())


def test_a_model_that_notices_nothing_is_not_fragile_at_all(easy: verax.Corpus) -> None:
    """Not by rounding either, which would decide a tie."""
    model = verax.train(easy, seed=2, attention="dot", **QUICK)
    with torch.no_grad():
        model.attention.alignment.query.zero_()
    found = score(model, model.encode(easy.validation), seed=3, max_tokens=100)
    assert 0 < found["f1"] < 1
    assert found["f1"] == found["uniform"] == found["permuted"]
    assert found["replacement"] == 0


@pytest.mark.slow
def test_with_more_classes_the_score_is_macro_f1() -> None:
    corpus = verax.load_corpus("planted", documents=120, classes=3, length=12)
    model = verax.train(corpus, **AUTO)
    record = model.record["strength"]
    assert record["score"] == "macro_f1"
    history = model.history.query("selected")["macro_f1"].item()
    chosen = [c for c in record["candidates"] if c["strength"] == record["chosen"]]
    assert chosen[0]["f1"] == pytest.approx(history)
    verdict = verax.examine(model, corpus, "replacement", "validation")
    shown = verdict.summary("replacement")["macro F1"].to_numpy() / 100
    found = [chosen[0][n] for n in ("f1", "uniform", "permuted")]
    assert found == pytest.approx(shown.tolist())

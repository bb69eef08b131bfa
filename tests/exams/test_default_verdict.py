"""The words of a verdict under the default limits; no other file tests them."""

from __future__ import annotations

import json
import math

import pytest

from made_up_summaries import (
    Cell,
    another,
    cell,
    model_of,
    more_than_random,
    part_optimal,
    right,
    survives,
    tau,
    together,
    token_alone,
)
from support.internals import LIMITS_FOLDER, limit_versions
from verax.exams import Judgement

WORDS = 24
MODEL = {"options": {"encoder": "bilstm", "projection": "softmax"}}


def judgement_of(*cells: Cell) -> Judgement:
    """A pooled model of two classes, on documents of 24 words: such as were calibrated."""
    about = {"words": WORDS, "labels": {"no": 50, "yes": 50}, "model": MODEL}
    return model_of(*cells, by=None, **about).judgement


@pytest.fixture(scope="module")
def judgement() -> Judgement:
    permuted = ("replacement", "replacement", "permuted", "survival")
    return judgement_of(
        *(part_optimal(60.0, 50.0, 70.0), more_than_random(20.0, 10.0, 30.0)),
        cell("erasure", "erasure.fraction", "attention", "mean", 0.20, 0.15, 0.25),
        tau(0.10, 0.05, 0.15),
        *(survives(60.0, 55.0, 65.0), cell(*permuted, 97.0, 95.0, 99.0, "percent")),
        *(token_alone(0.70, 0.65, 0.75), together(0.90, 0.88, 0.92)),
        *another((0.03, 0.0, 0.06)),
        right(88.0, 80.0, 94.0),
    )


def test_it_is_printed_in_these_words(judgement: Judgement) -> None:
    assert str(judgement).splitlines() == [
        "✓ Erasure       for      0.200 (0.150 to 0.250): share of the words that is erased when "
        "the decision changes, most attended words first",
        "? Agreement     open     0.100 (0.050 to 0.150): rank agreement (τ) of attention with "
        "what deleting a word does",
        "✗ Replacement   against  97.0% (95.0% to 99.0%): decisions that stay the same when "
        "attention is permuted",
        "✗ Single token  against  0.700 (0.650 to 0.750): mean probability of the decision with "
        "all attention on a single word",
        "? Adversary     open     0.030 (0.000 to 0.060): divergence that another attention must "
        "give up to keep the probability within ε = 0.05 (nats, at most 0.69)",
        "· accuracy 88.0% (80.0% to 94.0%); limits 2026-11-measured-3",
        "The exams disagree about this attention: of 5 exams, 1 supports it (erasure) and 2 "
        "contradict it (replacement and single_token); 2 are inconclusive.",
    ]
    assert judgement.caveats[0] == (
        "The limits were measured on models with planted evidence. Ordinary models of natural "
        "text are not covered yet."
    )


def test_each_exam_says_by_which_limits(judgement: Judgement) -> None:
    assert {row.exam: row.limits for row in judgement.rows} == {
        "erasure": "for it below 0.4221, against it above 0.4683; judged from 20 documents on",
        "agreement": "for it above 0.303, against it below 0.0975",
        "replacement": "for it below 75.07%, against it above 75.52%",
        "single_token": "for it below 0.609, against it above 0.634: 27% and 33% of the way from "
        "chance to all together",
        "adversary": "for it above 0.0325, against it below 0.00668; judged where more than 90% "
        "of decisions are kept and the model's confidence is above 0.75",
    }


def test_these_limits_are_the_published_lines_at_24_words_and_two_classes() -> None:
    """a + b log(words) + c log(classes), the lower of two lines or the higher, from the file."""
    path = LIMITS_FOLDER / f"{limit_versions()[-1]}.json"
    published = json.loads(path.read_text(encoding="utf-8"))["limits"]

    def at(exam: str, name: str) -> float:
        line = published[exam][name]
        ends = [a + b * math.log(WORDS) + c * math.log(2) for a, b, c in line["lines"]]
        return max(ends) if line["of"] == "higher" else min(ends)

    def both(exam: str, low: str, high: str) -> list[float]:
        return [at(exam, low), at(exam, high)]

    fractions = both("erasure", "fraction_for_below", "fraction_against_above")
    taus = both("agreement", "for_above", "against_below")
    kept = both("replacement", "permuted_for_below", "permuted_against_above")
    shares = both("single_token", "share_for_below", "share_against_above")
    nats = both("adversary", "for_above", "against_below")
    assert fractions == pytest.approx([0.4221, 0.4683], abs=5e-5)
    assert taus == pytest.approx([0.303, 0.0975], abs=5e-4)
    assert kept == pytest.approx([75.07, 75.52], abs=5e-3)
    assert [0.5 + share * (0.9 - 0.5) for share in shares] == pytest.approx(
        [0.609, 0.634], abs=5e-4
    )
    assert nats == pytest.approx([0.0325, 0.00668], abs=5e-5)


@pytest.mark.parametrize(
    ("cells", "headline"),
    [
        (
            [tau(0.40, 0.35, 0.45)],
            "No exam contradicts this attention: the one exam run here supports it.",
        ),
        (
            [tau(0.02, -0.01, 0.05)],
            "Do not take this attention for the reason of a decision: the one exam run here "
            "contradicts it.",
        ),
        (
            [tau(0.20, 0.15, 0.25)],
            "Inconclusive: the one exam run here neither supports nor contradicts this attention.",
        ),
    ],
)
def test_the_headline_under_the_default_limits(cells: list[Cell], headline: str) -> None:
    assert judgement_of(*cells).headline == headline

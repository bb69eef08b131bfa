"""The verdict in words: each limit from both sides, and headlines for every mix of leanings."""

from __future__ import annotations

import pytest
from testimony import Cell, cell, optimal, survives, witness

from verax.report.headline import caveats, headline, short
from verax.report.words import ASIDE, statements

TAU = ("agreement", "agreement", "inputs: attention : leave-one-out", "τ-b")
ALONE = ("leakage", "leakage", "correct decisions", "a token alone")
CONFIDENCE = ("leakage", "leakage", "correct decisions", "confidence")
JSD = cell("adversary", "adversary", "ε = 0.05", "JSD", 0.5, 0.4, 0.6)
HELD = ("adversary", "adversary", "ε = 0.05", "held back")


def leaning(*cells: Cell, **manifest: object) -> str:
    (said,) = statements(witness(*cells, **manifest))
    return said.leaning


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        ([optimal(90.0, 81.0, 95.0)], "for"),
        ([optimal(90.0, 79.0, 95.0)], "open"),
        ([optimal(30.0, 20.0, 49.0)], "against"),
        ([optimal(30.0, 20.0, 51.0)], "open"),
        ([cell(*TAU, 0.7, 0.61, 0.8)], "for"),
        ([cell(*TAU, 0.2, 0.1, 0.29)], "against"),
        ([cell(*TAU, 0.4, 0.31, 0.5)], "open"),
        ([survives(97.0, 95.5, 99.0)], "against"),
        ([survives(70.0, 60.0, 79.0)], "for"),
        ([survives(96.0, 94.0, 98.0)], "open"),
        ([JSD, cell(*HELD, 0.3, 0.21, 0.4)], "for"),
        ([JSD, cell(*HELD, 0.03, 0.01, 0.049)], "against"),
        ([JSD, cell(*HELD, 0.1, 0.04, 0.19)], "open"),
    ],
)
def test_an_exam_leans_only_where_all_of_its_interval_is_beyond_a_limit(
    cells: list[Cell], expected: str
) -> None:
    assert leaning(*cells) == expected


@pytest.mark.parametrize(
    ("alone", "confidence", "expected"),
    [
        ((0.90, 0.88, 0.92), (0.93, 0.91, 0.95), "against"),  # the two intervals meet
        ((0.55, 0.53, 0.59), (0.93, 0.91, 0.95), "for"),
        ((0.70, 0.68, 0.72), (0.93, 0.91, 0.95), "open"),
        ((0.60, 0.58, 0.62), (0.61, 0.59, 0.63), "open"),  # the model itself is not sure
    ],
)
def test_leakage_is_held_against_confidence_and_chance(
    alone: tuple[float, ...], confidence: tuple[float, ...], expected: str
) -> None:
    assert leaning(cell(*ALONE, *alone), cell(*CONFIDENCE, *confidence)) == expected


def test_without_an_interval_the_number_itself_is_judged() -> None:
    nothing = float("nan")
    assert leaning(optimal(81.0, nothing, nothing)) == "for"


@pytest.mark.parametrize(
    ("cells", "beginning", "told"),
    [
        ([optimal(90, 85, 95), survives(70, 60, 75)], "Nothing found here speaks against", "2 for"),
        ([optimal(10, 5, 15), survives(99, 98, 100)], "Do not take this attention", "2 against"),
        ([optimal(90, 85, 95), survives(99, 98, 100)], "This attention tells part of", "1 for, 1"),
        ([optimal(60, 50, 70)], "The one exam taken here leaves open", "1 open"),
        ([], "The exams taken here do not ask", "not asked"),
    ],
)
def test_the_headline_counts_exams(cells: list[Cell], beginning: str, told: str) -> None:
    said = statements(witness(*cells))
    assert headline(said).startswith(beginning)
    assert short(said).startswith(told)


def test_an_accurate_model_is_not_believed_for_it() -> None:
    accurate = cell("erasure", "documents", "accuracy", "value", 100.0, 99.0, 100.0, "percent")
    (said,) = statements(witness(accurate))
    assert said.leaning == ASIDE
    assert headline([said]).startswith("The exams taken here do not ask")


def test_numbers_come_with_intervals_and_with_what_they_are_compared_to() -> None:
    random = cell("erasure", "excess", "random (5 draws)", "optimal", 7.2, 4.0, 12.6, "percent")
    first = cell("erasure", "excess", "random", "optimal", 6.8, 3.7, 12.1, "percent")
    (said,) = statements(witness(optimal(30.6, 23.7, 38.5), first, random))
    assert "30.6% (23.7% to 38.5%)" in said.sentence
    assert said.compared == "in random order 7.2%"


def test_sentences_are_not_called_words() -> None:
    (said,) = statements(witness(optimal(30.0, 20.0, 40.0), attended="sentences"))
    assert "fewest sentences" in said.label
    assert "word" not in said.sentence


def test_caveats_say_how_many_were_examined() -> None:
    told = caveats(witness(documents=150, sampled_from=854))
    assert any("150 of 854" in line for line in told)
    assert not any(" of " in line and "854" in line for line in caveats(witness(documents=150)))
